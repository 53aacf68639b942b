// A process beside an agent that ends it, and what it runs, once its lease is over: also while the
// agent is stopped, or stuck in the kernel.
#pragma once

#include <atomic>

#include "tuner/base/clock.h"
#include "tuner/disk/file_descriptor.h"

namespace tune {

/// Its process leads a session of its own, heeds no signal but SIGKILL, and holds none of the
/// agent's descriptors. Of an agent that is killed, by whomever, it ends what that has launched.
class LeaseWatchdog {
 public:
  /// Forks, so before the agent's first thread. Error (machine) if that fails.
  LeaseWatchdog();
  /// The agent has ended what it ran: nothing is left to be done.
  ~LeaseWatchdog();
  LeaseWatchdog(const LeaseWatchdog&) = delete;
  LeaseWatchdog& operator=(const LeaseWatchdog&) = delete;

  /// When the agent is to have ended by itself, in seconds since boot; none before the first call.
  void set_deadline(Seconds deadline) { shared_->deadline = deadline; }

 private:
  struct Shared {
    std::atomic<Seconds> deadline = never_s;
    std::atomic<bool> has_left = false;
  };

  /// Until the agent has ended, or is killed here.
  void watch(int life, int pidfd) const;

  Shared* shared_;       ///< memory of both processes
  FileDescriptor life_;  ///< the writing end of a pipe: closed by the kernel with the agent
};

}  // namespace tune
