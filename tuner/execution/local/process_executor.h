// The executor of real processes on this machine: one loop thread (the caller's), one launcher.
// Knows launches, not what a trial is.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "tuner/execution/executor.h"

namespace tune {

class Watchdog;

/// What to do with SIGINT, SIGTERM, SIGUSR1 and SIGHUP while the executor lives.
enum class Interrupts {
  report,      ///< as Interrupted, but for those ignored at the start (nohup); defaults afterwards
  leave_alone  ///< for whoever has handlers of their own
};

/// All calls but `wake` from one thread, which should live as long as the executor. While it lives,
/// it changes some things of the whole process: see ProcessWide. What the program has started
/// itself is neither signalled nor reaped, as Adopted says.
class ProcessExecutor final : public Executor {
 public:
  /// Throws Error if the machine has no descriptors left. `watchdog`, which outlives it, is told of
  /// all processes, and of what takes long.
  explicit ProcessExecutor(Interrupts interrupts = Interrupts::report,
                           Watchdog* watchdog = nullptr);
  /// Kills and reaps everything that still runs. What cannot die (stuck in the kernel, on a disk
  /// that does not answer) is left alone after 5 s.
  ~ProcessExecutor() override;

  /// Makes the control socket in this directory, whose lock the caller holds. Throws Error if there
  /// can be none.
  void listen(const std::filesystem::path& directory);

  void launch(LaunchId launch, LaunchSpec spec) override;
  void send(LaunchId launch, const protocol::Command& command) override;
  void signal(LaunchId launch, int signal) override;
  void answer(ControlId id, const ControlAnswer& answer) override;
  void wait(Seconds deadline, std::vector<Wakeup>& wakeups) override;
  void wake() noexcept override;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tune
