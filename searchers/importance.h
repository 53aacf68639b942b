// Which hyperparameters decide whether a trial is among the best: PED-ANOVA (Watanabe, Bansal and
// Hutter, "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in Arbitrary Subspaces",
// IJCAI 2023), with the rule for hyperparameters that not every config has of Baba, Ozaki and
// Watanabe, "Conditional PED-ANOVA", 2026. Numbers are those of Optuna 5.0's evaluator.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "searchers/coordinates.h"
#include "tuner/space/search_space.h"

namespace tune {

struct Importance {
  std::string pointer;     ///< of the hyperparameter in a config
  double share = 0;        ///< of the sum of all variances; 0 if that is 0
  double variance = 0;     ///< how much of being among the best it alone explains
  std::size_t trials = 0;  ///< that have it
};

/// For each trial whether it is among the best `part` of them, at least one; those that are as good
/// as the last of these are too. Larger scores are better; none is NaN, and there is at least one.
std::vector<bool> best_part(const std::vector<double>& scores, double part);

/// The most important first. `points`: coordinates by leaf (coordinates_of), a row for each trial;
/// `is_best`: for each of these. `space` has no grid. Leaves with one place in the config (in two
/// values of a choice) are one hyperparameter.
std::vector<Importance> importances(const SearchSpace& space,
                                    const std::vector<std::vector<double>>& points,
                                    const std::vector<bool>& is_best);

}  // namespace tune
