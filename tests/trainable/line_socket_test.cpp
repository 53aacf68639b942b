// Lines over a real socketpair, in whatever pieces they come.
#include "trainable/line_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <thread>

#include "tests/support/catch.h"
#include "trainable/protocol.h"

using tune::LineSocket;

namespace {

struct Ends {
  Ends() { REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0); }
  int fds[2];
};

void send_and_close(int fd, std::string text) {
  LineSocket socket(fd);
  socket.write(text);
}

}  // namespace

TEST_CASE("Several lines of one block come one by one and then the end", "[unit][socket]") {
  Ends ends;
  LineSocket reader(ends.fds[0]);
  send_and_close(ends.fds[1], "one\n\ntwo\nunfinished");
  CHECK(reader.read_line() == "one");
  CHECK(reader.read_line() == "");
  CHECK(reader.read_line() == "two");
  CHECK_FALSE(reader.read_line().has_value());
  CHECK_FALSE(reader.read_line().has_value());
}

TEST_CASE("A line that comes in pieces is put together", "[unit][socket]") {
  Ends ends;
  LineSocket reader(ends.fds[0]);
  LineSocket writer(ends.fds[1]);
  CHECK(writer.write("first\nsec"));
  CHECK(reader.read_line() == "first");
  std::thread other([&] {
    for (const char* piece : {"o", "nd", "\n"}) writer.write(piece);
  });
  CHECK(reader.read_line() == "second");
  other.join();
}

TEST_CASE("Lines longer than the socket's own buffer pass whole in both modes", "[unit][socket]") {
  for (const bool non_blocking : {false, true}) {
    Ends ends;
    if (non_blocking) {
      for (const int fd : ends.fds) REQUIRE(::fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
    }
    std::string text;
    for (int i = 0; i < 400'000; ++i) text += std::to_string(i);
    LineSocket reader(ends.fds[0]);
    std::thread other(send_and_close, ends.fds[1], text + "\n" + text + "\nend\n");
    CHECK(reader.read_line() == text);
    CHECK(reader.read_line() == text);
    CHECK(reader.read_line() == "end");
    CHECK_FALSE(reader.read_line().has_value());
    other.join();
  }
}

TEST_CASE("A line without an end is refused at the limit", "[unit][socket]") {
  Ends ends;
  LineSocket reader(ends.fds[0]);
  std::thread other(send_and_close, ends.fds[1],
                    std::string(tune::protocol::max_line_bytes + 1, 'x'));
  CHECK_THROWS_AS(reader.read_line(), std::length_error);
  ::shutdown(reader.fd(), SHUT_RDWR);
  other.join();
}

TEST_CASE("Writing to one who is gone says so and raises no signal", "[unit][socket]") {
  Ends ends;
  LineSocket writer(ends.fds[0]);
  ::close(ends.fds[1]);
  CHECK_FALSE(writer.write("hello\n"));
}

TEST_CASE("A descriptor that is no socket is refused", "[unit][socket]") {
  int pipe_fds[2];
  REQUIRE(::pipe(pipe_fds) == 0);
  CHECK_THROWS_AS(LineSocket(pipe_fds[0]), std::invalid_argument);
  ::close(pipe_fds[0]);
  ::close(pipe_fds[1]);
  CHECK_THROWS_AS(LineSocket(pipe_fds[0]), std::invalid_argument);
}

TEST_CASE("The socket is not handed on to programs that are started", "[unit][socket]") {
  int fds[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
  LineSocket one(fds[0]);
  LineSocket other(fds[1]);
  CHECK((::fcntl(one.fd(), F_GETFD) & FD_CLOEXEC) != 0);
}
