// The fork, and what its child does: it waits for the end of a pipe or of the lease.
#include "tuner/cluster/lease_watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "tuner/base/error.h"
#include "tuner/disk/liveness.h"
#include "tuner/process/orphans.h"

namespace tune {
namespace {

/// For an agent that ends by itself. What it runs has ended before the driver starts it elsewhere,
/// which is 5 s behind the lease.
constexpr Seconds grace_s = 2;
/// poll's clock stands still while a machine is suspended, and the lease's does not.
constexpr int look_ms = 500;

/// The agent's descriptors would keep its connections and its launcher's pipes open.
void close_all_but(int first, int second) {
  const unsigned low = static_cast<unsigned>(std::min(first, second));
  const unsigned high = static_cast<unsigned>(std::max(first, second));
  if (low > 0) ::syscall(SYS_close_range, 0U, low - 1, 0U);
  if (high > low + 1) ::syscall(SYS_close_range, low + 1, high - 1, 0U);
  ::syscall(SYS_close_range, high + 1, ~0U, 0U);
}

/// What stops or ends the agent's group or session is not for this process, nor is the SIGTERM that
/// Slurm sends to each process of a step.
void detach(int kept, int also_kept) {
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_NAME, "tune watchdog");
  ::prctl(PR_SET_PDEATHSIG, 0);
  close_all_but(kept, also_kept);
}

}  // namespace

LeaseWatchdog::LeaseWatchdog() {
  const auto fail = [](const char* what) {
    throw machine_error("cannot watch over the agent's lease: " + std::string(what) + ": " +
                        std::strerror(errno));
  };
  const ProcessIdentity agent = this_identity();
  void* const shared =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) fail("mmap");
  static_assert(std::atomic<Seconds>::is_always_lock_free);
  shared_ = new (shared) Shared;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  const FileDescriptor read_end(ends[0]);
  life_ = FileDescriptor(ends[1]);
  // Of the process itself, so that its number cannot be another one's by then.
  const FileDescriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!pidfd) fail("pidfd_open");
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  if (child > 0) return;
  detach(read_end.get(), pidfd.get());
  try {
    watch(read_end.get(), pidfd.get());
    if (!shared_->has_left) end_launched_by(agent);
  } catch (const std::exception&) {
    // Out of memory: what is the agent's own child has ended with it.
  }
  ::_exit(0);
}

LeaseWatchdog::~LeaseWatchdog() { shared_->has_left = true; }

void LeaseWatchdog::watch(int life, int pidfd) const {
  for (;;) {
    pollfd end{life, POLLIN, 0};
    if (::poll(&end, 1, look_ms) > 0) return;
    if (seconds_since_boot() < shared_->deadline + grace_s) continue;
    ::syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
    return;
  }
}

}  // namespace tune
