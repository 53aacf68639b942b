// Covariance functions for Gaussian processes: how alike a function's values at two points are.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace tune {

/// Points, dimension by dimension: coordinate j of point i is at `data[j * stride + i]`.
struct PointColumns {
  const double* data = nullptr;
  std::size_t size = 0;
  std::size_t stride = 0;
};

/// A stationary covariance function: of a point with itself it is the same everywhere. The
/// arguments are whole rows of a matrix, so that nothing is called once for each of its entries.
class Kernel {
 public:
  virtual ~Kernel() = default;

  /// Number of hyperparameters, all positive.
  virtual std::size_t hyperparameters() const = 0;
  /// `values`: as many as there are.
  virtual void set(const double* values) = 0;

  /// Covariance of a point with itself.
  virtual double variance() const = 0;
  /// out[i]: covariance of `x` with point i.
  virtual void covariances(const double* x, const PointColumns& points, double* out) const = 0;
  /// Adds to gradient[j] the sum over i of weights[i] times the derivative of the covariance of `x`
  /// with point i by the logarithm of hyperparameter j.
  virtual void add_gradient(const double* x, const PointColumns& points, const double* weights,
                            double* gradient) const = 0;
  /// Adds to gradient[j] the sum over i of weights[i] times the derivative of the covariance of `x`
  /// with point i by x[j].
  virtual void add_point_gradient(const double* x, const PointColumns& points,
                                  const double* weights, double* gradient) const = 0;
};

/// Matern with nu = 5/2 and a length for each dimension. Hyperparameters: the inverse squared
/// length of each dimension, then the variance. In `categorical` dimensions the difference of two
/// values that are not equal is 1.
std::unique_ptr<Kernel> make_matern_kernel(std::vector<bool> categorical);

/// For functions that change with time, which is the first coordinate (Bogunovic, Scarlett and
/// Cevher, "Time-Varying Gaussian Process Bandit Optimization", 2016, with a squared exponential):
/// v * exp(-d^2 / (2 l^2)) * (1 - e)^(|t - t'| / 2), d being the distance in all other coordinates.
/// Hyperparameters: v, l, e; e below 1.
std::unique_ptr<Kernel> make_time_varying_kernel(std::size_t dimensions);

/// For learning curves of configs (after Swersky, Snoek and Adams, "Freeze-Thaw Bayesian
/// Optimization", 2014, with a product over time in the place of their exponential decay):
/// M(t, t') * (1 + a * K(x, x') + [same curve] * s). K is the Matern kernel above with variance 1;
/// M a Matern with nu = 3/2 of the length l. So all curves have a mean curve in common, those of
/// like configs have more, and one alone the rest. Coordinates: those of the config; the logarithm
/// of the time t, as a share of the longest; the number of the curve. Hyperparameters: the inverse
/// squared lengths of the config's dimensions, then a, s and l.
std::unique_ptr<Kernel> make_curve_kernel(std::vector<bool> categorical);

}  // namespace tune
