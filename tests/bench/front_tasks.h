// What searchers are compared on where there are several metrics: functions whose Pareto front is
// known. Knows no searcher.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/math/pareto.h"
#include "tuner/space/search_space.h"

namespace tune::bench {

/// By parameter, in the order of their names; choices are indices.
using FrontValues = std::vector<double>;

struct FrontOutcome {
  Scores losses;                    ///< the smaller the better
  std::vector<double> constraints;  ///< fulfilled up to 0
};

struct FrontTask {
  std::string name;
  /// A param space, so plain that the peer's side can read it: domains "uniform", "loguniform",
  /// "randint", "lograndint", and "choice" of numbers from 0.
  Json space;
  std::function<FrontOutcome(const FrontValues&)> outcome;
  Scores reference;  ///< nobody gains by what is worse than this
  double most = 0;   ///< the hypervolume of the front
  std::size_t constraints = 0;

  FrontValues values_of(const Json& config) const;
  /// Of those that meet all constraints, as a part of `most`.
  double covered(const std::vector<FrontOutcome>& outcomes) const;
};

std::vector<FrontTask> front_tasks();

}  // namespace tune::bench
