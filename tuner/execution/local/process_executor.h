// The executor of real processes on this machine: one loop thread (the caller's), one launcher.
// Knows launches, not what a trial is.
#pragma once

#include <memory>

#include "tuner/execution/executor.h"
#include "tuner/execution/reactor/asio_reactor.h"

namespace tune {

/// All calls from one thread, the reactor's, which should live as long as the executor. What the
/// program has started itself is neither signalled nor reaped, as Subreaper says.
class ProcessExecutor final : public Executor {
 public:
  /// Throws Error if the machine has no descriptors left. The reactor outlives it, and its watchdog
  /// is told of all processes, and of what takes long.
  explicit ProcessExecutor(AsioReactor& reactor);
  /// Kills and reaps everything that still runs. What cannot die (stuck in the kernel, on a disk
  /// that does not answer) is left alone after 5 s.
  ~ProcessExecutor() override;

  void launch(LaunchId launch, LaunchSpec spec) override;
  void send(LaunchId launch, const protocol::Command& command) override;
  void signal(LaunchId launch, int signal) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tune
