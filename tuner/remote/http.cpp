// HTTP/1.0: an answer ends where the connection does, and never comes in chunks.
#include "tuner/remote/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <string_view>

#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"

namespace tune {

namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t most_bytes = std::size_t{1} << 30;

Error failed(const std::string& what) { return machine_error("rclone's server " + what); }

std::string base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    unsigned bits = 0;
    const std::size_t count = std::min<std::size_t>(3, text.size() - i);
    for (std::size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < count ? static_cast<unsigned char>(text[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      out += j <= count ? digits[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

void await(int fd, short events, Steady::time_point until) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    if (left.count() <= 0) throw failed("does not answer");
    pollfd wanted{fd, events, 0};
    const int count = ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (count > 0) return;
    if (count < 0 && errno != EINTR) throw failed("cannot be waited for");
  }
}

FileDescriptor connect_to(std::uint16_t port, Steady::time_point until) {
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) throw file_error("cannot make", "a socket", errno);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return fd;
  }
  if (errno != EINPROGRESS) throw failed("is gone");
  await(fd.get(), POLLOUT, until);
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) throw failed("is gone");
  return fd;
}

void send_all(int fd, std::string_view bytes, Steady::time_point until) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      await(fd, POLLOUT, until);
    } else if (errno != EINTR) {
      throw failed("is gone");
    }
  }
}

std::string receive_all(int fd, Steady::time_point until) {
  std::string text;
  char block[64 * 1024];
  for (;;) {
    const ssize_t count = ::recv(fd, block, sizeof block, 0);
    if (count == 0) return text;
    if (count > 0) {
      text.append(block, static_cast<std::size_t>(count));
      if (text.size() > most_bytes) throw failed("answers without an end");
    } else if (errno == EAGAIN) {
      await(fd, POLLIN, until);
    } else if (errno != EINTR) {
      throw failed("is gone");
    }
  }
}

}  // namespace

HttpAnswer post_to_loopback(std::uint16_t port, const std::string& path,
                            const std::string& credentials, const std::string& body,
                            Seconds limit_s) {
  const auto until = Steady::now() + std::chrono::duration_cast<Steady::duration>(
                                         std::chrono::duration<double>(limit_s));
  const FileDescriptor fd = connect_to(port, until);
  send_all(fd.get(),
           "POST /" + path + " HTTP/1.0\r\nHost: 127.0.0.1\r\nAuthorization: Basic " +
               base64(credentials) + "\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(body.size()) + "\r\n\r\n" + body,
           until);
  const std::string text = receive_all(fd.get(), until);
  HttpAnswer answer;
  const std::size_t space = text.find(' ');
  const std::size_t end = text.find("\r\n\r\n");
  const bool is_http = text.starts_with("HTTP/1.") && end != text.npos && space < end;
  if (!is_http || std::from_chars(text.data() + space + 1, text.data() + end, answer.status).ec !=
                      std::errc()) {
    throw failed("answers what is no HTTP");
  }
  answer.body = text.substr(end + 4);
  return answer;
}

}  // namespace tune
