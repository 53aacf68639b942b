// The simulated executor as the loop's tests want it: steps as JSON text, saves in the files of the
// test, and a record of what was launched and answered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/simulation/simulated_executor.h"

namespace tune {

/// What a fake trainable does at one step; see SimulatedStep.
struct FakeStep {
  std::string metrics = "{}";  ///< JSON text; empty: no new iteration
  Seconds takes_s = 1;
  bool done = false;
  bool should_checkpoint = false;
  std::optional<std::string> hands_over = {};
  std::optional<int> exits = {};
  std::optional<int> dies_of = {};
  std::optional<std::string> faults = {};
  bool hangs = false;
};

/// See SimulatedProgram.
struct FakeProgram {
  /// `iteration` counts from 1, over restores: a checkpoint holds it.
  std::function<FakeStep(const Json& config, std::int64_t iteration)> step;
  bool is_function = false;
  bool can_save = false;
  bool can_reset = false;
  bool can_stay = false;
  bool runs_to_end = false;
  bool refuses_reset = false;
  bool cannot_launch = false;
  bool is_trials_fault = false;
  bool hangs_in_save = false;
  Seconds exit_s = 1e-4;  ///< from being told to leave, or killed, to the end
  std::function<std::optional<std::string>()> save_error;
};

/// A file "state" in each checkpoint.
class StateFiles : public SimulatedStorage {
 public:
  explicit StateFiles(FileSystem& files) : files_(files) {}
  void write(const std::string& directory, std::string content) override {
    files_.open_append(directory + "/state")->append(content);
  }
  std::string read(const std::string& directory) override {
    return files_.read(directory + "/state");
  }

 private:
  FileSystem& files_;
};

class FakeExecutor : private StateFiles, public SimulatedExecutor {
 public:
  FakeExecutor(VirtualClock& clock, FileSystem& files, FakeProgram program);

  void launch(LaunchId launch, LaunchSpec spec) override;
  void wait(Seconds deadline, std::vector<Wakeup>& wakeups) override;
  void answer(ControlId id, const ControlAnswer& answer) override {
    answers.emplace_back(id, answer);
  }

  /// The machine stands still at `time` for so long, trainables and all; only the clock goes on.
  void freeze(Seconds time, Seconds length_s) { freeze_ = {time, length_s}; }

  /// At `time` nothing answers on that node any more; what runs there is lost then, and what is
  /// launched there later at once.
  void lose_node(Seconds time, int node) {
    at(time, NodeLost{node, "node " + std::to_string(node) + " is lost"});
  }

  int launches = 0;
  int waits = 0;              ///< how often the driver slept
  std::size_t most_live = 0;  ///< at once
  std::vector<LaunchSpec> specs;
  std::vector<std::pair<ControlId, ControlAnswer>> answers;

 private:
  VirtualClock& clock_;
  std::optional<std::pair<Seconds, Seconds>> freeze_;
  std::vector<std::pair<LaunchId, int>> nodes_;  ///< of launches
  std::vector<int> lost_nodes_;
};

}  // namespace tune
