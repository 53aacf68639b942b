// The interface of stopping rules, and those that ship. The four laws of tuner/policy/scheduler.h
// hold.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/objective.h"
#include "tuner/model/rationale.h"
#include "tuner/model/result.h"
#include "tuner/model/trial.h"

namespace tune {

class Stopper {
 public:
  virtual ~Stopper() = default;

  /// Whether the trial ends with this result. Asked once for each iteration of a trial: not again
  /// for what it repeats after it was restored.
  virtual bool should_stop(const Trial& trial, const Result& result) = 0;

  /// The same for a result that the trial repeats after a restore: it must not be counted again. By
  /// default the trial ends where a rule has ended it before (it was killed during its last save).
  /// A rule that looks only at the result at hand answers as `should_stop`, since the rule may have
  /// changed.
  virtual bool should_stop_again(const Trial& trial, const Result& result);

  /// Why the last `should_stop` said yes; need not be saved.
  virtual Rationale why() const { return {}; }

  /// The trial reached a final state: what is kept for it can go. A trial that the user queues
  /// again starts anew here.
  virtual void on_trial_end(const Trial& trial) { (void)trial; }

  /// Why the whole experiment should end now, as a sentence for the user; nothing to go on.
  /// `running_s` is the experiment's running time over all sessions, without the time between.
  virtual std::optional<std::string> should_stop_all(Seconds running_s) const {
    (void)running_s;
    return std::nullopt;
  }

  virtual Json save() const { return Json::object(); }
  virtual void load(const Json& state) { (void)state; }
};

enum class Comparison { less, less_equal, greater_equal, greater };

/// Ends a trial whose `metric` compares so with `bound`. A missing or NaN metric never does.
std::unique_ptr<Stopper> make_metric_bound(std::string metric, Comparison comparison, double bound);

/// Ends a trial at `iterations` training iterations.
std::unique_ptr<Stopper> make_max_iteration(std::int64_t iterations);

/// Ends a trial of which any of `metrics` was NaN or infinite in `times` results in a row. A result
/// without the metric counts for neither.
struct NotFiniteOptions {
  std::vector<std::string> metrics;
  int times = 1;
};
std::unique_ptr<Stopper> make_not_finite(NotFiniteOptions options);

/// Ends everything after `budget_s` of running time.
std::unique_ptr<Stopper> make_time_budget(Seconds budget_s);

/// Ends a trial whose `metric` has settled: population standard deviation of its last
/// `num_results` values at most `std`, after at least `grace_period` results. With a
/// `metric_threshold`, only once the last value is at or past it in `mode`.
struct TrialPlateauOptions {
  std::string metric;
  double std = 0.01;
  int num_results = 4;
  int grace_period = 4;
  std::optional<double> metric_threshold;
  Mode mode = Mode::max;
};
std::unique_ptr<Stopper> make_trial_plateau(TrialPlateauOptions options);

/// Ends everything when the `top` best values of `metric` (one per trial, its best) have had a
/// population standard deviation of at most `std` for `patience` further results.
struct ExperimentPlateauOptions {
  std::string metric;
  Mode mode = Mode::min;
  double std = 0.001;
  int top = 10;
  int patience = 0;
};
std::unique_ptr<Stopper> make_experiment_plateau(ExperimentPlateauOptions options);

/// A stopper with a name by which its state is found again where the rules beside it have changed.
struct NamedStopper {
  std::string name;
  std::unique_ptr<Stopper> stopper;
};

/// Ends when any of them does; each is asked about each result. Loads the state of any other such
/// object: a stopper of a name that is not in there begins anew. Names differ.
std::unique_ptr<Stopper> make_any_of(std::vector<NamedStopper> stoppers);
/// The same, named by their places.
std::unique_ptr<Stopper> make_any_of(std::vector<std::unique_ptr<Stopper>> stoppers);

}  // namespace tune
