// Matern 5/2 with a length for each dimension, mixed with a categorical part, and PB2's
// time-varying kernel.
#include "tuner/math/kernel.h"

#include <Eigen/Core>
#include <cmath>
#include <utility>

namespace tune {

namespace {

using Eigen::ArrayXd;
using Eigen::Index;

Eigen::Map<const ArrayXd> column(const PointColumns& points, std::size_t dimension) {
  return {points.data + dimension * points.stride, static_cast<Index>(points.size)};
}

class Matern : public Kernel {
 public:
  explicit Matern(std::vector<bool> categorical) : categorical_(std::move(categorical)) {}

  std::size_t hyperparameters() const override { return categorical_.size() + 1; }

  void set(const double* values) override {
    inverse_squares_.assign(values, values + categorical_.size());
    variance_ = values[categorical_.size()];
  }

  double variance() const override { return variance_; }

  void covariances(const double* x, const PointColumns& points, double* out) const override {
    const ArrayXd r = (5 * squared_distances(x, points)).sqrt();
    Eigen::Map<ArrayXd>(out, r.size()) = variance_ * (1 + r + r.square() / 3) * (-r).exp();
  }

  void add_gradient(const double* x, const PointColumns& points, const double* weights,
                    double* gradient) const override {
    const Eigen::Map<const ArrayXd> weight(weights, static_cast<Index>(points.size));
    const ArrayXd r = (5 * squared_distances(x, points)).sqrt();
    const ArrayXd decay = variance_ * (-r).exp() * weight;
    const ArrayXd by_square = decay * (1 + r);
    for (std::size_t j = 0; j < categorical_.size(); ++j) {
      gradient[j] -=
          5.0 / 6 * inverse_squares_[j] * (by_square * squared_difference(j, x, points)).sum();
    }
    gradient[categorical_.size()] += (decay * (1 + r + r.square() / 3)).sum();
  }

  void add_point_gradient(const double* x, const PointColumns& points, const double* weights,
                          double* gradient) const override {
    const Eigen::Map<const ArrayXd> weight(weights, static_cast<Index>(points.size));
    const ArrayXd r = (5 * squared_distances(x, points)).sqrt();
    const ArrayXd by_square = variance_ * (1 + r) * (-r).exp() * weight;
    for (std::size_t j = 0; j < categorical_.size(); ++j) {
      if (categorical_[j]) continue;
      gradient[j] -= 5.0 / 3 * inverse_squares_[j] * (by_square * (x[j] - column(points, j))).sum();
    }
  }

 private:
  ArrayXd squared_difference(std::size_t j, const double* x, const PointColumns& points) const {
    if (categorical_[j]) return (column(points, j) != x[j]).cast<double>();
    return (column(points, j) - x[j]).square();
  }

  ArrayXd squared_distances(const double* x, const PointColumns& points) const {
    ArrayXd sum = ArrayXd::Zero(static_cast<Index>(points.size));
    for (std::size_t j = 0; j < categorical_.size(); ++j) {
      if (categorical_[j]) {
        sum += inverse_squares_[j] * (column(points, j) != x[j]).cast<double>();
      } else {
        sum += inverse_squares_[j] * (column(points, j) - x[j]).square();
      }
    }
    return sum;
  }

  const std::vector<bool> categorical_;
  std::vector<double> inverse_squares_;
  double variance_ = 1;
};

class TimeVarying : public Kernel {
 public:
  explicit TimeVarying(std::size_t dimensions) : dimensions_(dimensions) {}

  std::size_t hyperparameters() const override { return 3; }

  void set(const double* values) override {
    variance_ = values[0];
    length_ = values[1];
    forgetting_ = values[2];
  }

  double variance() const override { return variance_; }

  void covariances(const double* x, const PointColumns& points, double* out) const override {
    const ArrayXd all = covariances_of(x, points, squared_distances(x, points));
    Eigen::Map<ArrayXd>(out, all.size()) = all;
  }

  void add_gradient(const double* x, const PointColumns& points, const double* weights,
                    double* gradient) const override {
    const Eigen::Map<const ArrayXd> weight(weights, static_cast<Index>(points.size));
    const ArrayXd squares = squared_distances(x, points);
    const ArrayXd weighted = covariances_of(x, points, squares) * weight;
    gradient[0] += weighted.sum();
    gradient[1] += (weighted * squares).sum() / (length_ * length_);
    gradient[2] -=
        (weighted * (column(points, 0) - x[0]).abs()).sum() / 2 * forgetting_ / (1 - forgetting_);
  }

  void add_point_gradient(const double* x, const PointColumns& points, const double* weights,
                          double* gradient) const override {
    const Eigen::Map<const ArrayXd> weight(weights, static_cast<Index>(points.size));
    const ArrayXd weighted = covariances_of(x, points, squared_distances(x, points)) * weight;
    gradient[0] +=
        std::log1p(-forgetting_) / 2 * (weighted * (x[0] - column(points, 0)).sign()).sum();
    for (std::size_t j = 1; j < dimensions_; ++j) {
      gradient[j] -= (weighted * (x[j] - column(points, j))).sum() / (length_ * length_);
    }
  }

 private:
  ArrayXd squared_distances(const double* x, const PointColumns& points) const {
    ArrayXd sum = ArrayXd::Zero(static_cast<Index>(points.size));
    for (std::size_t j = 1; j < dimensions_; ++j) sum += (column(points, j) - x[j]).square();
    return sum;
  }

  ArrayXd covariances_of(const double* x, const PointColumns& points,
                         const ArrayXd& squares) const {
    const double by_time = std::log1p(-forgetting_) / 2;
    return variance_ *
           (squares / (-2 * length_ * length_) + by_time * (column(points, 0) - x[0]).abs()).exp();
  }

  const std::size_t dimensions_;
  double variance_ = 1, length_ = 1, forgetting_ = 0.1;
};

}  // namespace

std::unique_ptr<Kernel> make_matern_kernel(std::vector<bool> categorical) {
  return std::make_unique<Matern>(std::move(categorical));
}

std::unique_ptr<Kernel> make_time_varying_kernel(std::size_t dimensions) {
  return std::make_unique<TimeVarying>(dimensions);
}

}  // namespace tune
