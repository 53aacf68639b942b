// A thread that starts processes, so that the loop never waits for a launch.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "tuner/process/fork_servers.h"
#include "tuner/process/process_spec.h"
#include "tuner/process/spawn.h"
#include "tuner/process/subreaper.h"

namespace tune {

struct NotLaunched {
  std::string reason;            ///< a sentence
  bool is_trials_fault = false;  ///< see LaunchFailed
};
/// The process, or why there is none.
using LaunchOutcome = std::variant<Spawned, NotLaunched>;

/// Launches in the order of the calls. The thread lives as long as the Launcher: the kernel kills
/// children when the thread that started them ends.
class Launcher {
 public:
  /// Told each outcome, on the launcher's thread. Must not throw.
  using OnLaunched = std::function<void(LaunchId, LaunchOutcome)>;

  /// `descriptors`: the limit that processes get. `servers` is told of those that it starts, and
  /// lives as long.
  Launcher(const rlimit& descriptors, LivingServers& servers, OnLaunched on_launched);
  /// Finishes the launch under way and drops those that wait.
  ~Launcher();

  void launch(LaunchId launch, ProcessSpec spec);

 private:
  void run();
  Spawned spawn(const ProcessSpec& spec);

  OnLaunched on_launched_;
  Spawner spawner_;
  FileDescriptor stop_;  ///< readable once it is stopping
  ForkServers fork_servers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<LaunchId, ProcessSpec>> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tune
