// What the Gaussian processes of the searcher gp are made of: which trials, with which targets, and
// what is to be improved on.
#pragma once

#include <cstddef>
#include <vector>

#include "searchers/gp_dimensions.h"
#include "searchers/gp_model.h"
#include "tuner/math/pareto.h"

namespace tune {

/// Trials with a row each.
struct Observations {
  std::vector<double> points;                ///< one after the other
  std::vector<std::vector<double>> targets;  ///< by objective: standardized scores, without the
                                             ///< extent of the very bad ones
  std::vector<std::vector<double>> margins;  ///< by constraint; fulfilled from 0 on
  std::vector<std::size_t> places;           ///< in the data
  std::size_t best = 0;                      ///< a feasible one that no other dominates, if any is
  /// What is to be improved on, feasible rows: of one score the best, of several the front. Empty:
  /// none is feasible.
  std::vector<std::size_t> front;

  Scores targets_of(std::size_t row) const;
};

/// Of more than `most`, half are the best and half the newest.
Observations observations_of(const GpDimensions& dimensions, const GpData& data, std::size_t most);

/// Where, of several targets, an improvement begins to count: a little below the worst of each. Of
/// one, at the best.
Scores reference_of(const Observations& observed);

}  // namespace tune
