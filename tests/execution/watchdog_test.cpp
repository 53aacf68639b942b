// What a watchdog hears, whom it ends, and how it leaves the process as it found it.
// That it ends a driver is seen from outside of one.
#include "tuner/process/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/process/process_stat.h"

using namespace tune;
using namespace tune::test;

namespace {

bool is_default(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

bool is_blocked(int signal) {
  sigset_t now;
  return ::pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0 && sigismember(&now, signal) == 1;
}

}  // namespace

TEST_CASE("Doings tell what lasts, the latest first, and forget what is over", "[doings]") {
  ActivityTracker activities;
  const ActivityTracker::Activity saving(&activities, "a checkpoint is being kept");
  {
    const ActivityTracker::Activity over(&activities, "over");
    const ActivityTracker::Activity nobody_asks(nullptr, "nobody asks");
    const ActivityTracker::Activity thinking(&activities, "the searcher is thinking");
    CHECK(activities.list(0).size() == 3);
  }
  const ActivityTracker::Activity reading(&activities, "a checkpoint is being verified");
  const auto list = activities.list(0);
  REQUIRE(list.size() == 2);
  CHECK(list[0].starts_with("a checkpoint is being verified, for "));
  CHECK(list[1].starts_with("a checkpoint is being kept, for "));
  CHECK(activities.list(3600).empty());
}

TEST_CASE("A watchdog spares its maker the signals, and gives them back", "[watchdog]") {
  {
    const Watchdog watchdog("");
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
      CHECK_FALSE(is_default(signal));
      CHECK(is_blocked(signal));
    }
    CHECK_FALSE(is_blocked(SIGQUIT));
  }
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    CHECK(is_default(signal));
    CHECK_FALSE(is_blocked(signal));
  }
}

TEST_CASE("What was ignored at the start is not heeded", "[watchdog]") {
  ::signal(SIGHUP, SIG_IGN);
  const auto heeded = heeded_signals();
  ::signal(SIGHUP, SIG_DFL);
  CHECK(heeded == std::vector<int>{SIGINT, SIGTERM, SIGUSR1});
}

TEST_CASE("A reactor hears a signal that a watchdog hears, too", "[watchdog][process]") {
  Watchdog watchdog("");
  AsioReactor reactor(Interrupts::report, &watchdog);
  ::kill(::getpid(), SIGUSR1);
  std::vector<Wakeup> wakeups;
  while (wakeups.empty()) reactor.wait(make_system_clock()->steady() + 1, wakeups);
  REQUIRE(std::holds_alternative<Interrupted>(wakeups[0]));
  CHECK(std::get<Interrupted>(wakeups[0]).signal == SIGUSR1);
}

TEST_CASE("A reactor hears what a watchdog has heard before it was there", "[watchdog][process]") {
  Watchdog watchdog("");
  ::kill(::getpid(), SIGTERM);
  while (watchdog.first_signal() == 0) std::this_thread::yield();
  AsioReactor reactor(Interrupts::report, &watchdog);
  std::vector<Wakeup> wakeups;
  reactor.wait(1e9, wakeups);
  REQUIRE(wakeups.size() == 1);
  CHECK(std::get<Interrupted>(wakeups[0]).signal == SIGTERM);
}

TEST_CASE("Process groups are ended with all that is in them, but not those of a later process",
          "[watchdog][process]") {
  // A leader and one more, both of which hold the pipe open.
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const pid_t leader = ::fork();
  if (leader == 0) {
    ::setpgid(0, 0);
    ::fork();
    for (;;) ::pause();
  }
  ::setpgid(leader, leader);
  ::close(ends[1]);
  const auto stat = read_process_stat(leader);
  REQUIRE(stat);

  ProcessGroups groups;
  groups.add(leader, stat->start_ticks + 1);
  groups.kill_all();
  siginfo_t info{};
  CHECK(::waitid(P_PID, static_cast<id_t>(leader), &info, WEXITED | WNOHANG | WNOWAIT) == 0);
  CHECK(info.si_pid == 0);

  groups.add(leader, stat->start_ticks);
  groups.kill_all();
  char byte = 0;
  CHECK(::read(ends[0], &byte, 1) == 0);  // both are gone
  REQUIRE(::waitid(P_PID, static_cast<id_t>(leader), &info, WEXITED) == 0);
  CHECK(info.si_status == SIGKILL);
  ::close(ends[0]);
  groups.remove(leader, stat->start_ticks);
  groups.kill_all();
}

TEST_CASE("A driver that hangs when only lingering work is left ends with its processes",
          "[watchdog][process]") {
  TempDir dir;
  std::array<int, 2> said{};
  REQUIRE(::pipe2(said.data(), O_CLOEXEC) == 0);
  const pid_t driver = ::fork();
  if (driver == 0) {
    ::dup2(said[1], STDERR_FILENO);
    if (::chdir(dir.path().c_str()) == 0) {
      ::execl(EXEC_DRIVER, EXEC_DRIVER, "hang", EXEC_PROBE, nullptr);
    }
    ::_exit(127);
  }
  ::close(said[1]);
  std::string text;
  std::array<char, 4096> block{};
  const auto read_until = [&](const char* wanted) {
    while (text.find(wanted) == std::string::npos) {
      const auto count = ::read(said[0], block.data(), block.size());
      if (count <= 0) return;
      text.append(block.data(), static_cast<std::size_t>(count));
    }
  };
  read_until("\n");
  const std::string beside = "it hangs beside ";
  REQUIRE(text.starts_with(beside));
  const auto grandchild = static_cast<pid_t>(std::stol(text.substr(beside.size())));
  const FileDescriptor watched(static_cast<int>(::syscall(SYS_pidfd_open, grandchild, 0)));
  REQUIRE(watched.get() >= 0);
  ::kill(driver, SIGTERM);
  read_until("never found");  // to the end
  siginfo_t info{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(driver), &info, WEXITED) == 0);
  CHECK(info.si_code == CLD_EXITED);
  CHECK(info.si_status == 130);
  INFO(text);
  const std::string told =
      "\ntune: the disk is gone\n"
      "tune: left by force, since the driver had not ended 1 s after it was to leave at once: ";
  CHECK(text.find(told) != std::string::npos);
  CHECK(text.find("the driver's own thread is busy") != std::string::npos);
  CHECK(text.find("the test hangs, for ") != std::string::npos);
  CHECK(text.ends_with(" s\nask somebody\n"));
  ::close(said[0]);
  pollfd ended{watched.get(), POLLIN, 0};
  CHECK(::poll(&ended, 1, static_cast<int>(patience_s * 1000)) == 1);
}
