// The simulated executor as the loop's tests want it: steps as JSON text, saves in the files of the
// test, and a record of what was launched and answered.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/execution/kept_launch.h"
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

/// By SIGKILL, so that nothing is caught.
struct DriverDies {};

class FakeExecutor : private StateFiles, public SimulatedExecutor {
 public:
  FakeExecutor(VirtualClock& clock, FileSystem& files, FakeProgram program);

  void launch(LaunchId launch, LaunchSpec spec) override;
  void send(LaunchId launch, const protocol::Command& command) override;
  void signal(LaunchId launch, int signal) override;
  void wait(Seconds deadline, std::vector<Wakeup>& wakeups) override;
  void answer(ControlId id, const ControlAnswer& answer) override {
    answers.emplace_back(id, answer);
  }

  /// Its driver dies at `time`: `wait` throws DriverDies then, and never again.
  void die(Seconds time) { dies_at_ = time; }
  /// The same at its nth use of this executor: before anything follows from that, and of `wait`
  /// also with all that has happened, before the driver hears of it.
  void die_at_use(int nth) { uses_left_ = nth; }
  /// As an agent would hand it over to the next driver.
  std::vector<KeptLaunch> kept() const { return kept_.all(clock_.time); }
  /// The next driver wants the others no more.
  void keep_only(const std::set<LaunchId>& adopted);

  /// The machine stands still at `time` for so long, trainables and all; only the clock goes on.
  void freeze(Seconds time, Seconds length_s) { freeze_ = {time, length_s}; }

  /// At `time` nothing answers on that node any more; what runs there is lost then, and what is
  /// launched there later at once.
  void lose_node(Seconds time, int node) {
    at(time, NodeLost{node, "node " + std::to_string(node) + " is lost"});
  }

  /// What is launched on these exits with code 1 before its first result; where -1 - node is in it
  /// nothing can even be started.
  std::set<int> bad_nodes;
  /// From when on a node is one of these; -1: none is any more. In the order of time.
  std::vector<std::pair<Seconds, int>> becomes_bad;
  int launches = 0;
  int waits = 0;              ///< how often the driver slept
  std::size_t most_live = 0;  ///< at once
  std::vector<LaunchSpec> specs;
  std::vector<std::pair<ControlId, ControlAnswer>> answers;

 private:
  void count_use();
  void note(const std::vector<Wakeup>& wakeups);
  void wait_for_events(Seconds deadline, std::vector<Wakeup>& wakeups);

  VirtualClock& clock_;
  KeptLaunches kept_;
  Seconds dies_at_ = never_s;
  int uses_left_ = 0;  ///< 0: without end
  std::optional<std::pair<Seconds, Seconds>> freeze_;
  std::vector<std::pair<LaunchId, int>> nodes_;  ///< of launches
  std::vector<int> lost_nodes_;
};

}  // namespace tune
