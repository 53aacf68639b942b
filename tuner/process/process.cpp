// Signals by number while the child holds it, waits by pidfd and by group.
#include "tuner/process/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "tuner/base/error.h"

namespace tune {
namespace {

/// At most so long is waited for what was killed: a process that is stuck in the kernel, on a dead
/// disk or in a driver, does not end at all.
constexpr std::chrono::seconds patience{5};

/// waitid on a pidfd, without waiting; false if the process is not our child any more.
bool view_experiment(int pidfd, siginfo_t& info, int flags) {
  info = {};
  const int all = WEXITED | WNOHANG | __WALL | flags;
  return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, all) == 0;
}

}  // namespace

Process::Process(pid_t pid, FileDescriptor pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {
  // kill(-1) is every process of this user, kill(0) is our own group.
  ensure(pid > 1, "a child has a pid of its own");
}

Process::Process(Process&& other) noexcept
    : pid_(other.pid_),
      pidfd_(std::move(other.pidfd_)),
      reaped_(std::exchange(other.reaped_, true)) {}

Process::~Process() {
  if (reaped_ || pidfd_.get() < 0) return;
  signal(SIGKILL);
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!ended() && std::chrono::steady_clock::now() < until) {
    // Readable too when somebody else (a debugger) has to reap first, so with a pause.
    pollfd exited{pidfd_.get(), POLLIN, 0};
    if (::poll(&exited, 1, 100) > 0 && !ended()) ::poll(nullptr, 0, 1);
  }
  if (ended()) clear();
}

void Process::signal(int signal) const noexcept {
  siginfo_t info;
  if (reaped_ || !view_experiment(pidfd_.get(), info, WNOWAIT)) return;
  // Our child holds its number until it is reaped.
  if (::getpgid(pid_) != pid_) ::kill(pid_, signal);
  ::kill(-pid_, signal);
}

void Process::signal_leader(int signal) const noexcept {
  siginfo_t info;
  if (!reaped_ && view_experiment(pidfd_.get(), info, WNOWAIT)) ::kill(pid_, signal);
}

std::optional<ExitStatus> Process::ended() const {
  siginfo_t info;
  if (!view_experiment(pidfd_.get(), info, WNOWAIT))
    return ExitStatus{.exit_code = -1, .signal = 0};
  if (info.si_pid == 0) return std::nullopt;
  if (info.si_code == CLD_EXITED) return ExitStatus{.exit_code = info.si_status, .signal = 0};
  return ExitStatus{.exit_code = 0, .signal = info.si_status};
}

bool Process::clear() {
  siginfo_t info;
  if (cleared_) return true;
  if (!reaped_ && !view_experiment(pidfd_.get(), info, WNOWAIT)) {
    let_go();  // somebody else has reaped it, and its number may be anybody's
    return true;
  }
  // The dead leader holds the number, so that it is no other group's. After it the others do, who
  // are our children: what is asked for is then still this group.
  if (!std::exchange(group_ended_, true)) ::kill(-pid_, SIGKILL);
  bool some_live = false;
  while (!some_live) {
    info = {};
    const int flags = WEXITED | WNOHANG | __WALL;
    if (::waitid(P_PGID, static_cast<id_t>(pid_), &info, flags) != 0) break;
    some_live = info.si_pid == 0;
    reaped_ = reaped_ || info.si_pid == pid_;
  }
  // A leader that has moved to another group.
  if (!reaped_) reaped_ = !view_experiment(pidfd_.get(), info, 0) || info.si_pid != 0;
  cleared_ = reaped_ && !some_live;
  return cleared_;
}

}  // namespace tune
