// Log expected improvement (LogEI) and the log probability of feasibility, with analytic gradients
// that stay finite far from the best.
#include "searchers/acquisition.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tune {

namespace {

constexpr double least_variance = 1e-12;

/// exp(x^2) erfc(x) for x >= 0, which neither overflows nor vanishes.
double scaled_erfc(double x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  const double square = 1 / (x * x);
  return (1 - square / 2 + 0.75 * square * square) / (x * std::sqrt(std::numbers::pi));
}

/// The logarithm of something that depends on how a normally distributed value lies to a bound, and
/// its derivatives by that value's mean and standard deviation.
struct Term {
  double value, by_mean, by_deviation;
};

double log_density(double z) { return -z * z / 2 - std::log(2 * std::numbers::pi) / 2; }

double deviation_of(const Prediction& there) {
  return std::sqrt(std::max(there.variance, least_variance));
}

/// deviation * h(z), with h(z) = density(z) + z * distribution(z) of the standard normal
/// distribution: the expected improvement (Ament et al., "Unexpected Improvements to Expected
/// Improvement for Bayesian Optimization", 2023).
Term improvement(const Prediction& there, double best) {
  const double deviation = deviation_of(there);
  const double z = (there.mean - best) / deviation;
  const double log_deviation = std::log(deviation);
  if (z > 0) {
    const double density = std::exp(log_density(z));
    const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
    const double h = density + z * below;
    return {log_deviation + std::log(h), below / h / deviation, density / h / deviation};
  }
  // h / density, without the difference of what is almost equal.
  const double mills = std::sqrt(std::numbers::pi / 2) * scaled_erfc(-z / std::numbers::sqrt2);
  const double square = 1 / (z * z);
  const double ratio = z < -25 ? square * (1 - 3 * square + 15 * square * square) : 1 + z * mills;
  return {log_deviation + log_density(z) + std::log(ratio), mills / ratio / deviation,
          1 / ratio / deviation};
}

/// The chance of at least `least`.
Term chance(const Prediction& there, double least) {
  const double deviation = deviation_of(there);
  const double z = (there.mean - least) / deviation;
  double log_below, hazard;  // of the standard normal distribution, and density / distribution
  if (z > 0) {
    const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
    log_below = std::log(below);
    hazard = std::exp(log_density(z)) / below;
  } else {
    const double mills = std::sqrt(std::numbers::pi / 2) * scaled_erfc(-z / std::numbers::sqrt2);
    log_below = log_density(z) + std::log(mills);
    hazard = 1 / mills;
  }
  return {log_below, hazard / deviation, -z * hazard / deviation};
}

}  // namespace

double Acquisition::at(const std::vector<double>& point) const {
  double sum = best_ ? improvement(scores_.predict(point), *best_).value : 0;
  for (const auto& [model, least] : required_) sum += chance(model.predict(point), least).value;
  return sum + added_at(point);
}

double Acquisition::at(const std::vector<double>& point, std::vector<double>& gradient) const {
  gradient.assign(point.size(), 0);
  double sum = 0;
  const auto add = [&](const GaussianProcess& model, double bound, auto term_of) {
    GaussianProcess::Slopes slopes;
    const Prediction there = model.predict(point, slopes);
    const Term term = term_of(there, bound);
    const double by_variance = term.by_deviation / (2 * deviation_of(there));
    for (std::size_t j = 0; j < point.size(); ++j) {
      gradient[j] += term.by_mean * slopes.mean[j] + by_variance * slopes.variance[j];
    }
    sum += term.value;
  };
  if (best_) add(scores_, *best_, improvement);
  for (const auto& [model, least] : required_) add(model, least, chance);
  if (added_) sum += added_(point, &gradient);
  return sum;
}

std::vector<double> Acquisition::at_all(const std::vector<double>& points) const {
  const auto predictions = scores_.predict_all(points);
  std::vector<double> all(predictions.size(), 0);
  for (std::size_t i = 0; best_ && i < all.size(); ++i) {
    all[i] = improvement(predictions[i], *best_).value;
  }
  for (const auto& [model, least] : required_) {
    const auto required = model.predict_all(points);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += chance(required[i], least).value;
  }
  const std::size_t width = all.empty() ? 0 : points.size() / all.size();
  for (std::size_t i = 0; added_ && i < all.size(); ++i) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i * width);
    all[i] += added_({first, first + static_cast<std::ptrdiff_t>(width)}, nullptr);
  }
  return all;
}

}  // namespace tune
