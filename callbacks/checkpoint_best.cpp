// checkpoint_best: asks for a checkpoint whenever a result is the best of the whole experiment.
#include <limits>

#include "callbacks/callbacks.h"

namespace tune {

namespace {

class CheckpointBest final : public Callback {
 public:
  explicit CheckpointBest(CheckpointBestOptions options) : options_(std::move(options)) {}

  std::string name() const override { return "checkpoint_best"; }

  void on_trial_result(const Trial& trial, Result& result) override {
    if (is_best(trial, result)) result.should_checkpoint = true;
  }
  void on_trial_replay(const Trial& trial, const Result& result) override {
    (void)is_best(trial, result);
  }

 private:
  bool is_best(const Trial& trial, const Result& result) {
    const Objective& objective = options_.objective;
    const auto value = result.find(objective.metric);
    if (!value) return false;
    // Repeated, it is the best once more: the trial may have been killed in the save of it.
    const bool is_best_again = trial.repeats(result) && *value == best_;
    if (!better(objective.mode, *value, best_) && !is_best_again) return false;
    if (violation(values_of(options_.constraints, trial, result)) > 0) return false;
    best_ = *value;
    return result.training_iteration > options_.grace_period;
  }

  CheckpointBestOptions options_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace

std::unique_ptr<Callback> make_checkpoint_best(CheckpointBestOptions options) {
  return std::make_unique<CheckpointBest>(std::move(options));
}

}  // namespace tune
