#include "tuner/remote/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"

namespace tune {

namespace {

/// Answers one request with `answer`, and closes the connection, or keeps it and is silent.
class Peer {
 public:
  enum class Then { closes, waits };
  Peer(std::string answer, Then then)
      : listener_(::socket(AF_INET, SOCK_STREAM, 0)), answer_(std::move(answer)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this, then] {
      const FileDescriptor peer(::accept(listener_.get(), nullptr, nullptr));
      char block[4096];
      while (request.find("\r\n\r\n{}") == request.npos) {
        const ssize_t count = ::recv(peer.get(), block, sizeof block, 0);
        if (count <= 0) return;
        request.append(block, static_cast<std::size_t>(count));
      }
      (void)!::send(peer.get(), answer_.data(), answer_.size(), MSG_NOSIGNAL);
      // Until the other end is closed.
      if (then == Then::waits) (void)!::recv(peer.get(), block, sizeof block, 0);
    });
  }
  ~Peer() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  std::uint16_t port = 0;
  std::string request;

 private:
  FileDescriptor listener_;
  std::string answer_;
  std::thread thread_;
};

}  // namespace

TEST_CASE("A request has its credentials, and its answer comes back whole") {
  Peer peer("HTTP/1.0 404 Not Found\r\nA: b\r\n\r\n{\"x\":1}", Peer::Then::closes);
  const HttpAnswer answer = post_to_loopback(peer.port, "core/version", "user:pass", "{}", 10);
  peer.join();
  CHECK(answer.status == 404);
  CHECK(answer.body == "{\"x\":1}");
  CHECK(peer.request.starts_with("POST /core/version HTTP/1.0\r\n"));
  CHECK(peer.request.find("Authorization: Basic dXNlcjpwYXNz\r\n") != std::string::npos);
}

TEST_CASE("A server that is silent, talks nonsense or is gone is an error, and never a wait") {
  const auto why = [](std::uint16_t port) -> std::string {
    try {
      post_to_loopback(port, "x", "user:open-sesame", "{}", 0.2);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  std::uint16_t closed = 0;
  {
    Peer silent("", Peer::Then::waits);
    CHECK(why(silent.port) == "rclone's server does not answer");
    closed = silent.port;
  }
  Peer half("HTTP/1.0 200 OK\r\n\r\n{", Peer::Then::waits);
  CHECK(why(half.port) == "rclone's server does not answer");
  Peer cut("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{", Peer::Then::closes);
  CHECK(why(cut.port) == "rclone's server breaks off in its answer");
  Peer nonsense("hello", Peer::Then::closes);
  CHECK(why(nonsense.port) == "rclone's server answers what is no HTTP");
  Peer mute("", Peer::Then::closes);
  CHECK(why(mute.port) == "rclone's server answers what is no HTTP");
  CHECK(why(closed) == "rclone's server is gone");
}

}  // namespace tune
