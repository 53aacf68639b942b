// Signals by pidfd and by group, waits by pidfd.
// Knows not how a process was started, what it says, or any loop.
#include "tuner/exec/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>

#include "tuner/core/error.h"

namespace tune {
namespace {

/// waitid on a pidfd, without waiting; false if the process is not our child any more.
bool look_at(int pidfd, siginfo_t& info, int flags) {
  info = {};
  const int all = WEXITED | WNOHANG | __WALL | flags;
  return ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &info, all) == 0;
}

/// Not by waitid, which does not wait on a pidfd that somebody has made non-blocking, as Asio does.
void wait_for_end(int pidfd) {
  pollfd ended{pidfd, POLLIN, 0};
  while (::poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
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
  if (reaped_) return;
  signal(SIGKILL);
  reap();
}

void Process::signal(int signal) const noexcept {
  if (reaped_) return;
  if (::getpgid(pid_) != pid_) {
    ::syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
  }
  ::kill(-pid_, signal);
}

bool Process::has_exited() const {
  siginfo_t info;
  const bool ours = look_at(pidfd_.get(), info, WNOWAIT);
  return !ours || info.si_pid != 0;
}

ExitStatus Process::reap() {
  wait_for_end(pidfd_.get());
  siginfo_t info;
  bool ours = look_at(pidfd_.get(), info, WNOWAIT);
  if (ours) {
    ::kill(-pid_, SIGKILL);  // the zombie holds the number, so that it is no other group's
    ours = look_at(pidfd_.get(), info, 0);
  }
  reaped_ = true;
  if (!ours) return {.exit_code = -1, .signal = 0};
  if (info.si_code == CLD_EXITED) return {.exit_code = info.si_status, .signal = 0};
  return {.exit_code = 0, .signal = info.si_status};
}

}  // namespace tune
