// Estimates when an experiment will be over, and says what the estimate rests on.
// Pure: the time is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/model/experiment.h"

namespace tune {

/// The parts of a spec that decide when the experiment is over.
struct EndConditions {
  std::optional<std::uint64_t> total_trials;  ///< nothing: endless, or not known
  std::optional<Seconds> time_budget_s;       ///< of running time
  std::optional<double> most_iterations;      ///< at which a stop rule ends each trial
  /// Trials at a step that may never end: they say nothing about how long others last, and keep
  /// their places.
  std::vector<TrialId> hanging = {};
};

/// From a spec's `stop` and `time_budget_s`, with the changes made while the experiment runs
/// (Experiment::spec_changes).
EndConditions end_conditions(std::optional<std::uint64_t> total_trials, const Json& stop,
                             std::optional<Seconds> time_budget_s, const Json& spec_changes);

struct EndEstimate {
  std::optional<Seconds> remaining_s;  ///< nothing: not known
  bool is_bound = false;               ///< an upper bound: it may be over earlier
  std::string reason;                  ///< what it rests on, or why it cannot be said
};

/// For an experiment that is driven at `now` (Unix time). Lifetimes of trials that have ended, and
/// how long those under way have lasted (Kaplan and Meier's estimator: a trial that still runs may
/// outlive all that have ended), say how long the others will; places among the running ones that
/// do not hang are given away first come first served. Cost: the trials that run or wait, not those
/// that have ended.
EndEstimate estimate_end(const Experiment& experiment, const EndConditions& conditions,
                         Seconds now);

/// What is left of the time budget; nothing if there is none.
std::optional<Seconds> budget_left_s(const Experiment& experiment, const EndConditions& conditions,
                                     Seconds now);

/// "3 h 10 min", "12 min", "40 s": two digits or so.
std::string rough_duration(Seconds duration_s);

/// "about 3 h 10 min: 40 of 96 trials ended, ...", or "not known: ...".
std::string text_of(const EndEstimate& estimate);

}  // namespace tune
