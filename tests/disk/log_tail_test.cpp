// What counts as the end of a log. Works on a real file.
#include "tuner/disk/log_tail.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/support/catch.h"

namespace {

/// Called before each `pread` of this program's, if there is one: says how many bytes of those that
/// are wanted the system gives. 0: a signal comes in between.
std::function<std::size_t()> before_pread;

}  // namespace

/// In place of the C library's.
extern "C" ssize_t pread(int fd, void* to, std::size_t bytes, off_t at) {
  const std::size_t given = before_pread ? before_pread() : bytes;
  if (given == 0) {
    errno = EINTR;
    return -1;
  }
  return ::syscall(SYS_pread64, fd, to, std::min(bytes, given), at);
}

namespace tune {
namespace {

class TemporaryLog {
 public:
  explicit TemporaryLog(const std::string& content) {
    const int fd = ::mkstemp(name_);
    REQUIRE(fd >= 0);
    ::close(fd);
    std::ofstream(name_, std::ios::binary) << content;
  }
  ~TemporaryLog() { ::unlink(name_); }
  TemporaryLog(const TemporaryLog&) = delete;
  TemporaryLog& operator=(const TemporaryLog&) = delete;
  const char* name() const { return name_; }

 private:
  char name_[32] = "/tmp/tune-log-XXXXXX";
};

std::string tail_of(const std::string& content, std::uint64_t begin = 0) {
  return log_tail(TemporaryLog(content).name(), begin);
}

TEST_CASE("A log's tail is what came after its begin", "[log_tail][unit]") {
  CHECK(tail_of("") == "");
  CHECK(tail_of("one\ntwo\n") == "one\ntwo\n");
  CHECK(tail_of("MemoryError\nfine\n", 12) == "fine\n");
  CHECK(tail_of("MemoryError\n", 12) == "");
  CHECK(tail_of("cut meanwhile\n", 1000) == "cut meanwhile\n");
  CHECK(log_tail("/no/such/file", 0) == "");
}

TEST_CASE("A log's tail has at most so many lines and bytes", "[log_tail][unit]") {
  std::string lines;
  for (int i = 1; i <= 150; ++i) lines += std::to_string(i) + "\n";
  CHECK(tail_of(lines).starts_with("51\n52\n"));
  CHECK(tail_of(lines).ends_with("149\n150\n"));
  CHECK(tail_of(lines + "151").starts_with("52\n53\n"));
  const std::string long_line(3 * tail_bytes, 'x');
  CHECK(tail_of(long_line + "\nend").size() == tail_bytes);
  CHECK(tail_of(long_line + "\nend").ends_with("x\nend"));
}

TEST_CASE("A log's tail is whole when it comes in pieces, without what is written meanwhile",
          "[log_tail][unit]") {
  const TemporaryLog log("one\ntwo\nthree\n");
  int calls = 0;
  before_pread = [&]() -> std::size_t {
    std::ofstream(log.name(), std::ios::binary | std::ios::app) << "more\n";
    return ++calls % 2 == 1 ? 0 : 3;
  };
  const std::string tail = log_tail(log.name(), 4);
  before_pread = nullptr;
  CHECK(tail == "two\nthree\n");
}

TEST_CASE("A log that is cut while its tail is read has for its tail what came before the cut",
          "[log_tail][unit]") {
  const TemporaryLog log("one\ntwo\nthree\n");
  before_pread = [&]() -> std::size_t {
    std::filesystem::resize_file(log.name(), 8);
    return 100;
  };
  const std::string tail = log_tail(log.name(), 4);
  before_pread = nullptr;
  CHECK(tail == "two\n");
}

TEST_CASE("What a trial puts in place of its log has no tail, and nobody waits for it",
          "[log_tail][unit]") {
  const TemporaryLog log("of somebody else's\n");
  const std::string other = std::string(log.name()) + "-other";
  REQUIRE(::mkfifo(other.c_str(), 0600) == 0);
  CHECK(log_tail(other, 0) == "");
  ::unlink(other.c_str());
  REQUIRE(::symlink(log.name(), other.c_str()) == 0);
  CHECK(log_tail(other, 0) == "");
  ::unlink(other.c_str());
}

}  // namespace
}  // namespace tune
