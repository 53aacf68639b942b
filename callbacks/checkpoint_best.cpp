// checkpoint_best: asks for a checkpoint whenever a result is the best of the whole experiment.
#include <cmath>
#include <limits>
#include <map>

#include "callbacks/callbacks.h"

namespace tune {

namespace {

constexpr double nothing_yet = std::numeric_limits<double>::quiet_NaN();

class CheckpointBest final : public Callback {
 public:
  explicit CheckpointBest(CheckpointBestOptions options) : options_(std::move(options)) {}

  std::string name() const override { return "checkpoint_best"; }

  void setup(const RunInfo&, const Experiment& experiment) override {
    // What was loaded may be of before its trial became a copy.
    for (const auto& [trial, best] : std::map(reached_)) {
      if (experiment.trial(trial).lineage.size() != best.clonings) forget(trial);
    }
  }
  void on_trial_result(const Trial& trial, Result& result) override {
    if (is_best(trial, result)) result.should_checkpoint = true;
  }
  void on_trial_replay(const Trial& trial, const Result& result) override {
    // The trial is as it was in the end, and may have become a copy after this result.
    const bool is_given_up =
        !trial.lineage.empty() && result.timestamp <= trial.lineage.back().time;
    if (!is_given_up) (void)is_best(trial, result);
  }
  void on_trial_exploit(const Trial& trial, const Cloning&) override { forget(trial.id); }

  Json save() const override {
    Json reached = Json::object();
    for (const auto& [trial, best] : reached_) {
      // JSON has no infinite numbers.
      if (std::isfinite(best.value)) reached[to_string(trial)] = {best.value, best.clonings};
    }
    return reached;
  }
  void load(const Json& state) override {
    for (const auto& [trial, best] : state.items()) {
      note(*parse_trial_id(trial), {best.at(0), best.at(1)});
    }
  }

 private:
  /// The best value of a trial, and how often it had become a copy of another one by then.
  struct Reached {
    double value;
    std::size_t clonings;
  };

  bool is_best(const Trial& trial, const Result& result) {
    // A replay tells of no exploits. What a trial reached as another model is nobody's best: that
    // model is given up.
    const auto before = reached_.find(trial.id);
    if (before != reached_.end() && before->second.clonings != trial.lineage.size()) {
      forget(trial.id);
    }
    const auto value = result.find(options_.objective.metric);
    if (!value || std::isnan(*value)) return false;
    // Repeated, it is the best once more: the trial may have been killed in the save of it.
    const bool is_best_again = trial.repeats(result) && *value == best_;
    const auto own = reached_.find(trial.id);
    const bool is_own_best = own == reached_.end() || is_better(*value, own->second.value);
    if (!is_own_best && !is_best_again) return false;
    if (violation(values_of(options_.constraints, trial, result)) > 0) return false;
    const bool is_best = is_better(*value, best_) || is_best_again;
    note(trial.id, {*value, trial.lineage.size()});
    return is_best && result.training_iteration > options_.grace_period;
  }

  bool is_better(double value, double than) const {
    return better(options_.objective.mode, value, than);
  }

  void note(TrialId trial, Reached reached) {
    reached_.insert_or_assign(trial, reached);
    if (is_better(reached.value, best_)) best_ = reached.value;
  }

  void forget(TrialId trial) {
    const auto before = reached_.extract(trial);
    if (before.empty() || before.mapped().value != best_) return;
    best_ = nothing_yet;
    for (const auto& [id, reached] : reached_) {
      if (is_better(reached.value, best_)) best_ = reached.value;
    }
  }

  CheckpointBestOptions options_;
  std::map<TrialId, Reached> reached_;
  double best_ = nothing_yet;  ///< of all trials
};

}  // namespace

std::unique_ptr<Callback> make_checkpoint_best(CheckpointBestOptions options) {
  return std::make_unique<CheckpointBest>(std::move(options));
}

}  // namespace tune
