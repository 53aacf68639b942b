// How likely trials fail around a point, for searchers whose model is of the scores alone.
#pragma once

#include <vector>

#include "searchers/coordinates.h"

namespace tune {

/// What has become of a trial.
struct TrialOutcome {
  const std::vector<double>* point = nullptr;  ///< coordinates by leaf
  bool has_failed = false;
};

/// Of the five trials nearest to `point`: the share that has failed; 0 if there are none.
double share_of_failures_near(const std::vector<double>& point, const std::vector<Axis>& axes,
                              const std::vector<TrialOutcome>& outcomes);

}  // namespace tune
