// The schedulers that ship: their options and how to make them. docs/schedulers.md has their rules.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/mutations.h"
#include "tuner/policy/catalogue.h"
#include "tuner/policy/decision_epochs.h"
#include "tuner/space/search_space.h"

namespace tune {

/// First in, first out: every trial runs to its own end.
std::unique_ptr<Scheduler> make_fifo();

/// Asynchronous successive halving: rungs at `grace_period` * `reduction_factor`^k up to `max_t`,
/// in units of `time_attr`.
struct AshaOptions {
  std::string time_attr = "training_iteration";
  Objective objective;
  double max_t = 100;
  double grace_period = 1;       ///< above 0, at most max_t
  double reduction_factor = 4;   ///< above 1
  int brackets = 1;              ///< at most the number of rungs; bracket s leaves out the s lowest
  bool stop_last_trials = true;  ///< at max_t
  std::uint64_t seed = 0;        ///< of the draw of brackets
};
/// Stops a trial at a rung if it is below the top 1/`reduction_factor` of those seen there.
std::unique_ptr<Scheduler> make_asha(AshaOptions options);

/// Pauses every trial at every rung, and lets the best 1/`reduction_factor` go on.
std::unique_ptr<Scheduler> make_asha_promotion(AshaOptions options);

/// Freeze-thaw: pauses each trial at each decision epoch. The searcher of the same name has them go
/// on.
struct FreezeThawOptions {
  Objective objective;
  DecisionEpochs epochs;
  std::optional<std::int64_t> max_total_t;  ///< its searcher's
};
std::unique_ptr<Scheduler> make_freeze_thaw(FreezeThawOptions options);

/// Hyperband. rungs.h has its brackets.
struct HyperbandOptions {
  std::string time_attr = "training_iteration";
  Objective objective;
  double max_t = 81;             ///< at least 1
  double reduction_factor = 3;   ///< above 1
  bool stop_last_trials = true;  ///< at max_t
};
/// Pauses the trials of a bracket until all have come as far, then lets the best
/// 1/`reduction_factor` go on and stops the others.
std::unique_ptr<Scheduler> make_hyperband(HyperbandOptions options);

/// The median stopping rule.
struct MedianStoppingOptions {
  std::string time_attr = "time_total_s";
  Objective objective;
  double grace_period = 60;               ///< nothing is stopped before, nor does it count
  std::int64_t min_samples_required = 3;  ///< others to compare with, at least
  double min_time_slice = 0;              ///< between two pauses of a trial
  bool hard_stop = true;                  ///< false: pause, and go on when nobody else waits
};
/// Stops a trial whose best result is worse than the median of the others' averages so far.
std::unique_ptr<Scheduler> make_median_stopping(MedianStoppingOptions options);

/// What population-based training and its variants have in common.
struct PopulationOptions {
  std::string time_attr = "time_total_s";
  Objective objective;
  SearchSpace space;                         ///< for tags and expressions of changed configs
  std::vector<Constraint> constraints = {};  ///< those about configs alone hold for changed ones
  std::int64_t population = 0;  ///< trials that there will be, if known; below 1: unknown
  /// Above 0, ascending, at least one; between two chances of a trial to exploit. Of several, trial
  /// i has number i modulo their count.
  std::vector<double> perturbation_intervals = {60};
  double burn_in_period = 0;        ///< nobody exploits before
  double quantile_fraction = 0.25;  ///< 0 to 0.5; of the trials, who exploit and are exploited
  bool synch = false;               ///< all wait for all at each interval
  std::uint64_t seed = 0;
  /// For library users: has the last word on a changed config, but for expressions. Must not depend
  /// on anything but its argument, or a resume gives other answers.
  std::function<Json(Json)> custom_explore_fn = {};
};

/// Population-based training (Jaderberg et al., "Population Based Training of Neural Networks",
/// 2017).
struct PbtOptions : PopulationOptions {
  std::vector<Mutation> mutations;
  Exploration exploration;
};
/// Lets the worst trials go on as copies of the best with changed hyperparameters.
std::unique_ptr<Scheduler> make_pbt(PbtOptions options);

/// Population-based bandits (Parker-Holder, Nguyen and Roberts, "Provably Efficient Online
/// Hyperparameter Optimization with Population-Based Bandits", 2020).
struct Pb2Options : PopulationOptions {
  std::vector<Mutation> bounds;  ///< each with a Uniform or an Integer
};
/// The same, but for how configs change: to where a model of the progress so far expects most.
std::unique_ptr<Scheduler> make_pb2(Pb2Options options);

/// How resources are shared out.
struct ResourceChangingOptions {
  Resources resources;            ///< that there are
  Resources resources_per_trial;  ///< that each begins with
  std::optional<std::int64_t> max_concurrent_trials;
  std::int64_t population = -1;          ///< trials that there will be; below 0: no end of them
  Resources increase_by = {{"cpu", 1}};  ///< amounts above 0, that `resources` has
  std::int64_t increase_by_times = -1;   ///< at most so often; below 1: as often as it fits
  Resources reserve_resources;           ///< that nobody is increased by
  /// In the place of all this: what the trial is to have after this result; nothing: what it has.
  /// Must give the same answer to the same trial and result, or a resume could not repeat it.
  std::function<std::optional<Resources>(const Trial&, const Result&)> allocation_function = {};
};
/// Does what `base` does, and gives trials more when there are more resources than trials.
std::unique_ptr<Scheduler> make_resource_changing(ResourceChangingOptions options,
                                                  std::unique_ptr<Scheduler> base);

/// A schedule of hyperparameters.
struct PbtReplayOptions {
  struct Change {
    std::int64_t iteration = 0;  ///< after so many iterations
    Json config;
  };
  SearchSpace space;  ///< for the tags of configs
  Json initial_config = Json::object();
  std::vector<Change> changes;  ///< in order
};
/// Each trial trains with the initial config, whatever was drawn for it, and pauses at each change
/// to go on with the next one.
std::unique_ptr<Scheduler> make_pbt_replay(PbtReplayOptions options);

/// Adds all of them: "asha", "asha_promotion", "bohb", "fifo", "freeze_thaw", "hyperband",
/// "median_stopping", "pb2", "pbt", "pbt_replay", "resource_changing".
void add_schedulers(Catalogue& catalogue);

}  // namespace tune
