// What /proc tells of real processes: one that is stopped, one that computes, one that is gone.
#include "tuner/process/group_activity.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/execution/session.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::test;

namespace {

/// A process in a group of its own, which dies with this object.
class OwnGroup {
 public:
  explicit OwnGroup(void (*work)()) : pid_(::fork()) {
    if (pid_ == 0) {
      ::setpgid(0, 0);
      work();
      ::_exit(0);
    }
    ::setpgid(pid_, pid_);
  }
  ~OwnGroup() { end(); }
  void end() {
    if (pid_ <= 0) return;
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void stop() const {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
    REQUIRE(WIFSTOPPED(status));
  }
  void go_on() const { ::kill(pid_, SIGCONT); }
  std::int64_t group() const { return pid_; }

 private:
  pid_t pid_;
};

void wait_for_signals() {
  for (;;) ::pause();
}

void compute() {
  while (::getppid() != 0) {
  }
}

/// In the end: the machine may be busy.
bool comes_true(const std::function<bool()>& is_true) {
  constexpr int most_looks = 3'000;
  for (int i = 0; i < most_looks; ++i) {
    if (is_true()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

}  // namespace

TEST_CASE("A group that is stopped, one that computes and one that is gone are told apart",
          "[unit][process]") {
  OwnGroup idle(wait_for_signals), busy(compute);
  const std::vector<std::int64_t> groups = {idle.group(), busy.group()};
  CHECK(comes_true([&] { return activity_of(groups)[1].cpu_s > 0; }));
  CHECK_FALSE(activity_of(groups)[0].is_stopped);
  idle.stop();
  const auto all = activity_of(groups);
  REQUIRE(all.size() == 2);
  CHECK(all[0].is_stopped);
  CHECK_FALSE(all[1].is_stopped);
  CHECK_FALSE(all[0].waits_for_disk);
  CHECK(all[0].cpu_s < all[1].cpu_s);
  idle.go_on();
  CHECK(comes_true([&] { return !activity_of(groups)[0].is_stopped; }));
  const std::int64_t gone = idle.group();
  idle.end();
  const auto after = activity_of({gone});
  REQUIRE(after.size() == 1);
  CHECK_FALSE(after[0].is_stopped);
  CHECK(after[0].cpu_s == 0);
}

TEST_CASE("The newest of several files tells when something was written last", "[unit][process]") {
  const TempDir dir;
  CHECK_FALSE(since_last_write({dir.path() / "none"}));
  std::ofstream(dir.path() / "old") << "x";
  std::filesystem::last_write_time(
      dir.path() / "old", std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  const auto old = since_last_write({dir.path() / "old", dir.path() / "none"});
  REQUIRE(old);
  CHECK(*old > 7'000);
  std::ofstream(dir.path() / "new") << "x";
  CHECK(*since_last_write({dir.path() / "old", dir.path() / "new"}) < 3'600);
}
