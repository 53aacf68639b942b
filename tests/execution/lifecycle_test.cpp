// Ends of processes, many at once, and what wakes the loop.
// Knows no message's meaning.
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <limits>
#include <thread>

#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/disk/file_descriptor.h"

using namespace tune;
using namespace tune::test;

namespace {

constexpr Seconds no_deadline = std::numeric_limits<Seconds>::infinity();

bool is_default(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

bool is_ignored(int signal) {
  struct sigaction now {};
  return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

bool has_children() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

}  // namespace

TEST_CASE("Exited tells the exit code, or the signal", "[unit][process]") {
  Session session;
  const auto code = session.wait_for<Exited>(session.launch_probe({"exit", "42"}));
  CHECK(code.exit_code == 42);
  CHECK(code.signal == 0);
  const auto death = session.wait_for<Exited>(session.launch_probe({"die", "6"}));
  CHECK(death.signal == SIGABRT);
}

TEST_CASE("Exit codes are known also when SIGCHLD was ignored at the start", "[unit][process]") {
  ::signal(SIGCHLD, SIG_IGN);
  {
    Session session;
    CHECK(session.wait_for<Exited>(session.launch_probe({"exit", "42"})).exit_code == 42);
  }
  CHECK(is_ignored(SIGCHLD));
  ::signal(SIGCHLD, SIG_DFL);
}

TEST_CASE("Processes that linger do not hold up the end of one that does not", "[unit][process]") {
  Session session;
  std::vector<LaunchId> lingering;
  for (int i = 0; i < 8; ++i) lingering.push_back(session.launch_probe({"answer-steps"}));
  for (const auto launch : lingering) session.wait_for<Greeted>(launch);
  for (int i = 0; i < 8; ++i) {
    session.wait_for<Exited>(session.launch_probe({"exit", "0"}));
    for (const auto launch : lingering) {
      session.executor.send(launch, protocol::Step{});
      session.wait_for_count<Reported>(launch, static_cast<std::size_t>(i) + 1);
    }
  }
  // They end only now that they are told to: all ends above were seen while they lived.
  for (const auto launch : lingering) {
    CHECK(session.count_of<Exited>(launch) == 0);
    session.executor.send(launch, protocol::Stop{});
    CHECK(session.wait_for<Exited>(launch).exit_code == 0);
  }
}

TEST_CASE("What a process started and left behind ends with it", "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"grandchild"});
  const auto grandchild = session.pid_told_by(launch);
  const FileDescriptor watch(static_cast<int>(::syscall(SYS_pidfd_open, grandchild, 0)));
  REQUIRE(watch);
  session.executor.send(launch, protocol::Step{});
  CHECK(session.wait_for<Exited>(launch).exit_code == 0);
  // Already: what it held is free for the next.
  pollfd ended{watch.get(), POLLIN, 0};
  CHECK(::poll(&ended, 1, 0) == 1);
}

TEST_CASE("Three hundred processes live, talk and end side by side", "[unit][process]") {
  constexpr std::size_t count = 300;
  const auto before = open_descriptors();
  {
    Session session;
    std::vector<LaunchId> launches;
    for (std::size_t i = 0; i < count; ++i)
      launches.push_back(session.launch_probe({"answer-steps"}));
    for (const auto launch : launches) session.wait_for<Greeted>(launch);
    for (const auto launch : launches) CHECK(session.count_of<Exited>(launch) == 0);
    const auto alive = open_descriptors();
    for (const auto launch : launches) session.executor.send(launch, protocol::Step{});
    for (const auto launch : launches) session.wait_for<Reported>(launch);
    for (const auto launch : launches) session.executor.send(launch, protocol::Stop{});
    for (const auto launch : launches) CHECK(session.wait_for<Exited>(launch).exit_code == 0);
    CHECK(alive - open_descriptors() == 2 * count);
    CHECK_FALSE(has_children());
  }
  CHECK(open_descriptors() == before);
}

TEST_CASE("Destroying the executor kills and reaps whatever is left", "[unit][process]") {
  const auto before = open_descriptors();
  std::vector<FileDescriptor> watches;
  {
    Session session;
    for (int i = 0; i < 5; ++i) {
      const auto launch = session.launch_probe({"grandchild"});
      const auto grandchild = session.pid_told_by(launch);
      watches.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, grandchild, 0)));
    }
    for (int i = 0; i < 5; ++i) session.launch_probe({"stay"});  // some started, some not yet
  }
  CHECK_FALSE(has_children());
  for (const auto& watch : watches) {
    pollfd ended{watch.get(), POLLIN, 0};
    CHECK(::poll(&ended, 1, static_cast<int>(patience_s * 1000)) == 1);
  }
  watches.clear();
  CHECK(open_descriptors() == before);
}

TEST_CASE("A launch that is gone is neither told nor signalled", "[unit][process]") {
  Session session;
  const auto gone = session.launch_probe({"exit", "0"});
  session.wait_for<Exited>(gone);
  const auto failed = session.launch(session.spec({"/nonexistent/program"}));
  session.wait_for<LaunchFailed>(failed);
  for (const auto launch : {gone, failed, LaunchId(999)}) {
    session.executor.send(launch, protocol::Step{});
    session.executor.signal(launch, SIGKILL);
  }
  std::vector<Wakeup> wakeups;
  session.reactor.wait(0, wakeups);
  CHECK(wakeups.empty());
}

TEST_CASE("A signal to a launch that is gone spares the next process of its number",
          "[unit][process]") {
  Session session;
  const auto old = session.launch_probe({"exit", "0"});
  const auto number = session.wait_for<Launched>(old).pid;
  session.wait_for<Exited>(old);
  // Asks the kernel for the same number again. Needs privileges, and nobody else being quicker.
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::ofstream("/proc/sys/kernel/ns_last_pid") << number - 1 << std::flush;
    const auto young = session.launch_probe({"answer-steps"});
    const bool same = session.wait_for<Launched>(young).pid == number;
    session.executor.signal(old, SIGKILL);
    session.executor.send(young, protocol::Step{});
    session.executor.send(young, protocol::Stop{});
    CHECK(session.wait_for<Exited>(young).signal == 0);
    if (same) return;
  }
  WARN("the kernel did not give the same process number twice");
}

TEST_CASE("A signal reaches the group, and a leader that has left it", "[unit][process]") {
  Session session;
  const auto launch = session.launch_probe({"leave-group"});
  session.wait_for<Greeted>(launch);
  session.executor.signal(launch, SIGKILL);
  CHECK(session.wait_for<Exited>(launch).signal == SIGKILL);
}

TEST_CASE("wake ends the wait, before it began or while it lasts", "[unit][process]") {
  Session session;
  std::vector<Wakeup> wakeups;
  session.reactor.wake();
  session.reactor.wake();
  session.reactor.wait(no_deadline, wakeups);
  CHECK(wakeups.empty());

  for (int i = 0; i < 100; ++i) {
    std::thread waker([&] { session.reactor.wake(); });
    session.reactor.wait(no_deadline, wakeups);
    waker.join();
    CHECK(wakeups.empty());
  }
}

TEST_CASE("wait returns at its deadline, in the clock's steady time", "[unit][process]") {
  Session session;
  const auto quiet = session.launch_probe({"stay"});  // never says hello
  session.wait_for<Launched>(quiet);
  std::vector<Wakeup> wakeups;
  const auto deadline = session.clock->steady() + 0.02;
  session.reactor.wait(deadline, wakeups);
  CHECK(session.clock->steady() >= deadline);
  CHECK(wakeups.empty());
}

TEST_CASE("Signals to the driver are reported, and have their defaults afterwards",
          "[unit][process]") {
  {
    Session session(Interrupts::report);
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
      ::raise(signal);
      std::vector<Wakeup> wakeups;
      session.reactor.wait(no_deadline, wakeups);
      REQUIRE(wakeups.size() == 1);
      CHECK(std::get<Interrupted>(wakeups[0]).signal == signal);
    }
    CHECK(is_ignored(SIGPIPE));
    CHECK(is_ignored(SIGXFSZ));
  }
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGPIPE, SIGXFSZ}) {
    CHECK(is_default(signal));
  }
}

TEST_CASE("A signal ignored at the start stays ignored, as nohup wants it", "[unit][process]") {
  ::signal(SIGHUP, SIG_IGN);
  {
    Session session(Interrupts::report);
    CHECK(is_ignored(SIGHUP));
    ::raise(SIGHUP);
    std::vector<Wakeup> wakeups;
    session.reactor.wait(0, wakeups);
    CHECK(wakeups.empty());
  }
  ::signal(SIGHUP, SIG_DFL);
}
