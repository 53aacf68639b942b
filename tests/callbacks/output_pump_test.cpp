// Standard output that may stand still.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "callbacks/terminal.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

struct Pipe {
  std::array<int, 2> ends{};
  Pipe() { REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0); }
  ~Pipe() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  std::string read_all() {
    ::close(std::exchange(ends[1], -1));
    std::string text;
    std::array<char, 65536> buffer{};
    for (ssize_t got; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
  }
};

}  // namespace

TEST_CASE("OutputPump writes everything in order", "[callbacks][console]") {
  Pipe pipe;
  {
    OutputPump pump(pipe.ends[1]);
    pump.write("one\n");
    pump.write("two\n");
    pump.flush();
    CHECK_FALSE(pump.busy());
    pump.write("three\n");
  }
  CHECK(pipe.read_all() == "one\ntwo\nthree\n");
}

TEST_CASE("OutputPump never waits for a reader, and says how much it left out",
          "[callbacks][console]") {
  Pipe pipe;
  const std::string block(1000, 'x');
  constexpr int messages = 5000;
  std::string text;
  {
    OutputPump pump(pipe.ends[1]);
    for (int i = 0; i < messages; ++i) pump.write(block + '\n');
    CHECK(pump.busy());
    std::thread reader([&] {
      std::array<char, 65536> buffer{};
      while (text.find("end\n") == std::string::npos) {
        const auto got = ::read(pipe.ends[0], buffer.data(), buffer.size());
        text.append(buffer.data(), static_cast<std::size_t>(got));
      }
    });
    pump.flush();
    pump.write("end\n");
    reader.join();
  }
  // What was left out is said where it was: once, or twice if there was room again in between.
  int written = 0;
  int left_out = 0;
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line); last = line) {
    if (line == block) ++written;
    if (line.starts_with('[')) left_out += std::stoi(line.substr(1));
  }
  CHECK(left_out > 0);
  CHECK(written + left_out == messages);
  CHECK(last == "end");
}

TEST_CASE("OutputPump survives a reader that has gone", "[callbacks][console]") {
  Pipe pipe;
  OutputPump pump(pipe.ends[1]);
  ::close(pipe.ends[0]);
  pump.write("to nobody\n");
  pump.flush();
  CHECK_FALSE(pump.busy());
  pipe.ends[0] = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST_CASE("OutputPump waits for a reader that sleeps as long as its patience lasts, and once",
          "[callbacks][console]") {
  Pipe pipe;
  const auto patience = std::chrono::duration<double>(OutputPump::patience_s);
  const auto start = std::chrono::steady_clock::now();
  {
    OutputPump pump(pipe.ends[1]);
    pump.write(std::string(200'000, 'x'));
    CHECK_FALSE(pump.flush());
    CHECK(std::chrono::steady_clock::now() - start >= patience);
    CHECK(pump.busy());
    CHECK_FALSE(pump.flush());
  }
  CHECK(std::chrono::steady_clock::now() - start < 2 * patience);
  // Lets go the thread that is left behind.
  std::array<char, 65536> buffer{};
  for (std::size_t left = 200'000; left > 0;) {
    left -= static_cast<std::size_t>(::read(pipe.ends[0], buffer.data(), buffer.size()));
  }
}
