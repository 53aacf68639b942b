// The schedulers that ship: their options and how to make them. Knows no searcher, store or loop.
// docs/schedulers.md has their rules.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tuner/core/catalogue.h"

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

/// Adds all of them: "fifo", "asha".
void add_schedulers(Catalogue& catalogue);

}  // namespace tune
