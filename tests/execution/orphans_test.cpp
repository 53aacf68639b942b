// What a dead driver has left behind, with real processes.
// Knows no journal.
#include "tuner/process/orphans.h"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process_stat.h"
#include "tuner/process/subreaper.h"

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

/// A driver that is dead for good: nobody has this start time.
SessionMark dead_driver(const SessionMark& of) {
  SessionMark mark = of;
  mark.driver.start_ticks = 1;
  return mark;
}

/// An experiment that no other test on this machine has.
SessionMark this_driver() {
  return {.experiment = 1'000'000'000 + 16 * std::int64_t{::getpid()}, .driver = this_identity()};
}

struct OrphanSession : Session {
  /// A probe with the mark in its environment.
  LaunchId launch_marked(const SessionMark& mark, std::vector<std::string> arguments) {
    LaunchSpec what = probe(std::move(arguments));
    what.environment = {"TUNE_TRIAL_ID=trial_00003", "TUNE_SESSION=" + to_text(mark)};
    return launch(std::move(what));
  }
};

}  // namespace

TEST_CASE("A session's mark can be read back, and a damaged one is none", "[unit][process]") {
  const SessionMark mark{.experiment = 1'700'000'000'123'456,
                         .driver = {.host = "n:1;boot=x",
                                    .pid = 77,
                                    .start_ticks = 9'876'543'210,
                                    .boot = "c810-6259",
                                    .pid_namespace = 4'026'531'836}};
  const auto back = parse_session_mark(to_text(mark));
  REQUIRE(back);
  CHECK(back->experiment == mark.experiment);
  CHECK(back->driver.pid == 77);
  CHECK(back->driver.start_ticks == 9'876'543'210);
  CHECK(back->driver.host == "n:1;boot=x");
  CHECK(back->driver.boot == "c810-6259");
  CHECK(back->driver.pid_namespace == 4'026'531'836);
  const auto older = parse_session_mark("5:77:9:pine");
  REQUIRE(older);
  CHECK(older->driver.host == "pine");
  CHECK(older->driver.boot.empty());
  CHECK(older->driver.pid_namespace == 0);
  for (const char* text : {"", "1", "1:2", "1:2:3", "a:2:3:host", "1:2:x:host", ":::"}) {
    INFO(text);
    CHECK_FALSE(parse_session_mark(text));
  }
}

TEST_CASE("An orphan that ignores signals ends, and so does what it has started",
          "[unit][process]") {
  OrphanSession session;
  const SessionMark self = this_driver();
  const auto launch = session.launch_marked(dead_driver(self), {"stubborn-grandchild"});
  const auto told = session.pid_told_by(launch);
  const auto leader = watch(session.wait_for<Launched>(launch).pid);
  const auto grandchild = watch(told);
  REQUIRE(leader);
  REQUIRE(grandchild);

  const auto sentences = end_orphans(self, {});
  CHECK(has_ended(leader));
  CHECK(has_ended(grandchild));
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].find("of trial_00003") != std::string::npos);
  CHECK(sentences[0].find("process " + std::to_string(told)) != std::string::npos);
  CHECK(end_orphans(self, {}).empty());
}

TEST_CASE("What outlives the process that the driver has launched is found without it",
          "[unit][process]") {
  // The driver is killed as by a fault, its child with it; the grandchild has no death signal, and
  // nothing that this test's own executor could know it by.
  OrphanSession session;
  const SessionMark self = this_driver();
  LaunchSpec what = session.spec({"env", "-u", launch_variable, EXEC_DRIVER, "await-death",
                                  EXEC_PROBE, "stubborn-grandchild"});
  what.environment = {"TUNE_TEST_MARK=" + to_text(dead_driver(self))};
  const auto driver = session.launch(std::move(what));
  const auto child_pid = session.pid_told_by(driver);
  const auto child = watch(child_pid);
  // The probe says its grandchild's number on standard output too.
  const auto log = session.dir.path() / "inner.log";
  pid_t grandchild_pid = 0;
  while (!(std::ifstream(log) >> grandchild_pid)) ::usleep(1000);
  const auto grandchild = watch(grandchild_pid);
  REQUIRE(grandchild);

  session.executor.signal(driver, SIGKILL);
  session.wait_for<Exited>(driver);
  REQUIRE(has_ended(child, patience_s));
  // It came to this program, too. An executor that saw it dead has reaped it; one that saw it alive
  // took it, unmarked as it is, for the program's own, and leaves it.
  const pid_t reaped = ::waitpid(child_pid, nullptr, 0);
  CHECK((reaped == child_pid || errno == ECHILD));
  REQUIRE_FALSE(has_ended(grandchild));
  CHECK(group_runs(child_pid));
  CHECK(end_orphans(self, {}).size() == 1);
  CHECK(has_ended(grandchild));
  CHECK(::waitpid(grandchild_pid, nullptr, 0) == grandchild_pid);  // it came to this program
  CHECK_FALSE(group_runs(child_pid));
}

TEST_CASE("Orphans end also where the kernel gives no descriptor of a process", "[unit][process]") {
  for (const long call : {SYS_pidfd_open, SYS_pidfd_send_signal}) {
    OrphanSession session;
    const SessionMark self = this_driver();
    const auto launch = session.launch_marked(dead_driver(self), {"stubborn-grandchild"});
    const auto leader = watch(session.wait_for<Launched>(launch).pid);
    const auto grandchild = watch(session.pid_told_by(launch));
    const auto ending =
        session.launch(session.spec({EXEC_DRIVER, "end-orphans-without", std::to_string(call),
                                     std::to_string(self.experiment)}));
    const auto code = session.wait_for<Exited>(ending).exit_code;
    if (code == 77) {
      WARN("not tested: this machine does not let a process forbid itself system calls");
      return;
    }
    CHECK(code == 1);
    CHECK(has_ended(leader, patience_s));
    CHECK(has_ended(grandchild, patience_s));
  }
}

TEST_CASE("Processes of other experiments, other hosts and living drivers are left alone",
          "[unit][process]") {
  OrphanSession session;
  const SessionMark self = this_driver();
  SessionMark other_experiment = dead_driver(self);
  ++other_experiment.experiment;
  SessionMark other_host = dead_driver(self);
  other_host.driver.host = "elsewhere";
  other_host.driver.boot = "another kernel's";
  SessionMark other_namespace = dead_driver(self);
  other_namespace.driver.pid_namespace = 1;  // of which nobody is seen: around this one, perhaps
  SessionMark older_program = self;
  older_program.driver.boot.clear();
  older_program.driver.pid_namespace = 0;
  for (const auto& mark : {other_experiment, other_host, other_namespace, older_program, self}) {
    session.wait_for<Greeted>(session.launch_marked(mark, {"answer-steps"}));
  }
  CHECK(end_orphans(self, {}).empty());
  for (int i = 1; i <= 5; ++i) {
    const auto launch = LaunchId(i);
    session.executor.send(launch, protocol::Step{});
    session.wait_for<Reported>(launch);
  }
}

TEST_CASE("A process that is just ending is not called left alone", "[unit][process]") {
  // A big one takes a while to give its memory back.
  constexpr std::size_t bytes = 256 << 20;
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    (void)::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                 -1, 0);
    (void)!::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  const auto alive = read_process_stat(pid);
  REQUIRE(alive);
  CHECK_FALSE(alive->is_exiting);
  const RecordedProcess recorded{"trial_00003", pid, alive->start_ticks};
  const auto said = end_orphans(this_driver(), {recorded}, 0);
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("is left alone") != std::string::npos);

  ::kill(pid, SIGKILL);
  while (!read_process_stat(pid)->is_exiting) ::usleep(100);
  CHECK(end_orphans(this_driver(), {recorded}, 0).empty());
  (void)::waitpid(pid, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("A recorded process number that is somebody else's by now is left alone",
          "[unit][process]") {
  OrphanSession session;
  const auto launch = session.launch_probe({"answer-steps"});
  session.wait_for<Greeted>(launch);
  const auto process = session.wait_for<Launched>(launch);
  // Used again: another start time. It is plainly not the one, so that nothing is said.
  const SessionMark self = this_driver();
  CHECK(end_orphans(self, {{"trial_00003", process.pid, process.start_ticks + 1}}).empty());
  // The same start time, as after a boot, but not the mark.
  const auto sentences = end_orphans(self, {{"trial_00003", process.pid, process.start_ticks}});
  REQUIRE(sentences.size() == 1);
  CHECK(sentences[0].find("left alone") != std::string::npos);
  // Numbers that would mean every process, or our own group.
  CHECK(end_orphans(self, {{"trial_00003", -1, 0}, {"trial_00004", 0, 0}}).empty());
  session.executor.send(launch, protocol::Step{});
  session.wait_for<Reported>(launch);
}
