// The heart of the covariance matrix adaptation evolution strategy: a normal distribution that
// moves to where the best of its points were, and takes the shape of the steps that led there
// (Hansen, "The CMA Evolution Strategy: A Tutorial", arXiv 1604.00772v2; equations are its).
#pragma once

#include <cstddef>
#include <vector>

#include "tuner/math/random.h"

namespace tune {

class CmaDistribution {
 public:
  struct Member {
    std::vector<double> point;
    bool is_own = true;  ///< drawn since the last update; else it is from elsewhere
  };

  /// Around `mean`, with `sigma`^2 times `covariance`, row by row (empty: the unit matrix).
  /// `population` >= 2 is what `update` will be given.
  CmaDistribution(std::vector<double> mean, double sigma, std::size_t population,
                  std::vector<double> covariance = {});

  std::vector<double> draw(Random& random) const;

  /// Learns from a generation, the best first. What is from elsewhere does not lead farther than
  /// points of its own (Hansen, "Injecting External Solutions Into CMA-ES", 2011).
  void update(const std::vector<Member>& ranked);

  std::size_t population() const { return population_; }
  const std::vector<double>& mean() const { return mean_; }
  void set_mean(std::size_t i, double value) { mean_[i] = value; }
  double sigma() const { return sigma_; }
  /// Along an axis.
  double deviation(std::size_t i) const;
  /// Whether it has become too narrow, wide or flat to go on: no axis is wider than `least`, or
  /// rounding errors are about to win.
  bool is_spent(double least) const;

  Json save() const;
  /// Throws what load_state (tuner/policy/policy_state.h) takes for a state that is not its own.
  static CmaDistribution load(const Json& state);

 private:
  void decompose();

  std::size_t population_;
  std::vector<double> mean_;
  double sigma_;
  std::vector<double> covariance_;
  std::vector<double> sigma_path_, covariance_path_;
  std::size_t updates_ = 0;
  // Of the covariance: its eigenvectors, column by column, and the roots of its eigenvalues.
  std::vector<double> basis_, scales_;
};

}  // namespace tune
