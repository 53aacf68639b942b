// The covariance of learning curves: a mean curve, what like configs share, and each curve's own.
#include <Eigen/Core>
#include <cmath>
#include <utility>

#include "tuner/math/kernel.h"

namespace tune {

namespace {

using Eigen::ArrayXd;
using Eigen::Index;

class CurveKernel : public Kernel {
 public:
  explicit CurveKernel(std::vector<bool> categorical)
      : configs_(make_matern_kernel(categorical)), dimensions_(categorical.size()) {}

  std::size_t hyperparameters() const override { return dimensions_ + 3; }

  void set(const double* values) override {
    std::vector<double> of_configs(values, values + dimensions_);
    of_configs.push_back(1);  // the variance is `shared_`, so that gradients are of one thing each
    configs_->set(of_configs.data());
    shared_ = values[dimensions_];
    own_ = values[dimensions_ + 1];
    length_ = values[dimensions_ + 2];
  }

  double variance() const override { return 1 + shared_ + own_; }

  void covariances(const double* x, const PointColumns& points, double* out) const override {
    const ArrayXd r = distances_in_time(x, points);
    const ArrayXd all = (1 + r) * (-r).exp() * alike(x, points, alike_configs(x, points));
    Eigen::Map<ArrayXd>(out, all.size()) = all;
  }

  void add_gradient(const double* x, const PointColumns& points, const double* weights,
                    double* gradient) const override {
    const Eigen::Map<const ArrayXd> weight(weights, static_cast<Index>(points.size));
    const ArrayXd r = distances_in_time(x, points);
    const ArrayXd decay = (-r).exp() * weight;
    const ArrayXd by_time = (1 + r) * decay;
    const ArrayXd by_config = alike_configs(x, points);
    const ArrayXd for_config = shared_ * by_time;
    // The last of these is by the variance, which is none of ours.
    std::vector<double> of_configs(dimensions_ + 1, 0);
    configs_->add_gradient(x, points, for_config.data(), of_configs.data());
    for (std::size_t j = 0; j < dimensions_; ++j) gradient[j] += of_configs[j];
    gradient[dimensions_] += shared_ * (by_time * by_config).sum();
    gradient[dimensions_ + 1] += own_ * (by_time * same_curve(x, points)).sum();
    gradient[dimensions_ + 2] += (r.square() * decay * alike(x, points, by_config)).sum();
  }

  void add_point_gradient(const double* x, const PointColumns& points, const double* weights,
                          double* gradient) const override {
    const Eigen::Map<const ArrayXd> weight(weights, static_cast<Index>(points.size));
    const ArrayXd r = distances_in_time(x, points);
    const ArrayXd decay = (-r).exp() * weight;
    const ArrayXd for_config = shared_ * (1 + r) * decay;
    configs_->add_point_gradient(x, points, for_config.data(), gradient);
    const double rate = std::sqrt(3.0) / length_;
    gradient[dimensions_] -= rate * rate *
                             (decay * alike(x, points, alike_configs(x, points)) *
                              (x[dimensions_] - column(points, dimensions_)))
                                 .sum();
  }

 private:
  static Eigen::Map<const ArrayXd> column(const PointColumns& points, std::size_t dimension) {
    return {points.data + dimension * points.stride, static_cast<Index>(points.size)};
  }

  /// In lengths, times the root of 3.
  ArrayXd distances_in_time(const double* x, const PointColumns& points) const {
    return std::sqrt(3.0) / length_ * (column(points, dimensions_) - x[dimensions_]).abs();
  }

  ArrayXd alike_configs(const double* x, const PointColumns& points) const {
    ArrayXd all(static_cast<Index>(points.size));
    configs_->covariances(x, points, all.data());
    return all;
  }

  ArrayXd same_curve(const double* x, const PointColumns& points) const {
    return (column(points, dimensions_ + 1) == x[dimensions_ + 1]).cast<double>();
  }

  ArrayXd alike(const double* x, const PointColumns& points, const ArrayXd& by_config) const {
    return 1 + shared_ * by_config + own_ * same_curve(x, points);
  }

  const std::unique_ptr<Kernel> configs_;  ///< with variance 1
  const std::size_t dimensions_;           ///< of a config
  double shared_ = 1, own_ = 0.1, length_ = 1;
};

}  // namespace

std::unique_ptr<Kernel> make_curve_kernel(std::vector<bool> categorical) {
  return std::make_unique<CurveKernel>(std::move(categorical));
}

}  // namespace tune
