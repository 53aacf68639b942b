// At which iterations the searcher freeze_thaw decides anew whether a trial goes on, and its
// scheduler pauses it for that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/experiment.h"

namespace tune {

/// How far trials of freeze_thaw train. The scheduler's options; its searcher goes by the same.
struct DecisionEpochs {
  std::int64_t max_t = 100;       ///< longest that a trial trains, in iterations; at least 1
  std::int64_t grace_period = 1;  ///< nothing is decided before; from 1 to `max_t`
};

/// Rising, the last is max_t: max_t / 1.5^k, rounded, from `grace_period` on, for k up to 11. So a
/// trial pauses at most 11 times, and what restarts and saves cost stays a small share of long
/// trainings.
std::vector<std::int64_t> decision_epochs(const DecisionEpochs& options);

/// The place of the first one beyond `iteration`; the last place if there is none.
std::size_t next_decision(const std::vector<std::int64_t>& epochs, std::int64_t iteration);

/// If all trials together have trained `max_total_t` iterations: that no more are trained, and what
/// helps. Else empty.
std::string spent_text(const std::optional<std::int64_t>& max_total_t,
                       const Experiment& experiment);

}  // namespace tune
