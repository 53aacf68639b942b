// What a point promises by what models expect there: the logarithm of the expected improvement, and
// of the chance that constraints are fulfilled.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/math/gaussian_process.h"

namespace tune {

/// With constraints: Gardner et al., "Bayesian Optimization with Inequality Constraints", ICML
/// 2014, equation 4. All models outlive it.
class Acquisition {
 public:
  /// `best`: the score to improve on, larger is better; nothing: there is none yet, and only the
  /// constraints count.
  Acquisition(const GaussianProcess& scores, std::optional<double> best)
      : scores_(scores), best_(best) {}

  /// What `model` predicts is to be at least `least`.
  void require(const GaussianProcess& model, double least) { required_.push_back({model, least}); }

  /// What is to be added for a point, with its derivatives if these are asked for.
  using Added = std::function<double(const std::vector<double>&, std::vector<double>*)>;
  void add(Added added) { added_ = std::move(added); }
  double added_at(const std::vector<double>& point) const {
    return added_ ? added_(point, nullptr) : 0;
  }

  /// A point has as many numbers as the models have dimensions.
  double at(const std::vector<double>& point) const;
  /// The same, and its derivatives by the coordinates.
  double at(const std::vector<double>& point, std::vector<double>& gradient) const;
  /// Of many points, one after the other.
  std::vector<double> at_all(const std::vector<double>& points) const;

 private:
  struct Required {
    const GaussianProcess& model;
    double least;
  };
  const GaussianProcess& scores_;
  const std::optional<double> best_;
  std::vector<Required> required_;
  Added added_;
};

}  // namespace tune
