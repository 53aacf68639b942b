// Files that this very process has open, as its group's.
#include "tuner/execution/plain/open_files.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/disk/file_descriptor.h"

using namespace tune;
using namespace tune::test;

TEST_CASE("Of a checkpoint those files are named that are open for writing", "[unit][plain]") {
  const TempDir dir;
  for (const char* const name : {"read", "written", "closed"})
    std::ofstream(dir.path() / name) << 1;
  const FileDescriptor read(::open((dir.path() / "read").c_str(), O_RDONLY | O_CLOEXEC));
  const FileDescriptor written(::open((dir.path() / "written").c_str(), O_WRONLY | O_CLOEXEC));
  const auto open_of = [&](const char* name) {
    return being_written(open_files(::getpgrp()), look_at_checkpoint(dir.path(), name).value());
  };
  CHECK(open_of("") == std::set<std::string>{"written"});
  CHECK(open_of("written") == std::set<std::string>{""});
  CHECK(open_of("read").empty());
  CHECK(open_of("closed").empty());
}

TEST_CASE("A file is open whatever name it was opened by", "[unit][plain]") {
  const TempDir dir;
  const FileDescriptor file(
      ::open((dir.path() / "t").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  std::filesystem::create_hard_link(dir.path() / "t", dir.path() / "last");
  std::filesystem::rename(dir.path() / "t", dir.path() / "renamed");
  for (const char* const name : {"last", "renamed"}) {
    CHECK(being_written(open_files(::getpgrp()), look_at_checkpoint(dir.path(), name).value()) ==
          std::set<std::string>{""});
  }
}

TEST_CASE("Whoever has ended is dead, also before somebody has reaped it", "[unit][plain]") {
  CHECK_FALSE(is_dead(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) == 0);
  CHECK(is_dead(child));
  ::waitpid(child, nullptr, 0);
  CHECK(is_dead(child));
}
