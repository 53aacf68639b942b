// Reads in blocks, writes in one piece, and takes signals, short counts and a lost peer in stride.
#include "trainable/line_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "trainable/protocol.h"

namespace tune {
namespace {

constexpr std::size_t block_bytes = 64 * 1024;

bool is_stream_socket(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

/// True if the call that just failed is to be made again, after waiting if it must.
bool try_again(int fd, short events) {
  if (errno == EINTR) return true;
  if (errno != EAGAIN) return false;
  pollfd wanted{fd, events, 0};
  return ::poll(&wanted, 1, -1) >= 0 || errno == EINTR;
}

}  // namespace

LineSocket::LineSocket(int fd) : fd_(fd), buffer_(block_bytes) {
  if (!is_stream_socket(fd)) {
    throw std::invalid_argument("descriptor " + std::to_string(fd) + " is not an open socket");
  }
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
}

LineSocket::~LineSocket() { ::close(fd_); }

std::optional<std::string_view> LineSocket::read_line() {
  std::size_t searched = begin_;
  for (;;) {
    const void* newline = std::memchr(buffer_.data() + searched, '\n', end_ - searched);
    if (newline != nullptr) {
      const std::size_t at = static_cast<const char*>(newline) - buffer_.data();
      const std::string_view line(buffer_.data() + begin_, at - begin_);
      begin_ = at + 1;
      return line;
    }
    const std::size_t unfinished = end_ - begin_;
    if (unfinished >= protocol::max_line_bytes) {
      throw std::length_error("a line has more than " + std::to_string(protocol::max_line_bytes) +
                              " bytes");
    }
    if (!fill()) return std::nullopt;
    searched = begin_ + unfinished;
  }
}

bool LineSocket::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  const std::size_t room = buffer_.size() - end_;
  for (;;) {
    // Not blocking, and then `poll`: a recv that blocks on a unix socket is woken for nothing each
    // time the other end reads what we have sent.
    const ssize_t count = ::recv(fd_, buffer_.data() + end_, room, MSG_DONTWAIT);
    if (count > 0) {
      end_ += static_cast<std::size_t>(count);
      return true;
    }
    if (count == 0 || !try_again(fd_, POLLIN)) return false;
  }
}

bool LineSocket::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (!try_again(fd_, POLLOUT)) {
      return false;
    }
  }
  return true;
}

}  // namespace tune
