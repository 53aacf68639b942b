// The logarithm of what normally distributed scores promise: by how much they will improve on what
// is known, for one score or several, and how likely they reach a bound.
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/math/gaussian_process.h"
#include "tuner/math/pareto.h"

namespace tune {

/// The logarithm of something that depends on how a normally distributed value lies to a bound, and
/// its derivatives by that value's mean and standard deviation.
struct LogTerm {
  double value = 0, by_mean = 0, by_deviation = 0;
};

/// Never 0.
double deviation_of(const Prediction& there);

/// The expected improvement over `best` (Ament et al., "Unexpected Improvements to Expected
/// Improvement for Bayesian Optimization", 2023). Finite however far `best` is.
LogTerm log_improvement(const Prediction& there, double best);

/// The chance of at least `least`.
LogTerm log_chance(const Prediction& there, double least);

/// Of one to three scores that do not depend on each other, the hypervolume that they are expected
/// to add to what a front dominates (Emmerich, Deutz and Klinkenberg, "Hypervolume-based Expected
/// Improvement", CEC 2011), exactly. Of one, the expected improvement. Costs as many evaluations of
/// the density as the front has points, for each score; larger scores are better.
class HypervolumeImprovement {
 public:
  HypervolumeImprovement(const std::vector<Scores>& front, const Scores& reference);

  double log_expected(const std::vector<Prediction>& there) const;
  /// With the derivatives by each score's mean and standard deviation.
  double log_expected(const std::vector<Prediction>& there, std::vector<LogTerm>& slopes) const;

 private:
  struct Range {
    std::size_t lower, upper;  ///< places in the bounds; behind the last one: there is no end
  };

  std::size_t scores_;
  std::vector<std::vector<double>> bounds_;  ///< by score, ascending
  std::vector<std::vector<Range>> ranges_;   ///< by score, each that a box has, once
  std::vector<std::size_t> boxes_;           ///< for each box a range of each score
};

}  // namespace tune
