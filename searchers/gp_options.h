// The options of the searcher gp; docs/searchers.md explains them.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/model/constraint.h"

namespace tune {

/// How the next point is looked for.
struct GpRules {
  std::int64_t n_candidates = 1024;     ///< points that fill the space evenly
  std::int64_t n_local_searches = 10;   ///< from the best of them
  std::int64_t max_observations = 500;  ///< that are modelled; of more, the best and the newest
};

struct GpOptions {
  std::int64_t n_startup_trials = 10;  ///< trials to know before the model is asked
  GpRules rules;
  std::uint64_t seed = 0;
  std::vector<Constraint> constraints = {};  ///< those about configs alone are kept to
};

}  // namespace tune
