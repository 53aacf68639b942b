// What the driver runs beside trials: that it ends with all it has started, and what it prints.
// Knows no policy.
#include "tuner/process/helper_process.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <optional>
#include <string>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process_stat.h"

using namespace tune;
using namespace tune::test;

namespace {

bool has_ended(int pidfd, Seconds patience = 0) {
  pollfd ended{pidfd, POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(patience * 1000)) > 0;
}

SideProgram::Options probe(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), EXEC_PROBE);
  return {.argv = std::move(arguments), .directory = "/"};
}

/// The process that the probe tells of, as soon as it has.
FileDescriptor told_by(const SideProgram& program) {
  std::string text;
  const std::string before = R"({"pid":)";
  while (text.find(before) == text.npos || text.back() != '\n') {
    char block[4096];
    const ssize_t count = ::recv(program.socket(), block, sizeof block, 0);
    REQUIRE(count > 0);
    text.append(block, static_cast<std::size_t>(count));
  }
  const pid_t pid = std::stoi(text.substr(text.find(before) + before.size()));
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

TEST_CASE("Whatever a program beside trials has started ends with it, and leaves no zombie",
          "[unit][process]") {
  const std::string what = GENERATE(as<std::string>(), "grandchild", "daemon");
  const bool ends_itself = GENERATE(false, true);
  const bool beside_trials = GENERATE(false, true);
  CAPTURE(what, ends_itself, beside_trials);
  const auto before = adopted_children();
  std::optional<Session> session;
  if (beside_trials) session.emplace();
  FileDescriptor left;
  {
    SideProgram program(probe({what}));
    left = told_by(program);
    REQUIRE(left);
    if (ends_itself) {
      REQUIRE(::send(program.socket(), "\n", 1, MSG_NOSIGNAL) == 1);
      REQUIRE(has_ended(program.pidfd(), patience_s));
    }
    CHECK_FALSE(has_ended(left.get()));
  }
  CHECK(has_ended(left.get()));
  session.reset();
  CHECK(adopted_children() == before);
}

TEST_CASE("How a program beside trials ends is its owner's to learn, though trials end meanwhile",
          "[unit][process]") {
  Session session;
  SideProgram program(probe({"exit", "7"}));
  REQUIRE(has_ended(program.pidfd(), patience_s));
  session.wait_for<Exited>(session.launch_probe({"exit", "0"}));
  REQUIRE(program.ended());
  CHECK(program.ended()->exit_code == 7);
}

TEST_CASE("What a program beside trials prints is kept, its beginning and its end",
          "[unit][process]") {
  TempDir directory;
  const bool has_name = GENERATE(false, true);
  SideProgram::Options options = probe({"alternate", "300000"});
  options.most_log_bytes = 1 << 20;
  if (has_name) {
    options.log = directory.path() / "side.log";
    std::ofstream(options.log) << "of an earlier one\n";
  }
  SideProgram program(std::move(options));
  REQUIRE(has_ended(program.pidfd(), patience_s));
  program.limit_log();
  CHECK(program.first_words(4) == "0\n1\n");
  const std::string where = (directory.path() / "side.log").string();
  CHECK(program.last_words() ==
        "; it printed last: 299999" + (has_name ? " (see " + where + ")" : std::string()));
  if (!has_name) return;
  struct stat status {};
  REQUIRE(::stat(where.c_str(), &status) == 0);
  CHECK(status.st_size > 1'900'000);
  CHECK(status.st_blocks * 512 <= 1 << 20);
  CHECK(read_file(where).starts_with("of an earlier one\n0\n1\n"));
}

TEST_CASE("A program beside trials that cannot be started, or print, is an error with a sentence",
          "[unit][process]") {
  CHECK_THROWS_WITH(SideProgram({.argv = {"/nowhere/at/all"}, .directory = "/"}),
                    Catch::Matchers::Contains("cannot run '/nowhere/at/all': No such file"));
  TempDir directory;
  SideProgram::Options options = probe({"stay"});
  options.log = directory.path() / "link.log";
  std::filesystem::create_symlink("/dev/null", options.log);
  CHECK_THROWS_WITH(SideProgram(options), Catch::Matchers::Contains("it is a link where"));
  options.log = directory.path() / "nowhere" / "side.log";
  CHECK_THROWS_AS(SideProgram(options), Error);
}
