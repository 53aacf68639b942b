// The listening Unix socket and its connections (Boost.Asio): peer credentials, one request each,
// limits on their number and time.
#include "tuner/control/control_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"

namespace tune {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;
using Protocol = asio::local::stream_protocol;

constexpr mode_t owner_only = 0600;
constexpr int backlog = 64;

/// The directory may be one that ignores the socket's mode.
bool may_ask(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

/// Whoever gave up waiting for a driver that was stopped does not want it any more.
bool has_left(int socket) {
  pollfd peer{socket, 0, 0};
  return ::poll(&peer, 1, 0) > 0 && (peer.revents & POLLHUP) != 0;
}

int listening_socket(const ControlAddress& address, const std::filesystem::path& directory) {
  const std::string path = (directory / control_socket_name).native();
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) throw file_error("cannot make the socket", path, errno);
  // The file gets the socket's mode; to set the file's would be too late, the process's umask is
  // the other threads' too.
  (void)::fchmod(socket.get(), owner_only);
  if (::unlinkat(address.directory(), control_socket_name, 0) != 0 && errno != ENOENT) {
    throw file_error("cannot replace the socket", path, errno);
  }
  if (::bind(socket.get(), address.get(), ControlAddress::size) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    throw file_error("cannot make the socket", path, errno);
  }
  return socket.release();
}

}  // namespace

/// One who asks: one request, one answer, and then he may wait for the driver's end. Handlers hold
/// a shared_ptr; the server outlives them, since it closes what it has.
class ControlServer::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(ControlServer& server, ControlId id, Protocol::socket socket)
      : server_(server), id_(id), socket_(std::move(socket)), deadline_(server.context_) {}

  void start() {
    limit_time();
    read();
  }

  void close() {
    error_code ignored;
    deadline_.cancel();
    socket_.close(ignored);
  }

  void answer(const ControlAnswer& answer) {
    if (!socket_.is_open()) return;
    line_ = format(answer) + "\n";
    limit_time();
    asio::async_write(socket_, asio::buffer(line_),
                      [self = shared_from_this()](error_code error, std::size_t) {
                        if (error) return self->leave();
                        self->deadline_.cancel();
                        if (self->is_refused_) self->leave();
                      });
  }

 private:
  void limit_time() {
    deadline_.expires_after(std::chrono::seconds(patience_s));
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->leave();
    });
  }

  void read() {
    socket_.async_read_some(asio::buffer(block_),
                            [self = shared_from_this()](error_code error, std::size_t count) {
                              if (error) return self->leave();
                              self->take({self->block_.data(), count});
                            });
  }

  void take(std::string_view bytes) {
    if (has_asked_) return leave();  // he has said what there was to say
    request_.append(bytes);
    const auto end = request_.find('\n');
    if (end == request_.npos) {
      if (request_.size() >= max_request_bytes) return refuse("the request is too long");
      return read();
    }
    has_asked_ = true;
    deadline_.cancel();
    if (has_left(socket_.native_handle())) return leave();
    try {
      const ControlRequest request = parse_control_request(request_.substr(0, end));
      read();  // for his end
      server_.asked_(id_, request);
    } catch (const std::invalid_argument& error) {
      refuse(error.what());
    }
  }

  void refuse(const std::string& sentence) {
    has_asked_ = is_refused_ = true;
    answer({false, sentence, {}});
  }

  void leave() {
    close();
    server_.connections_.erase(id_);
  }

  ControlServer& server_;
  ControlId id_;
  Protocol::socket socket_;
  asio::steady_timer deadline_;
  std::array<char, 4096> block_;
  std::string request_;
  std::string line_;
  bool has_asked_ = false;
  bool is_refused_ = false;
};

ControlServer::ControlServer(asio::io_context& context, const std::filesystem::path& directory,
                             Asked asked)
    : context_(context),
      address_(directory),
      asked_(std::move(asked)),
      acceptor_(context),
      retry_(context) {
  acceptor_.assign(Protocol(), listening_socket(address_, directory));
  accept();
}

ControlServer::~ControlServer() {
  ::unlinkat(address_.directory(), control_socket_name, 0);
  for (const auto& [id, connection] : connections_) connection->close();
}

void ControlServer::answer(ControlId id, const ControlAnswer& answer) {
  const auto found = connections_.find(id);
  if (found != connections_.end()) found->second->answer(answer);
}

void ControlServer::accept() {
  acceptor_.async_accept([this](error_code error, Protocol::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      take(std::move(socket));
      return accept();
    }
    // Mostly no descriptor is left: at once would be again and again.
    retry_.expires_after(std::chrono::seconds(1));
    retry_.async_wait([this](error_code cancelled) {
      if (!cancelled) accept();
    });
  });
}

void ControlServer::take(Protocol::socket socket) {
  if (connections_.size() >= max_connections || !may_ask(socket.native_handle())) return;
  const ControlId id{++last_id_};
  const auto connection = std::make_shared<Connection>(*this, id, std::move(socket));
  connections_.emplace(id, connection);
  connection->start();
}

}  // namespace tune
