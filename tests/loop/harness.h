// The loop with everything real but the processes, the disk and the time.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/support/fake_executor.h"
#include "tests/support/memory_file_system.h"
#include "tuner/run/commit/policies.h"
#include "tuner/run/loop.h"
#include "tuner/run/resume_plan.h"

namespace tune {

/// A searcher of `n` trials with configs {"x": 0}, {"x": 1}, ...
std::unique_ptr<Searcher> make_counting_searcher(int n);

/// A callback that keeps what it was told, as lines.
class Recorder : public Callback {
 public:
  explicit Recorder(std::vector<std::string>& lines) : lines_(lines) {}
  std::string name() const override { return "recorder"; }
  void on_trial_start(const Trial& trial) override { add("start", trial); }
  void on_trial_restore(const Trial& trial, const Checkpoint* checkpoint) override;
  void on_trial_result(const Trial& trial, Result& result) override;
  void on_trial_save(const Trial& trial) override { add("save", trial); }
  void on_checkpoint(const Trial& trial, const Checkpoint& checkpoint) override;
  void on_trial_complete(const Trial& trial) override { add("complete", trial); }
  void on_trial_recover(const Trial& trial) override { add("recover", trial); }
  void on_trial_error(const Trial& trial) override { add("error", trial); }
  void on_experiment_end(const Experiment&) override { lines_.push_back("end"); }
  void on_notice(const std::string& sentence) override { lines_.push_back("notice " + sentence); }
  void on_total(std::optional<std::uint64_t>) override { lines_.push_back("total"); }

 private:
  void add(const std::string& what, const Trial& trial) {
    lines_.push_back(what + " " + std::to_string(index_of(trial.id)));
  }
  std::vector<std::string>& lines_;
};

/// One experiment in memory. `run` starts a session: a new driver process on the same disk.
class Harness {
 public:
  Harness();

  LoopEnd run();
  /// A session whose driver is killed at that time, or by `dies_at_use`; false: it was over before.
  /// What it has launched goes on for so long, and is adopted by the next `run` as far as that can
  /// be.
  bool run_until_killed(Seconds time = never_s, Seconds without_driver_s = 0);

  /// From now on each use of the disk takes so long that the loop must not wait for it.
  void slow_down_disk() {
    files.on_call([this] { clock.time += 0.002; });
  }

  /// Every event of the journal on the disk.
  std::vector<Event> events();
  /// Their lines, as a text to look things up in.
  std::string journal();
  const Trial& trial(int i) const { return experiment.trials().at(static_cast<std::size_t>(i)); }
  /// Names of the trial's checkpoint directories.
  std::vector<std::string> checkpoint_dirs(int i);

  static constexpr const char* directory = "/exp";
  std::filesystem::path trials_place = directory;  ///< where what the loop reads by itself lies
  ExperimentSpec spec;
  Resources resources{{"cpu", 2}};
  std::vector<NodeResources> nodes;                      ///< empty: one machine, with `resources`
  std::vector<std::pair<Seconds, int>> nodes_lost;       ///< when and which, in the next run
  std::set<int> bad_nodes;                               ///< see FakeExecutor, in all runs
  std::vector<std::pair<Seconds, int>> becomes_bad;      ///< a node, or -1: none is any more
  std::vector<std::pair<Seconds, NodeResources>> joins;  ///< when and what, in the next run
  std::vector<std::pair<Seconds, NodeEnding>> endings;   ///< the same
  NodeSupply* supply = nullptr;                          ///< see LoopOptions, in all runs
  MemoryMeter memory;
  ProcessLook look;
  int trials = 4;
  std::int64_t iterations = 3;  ///< max, by a stopper
  FakeProgram program;
  /// Given `trials`.
  std::function<std::unique_ptr<Searcher>(int)> make_searcher = make_counting_searcher;
  /// Beside the one for `iterations`.
  std::function<std::vector<std::unique_ptr<Stopper>>()> make_more_stoppers;
  std::unique_ptr<Scheduler> scheduler;  ///< for the next run; null: first in, first out
  /// For all runs, if `scheduler` is null.
  std::function<std::unique_ptr<Scheduler>()> make_scheduler;
  SearchSpace space;                                       ///< whose expressions configs have
  std::vector<std::unique_ptr<Callback>> callbacks;        ///< for the next run
  std::vector<std::pair<Seconds, int>> signals;            ///< to the driver, in the next run
  ResumeOptions resume;                                    ///< for the next run
  std::vector<std::pair<Seconds, ControlRequest>> wishes;  ///< the same
  std::optional<std::pair<Seconds, Seconds>> freeze;       ///< see FakeExecutor, in the next run
  std::vector<ControlAnswer> answers;                      ///< by the last run, to all wishes

  VirtualClock clock;
  MemoryFileSystem files;
  Experiment experiment;                      ///< as the last run has left it
  std::vector<std::string> told;              ///< to a Recorder, by all runs
  FakeExecutor* executor = nullptr;           ///< while a run lasts
  std::unique_ptr<FakeExecutor> left_behind;  ///< by a driver that was killed
  AdoptionPlan adopted;                       ///< by the last run
  Seconds killed_at = never_s;                ///< see run_until_killed
  int dies_at_use = 0;                        ///< see FakeExecutor, in the next run
  int launches = 0;
  int waits = 0;
  std::size_t most_live = 0;
  std::uint64_t snapshots_taken = 0;
  std::vector<LaunchSpec> specs;
};

/// Two trials at one time, steps of 10 s, ten of them.
struct SlowHarness : Harness {
  SlowHarness() {
    iterations = 10;
    program.step = [](const Json&, std::int64_t iteration) {
      return FakeStep{.metrics = R"({"loss":)" + std::to_string(iteration) + "}", .takes_s = 10};
    };
  }
};

}  // namespace tune
