// Ends the driver at the second interrupt, whatever hangs: a disk that does not answer, a program
// that cannot be started, a policy that never returns, a reader of its output. Nothing durable is
// lost, and the next resume cleans up the rest.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/process/activity_tracker.h"

namespace tune {

/// SIGINT, SIGTERM, SIGUSR1 and SIGHUP, but for those that were ignored at the start (nohup).
std::vector<int> heeded_signals();

/// The process groups to be killed with the driver. Thread-safe.
class ProcessGroups {
 public:
  /// Start times tell a process from another one of the same number.
  void add(pid_t leader, std::uint64_t start_ticks);
  void remove(pid_t leader, std::uint64_t start_ticks);
  /// SIGKILL. Only to those whose leader is still the process that was added.
  void kill_all() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<pid_t, std::uint64_t> leaders_;  ///< and when they started
};

/// While it lives, a thread of its own listens to the heeded signals, beside whoever else does. The
/// thread that made it is spared them, so that they are heard even while that is stuck in the
/// kernel.
class Watchdog {
 public:
  static constexpr int exit_code = 130;

  /// `advice`: the sentence to print if it has to end the driver; `patience_s`: how long the driver
  /// may take to end after the second interrupt.
  explicit Watchdog(std::string advice, Seconds patience_s = 5);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// What was sent to the calling thread alone, which does not hear it (`raise` in a callback),
  /// goes to the process.
  void pass_on();

  /// The first that it has heard; 0: none yet. From any thread.
  int first_signal() const;
  /// How many it has heard, without echoes. From any thread.
  int interrupts() const;

  /// From now on only lingering work is left, and one interrupt is enough, also if it has been.
  /// `error`: what ended the run, if it has failed: said, if it comes to that.
  void only_lingers(std::string error = "");

  ActivityTracker& activities();
  ProcessGroups& groups();

 private:
  class Watch;
  std::unique_ptr<Watch> watch_;
};

}  // namespace tune
