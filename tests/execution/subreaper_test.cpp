// What trials leave behind, and what the program that the executor is in has of its own.
// Knows no message.
#include "tuner/process/subreaper.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process_stat.h"

using namespace tune;
using namespace tune::test;

namespace {

FileDescriptor watch(std::int64_t pid) {
  return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
}

bool has_ended(const FileDescriptor& pidfd, Seconds patience = 0) {
  pollfd ended{pidfd.get(), POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(patience * 1000)) > 0;
}

std::vector<pid_t> children() { return adopted_children().value_or(std::vector<pid_t>{-1}); }

std::size_t zombies() {
  std::size_t count = 0;
  for (const pid_t pid : children()) {
    const auto stat = read_process_stat(pid);
    if (stat && stat->is_dead()) ++count;
  }
  return count;
}

bool is_subreaper() {
  int answer = 0;
  ::prctl(PR_GET_CHILD_SUBREAPER, &answer);
  return answer != 0;
}

rlim_t descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

/// A child of this program's own, not of the executor's.
pid_t own_child(int exit_code, bool ends, bool in_own_session) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGTERM, SIG_DFL);  // not the test framework's
  if (in_own_session) ::setsid();
  while (!ends) ::pause();
  ::_exit(exit_code);
}

void end_own_child(pid_t child, int expected_signal) {
  ::kill(child, SIGTERM);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(WTERMSIG(status) == expected_signal);
}

}  // namespace

TEST_CASE("What has left its group and its session ends with its launch", "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"daemon"});
  const auto daemon = watch(session.pid_told_by(launch));
  REQUIRE(daemon);
  const auto other = session.launch_probe({"exit", "0"});
  session.wait_for<Exited>(other);
  CHECK_FALSE(has_ended(daemon));  // its launch lives
  session.executor.send(launch, protocol::Step{});
  CHECK(session.wait_for<Exited>(launch).exit_code == 0);
  // Already: what it held is free for the next.
  CHECK(has_ended(daemon));
  CHECK(children().empty());
}

TEST_CASE("Whatever launches leave behind, nothing of it stays as a zombie", "[unit][process]") {
  Session session;
  const auto living = session.launch_probe({"had-daemons", "5"});
  session.wait_for<Greeted>(living);
  for (int i = 0; i < 5; ++i) {
    const auto launch = session.launch_probe({"grandchild"});
    session.wait_for<Greeted>(launch);
    session.executor.send(launch, protocol::Step{});
    session.wait_for<Exited>(launch);
  }
  CHECK(zombies() == 0);
  CHECK(children().empty());  // but for what the launcher has started
  session.executor.send(living, protocol::Step{});
  session.wait_for<Exited>(living);
}

TEST_CASE("Destroying the executor ends daemons, too", "[unit][process]") {
  std::optional<FileDescriptor> daemon;
  {
    Session session;
    daemon = watch(session.pid_told_by(session.launch_probe({"daemon"})));
    REQUIRE(*daemon);
  }
  CHECK(has_ended(*daemon));
  CHECK(children().empty());
}

TEST_CASE("The program's own children are neither reaped nor ended", "[unit][process]") {
  const pid_t early_zombie = own_child(7, true, true);
  const pid_t early = own_child(0, false, true);
  pid_t late = 0;
  pid_t late_zombie = 0;
  {
    Session session;
    late = own_child(0, false, true);
    late_zombie = own_child(8, true, false);
    for (int i = 0; i < 3; ++i) {
      const auto launch = session.launch_probe({"daemon"});
      session.wait_for<Greeted>(launch);
      session.executor.send(launch, protocol::Step{});
      session.wait_for<Exited>(launch);
    }
  }
  for (const auto& [child, code] : {std::pair(early_zombie, 7), std::pair(late_zombie, 8)}) {
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == code);
  }
  end_own_child(early, SIGTERM);
  end_own_child(late, SIGTERM);
}

TEST_CASE("Another executor's processes in the same program are left alone", "[unit][process]") {
  Session other;
  const auto launch = other.launch_probe({"daemon"});
  const auto daemon = watch(other.pid_told_by(launch));
  {
    Session session;
    session.wait_for<Exited>(session.launch_probe({"exit", "0"}));
    CHECK_FALSE(has_ended(daemon));
  }
  CHECK(is_subreaper());  // still: one executor lives
  CHECK_FALSE(has_ended(daemon));
  other.executor.send(launch, protocol::Step{});
  CHECK(other.wait_for<Exited>(launch).exit_code == 0);
  CHECK(has_ended(daemon));
}

TEST_CASE("What a driver within a trial has left behind ends with the trial", "[unit][process]") {
  // The inner driver is killed, and so is its child; its child's child has no death signal.
  Session session;
  const auto driver =
      session.launch(session.spec({EXEC_DRIVER, "await-death", EXEC_PROBE, "stubborn-grandchild"}));
  session.wait_for<Reported>(driver);
  const auto log = session.dir.path() / "inner.log";
  pid_t grandchild_pid = 0;
  while (!(std::ifstream(log) >> grandchild_pid)) ::usleep(1000);
  const auto grandchild = watch(grandchild_pid);
  REQUIRE(grandchild);
  session.executor.signal(driver, SIGKILL);
  session.wait_for<Exited>(driver);
  CHECK(has_ended(grandchild));
  CHECK(children().empty());
}

TEST_CASE("An exit code that somebody else has taken is not known, and the run goes on",
          "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"until-told"});
  const auto pid = static_cast<pid_t>(session.wait_for<Launched>(launch).pid);
  ::kill(pid, SIGKILL);
  REQUIRE(::waitpid(pid, nullptr, 0) == pid);
  const auto exited = session.wait_for<Exited>(launch);
  CHECK(exited.exit_code == -1);
  CHECK(exited.signal == 0);
}

TEST_CASE("What the executor changes of the process is as before afterwards", "[unit][process]") {
  REQUIRE_FALSE(is_subreaper());
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  const rlimit small{256, before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &small);
  std::string text;
  {
    Session session;
    CHECK(is_subreaper());
    CHECK(descriptor_limit() == before.rlim_max);
    text = session.output_of(session.probe({"describe"}));
  }
  CHECK_FALSE(is_subreaper());
  CHECK(descriptor_limit() == 256);
  ::setrlimit(RLIMIT_NOFILE, &before);
  // Not the driver's own, which some programs cannot work with.
  CHECK(text.find("descriptor_limit 256\n") != text.npos);
}

TEST_CASE("A process that cannot be reaped does not hold up the executor's end",
          "[unit][process]") {
  // A tracer that does not wait for its tracee keeps it from its parent, as a dead disk does.
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  pid_t tracer = -1;
  bool may_trace = false;
  {
    Session session;
    const auto launch = session.launch_probe({"stay"});
    const auto pid = static_cast<pid_t>(session.wait_for<Launched>(launch).pid);
    tracer = ::fork();
    if (tracer == 0) {
      const char answer = ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 ? 'y' : 'n';
      while (::write(ready[1], &answer, 1) != 1) {
      }
      for (;;) ::pause();
    }
    char answer = 'n';
    REQUIRE(::read(ready[0], &answer, 1) == 1);
    may_trace = answer == 'y';
  }
  ::kill(tracer, SIGKILL);
  ::waitpid(tracer, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  if (!may_trace) WARN("not tested: processes may not be traced here");
  while (::waitpid(-1, nullptr, 0) > 0) {
  }
}
