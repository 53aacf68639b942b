// Closed forms in logarithms, without differences of what is almost equal, and the hypervolume as a
// sum over boxes of products over scores.
#include "searchers/improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <utility>

namespace tune {

namespace {

constexpr double least_variance = 1e-12;

/// exp(x^2) erfc(x) for x >= 0, which neither overflows nor vanishes.
double scaled_erfc(double x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  const double square = 1 / (x * x);
  return (1 - square / 2 + 0.75 * square * square) / (x * std::sqrt(std::numbers::pi));
}

double log_density(double z) { return -z * z / 2 - std::log(2 * std::numbers::pi) / 2; }

/// How much of the range from `low` to `high` the value is expected to cover: the improvement over
/// `low` without that over `high`.
LogTerm covered(const Prediction& there, double low, const LogTerm& over_low, double high,
                const LogTerm& over_high) {
  // Less is not told from what rounding does to the difference; the chance hardly changes there.
  constexpr double least_share = 1e-6;
  const double share = -std::expm1(over_high.value - over_low.value);
  if (!(share > least_share)) {
    LogTerm thin = log_chance(there, low + (high - low) / 2);
    thin.value += std::log(high - low);
    return thin;
  }
  const double rest = 1 - share;
  return {over_low.value + std::log(share), (over_low.by_mean - rest * over_high.by_mean) / share,
          (over_low.by_deviation - rest * over_high.by_deviation) / share};
}

}  // namespace

double deviation_of(const Prediction& there) {
  return std::sqrt(std::max(there.variance, least_variance));
}

// deviation * h(z), with h(z) = density(z) + z * distribution(z) of the standard normal
// distribution.
LogTerm log_improvement(const Prediction& there, double best) {
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
  const double series = 1 - 3 * square * (1 - 5 * square * (1 - 7 * square * (1 - 9 * square)));
  const double ratio = z < -25 ? square * series : 1 + z * mills;
  return {log_deviation + log_density(z) + std::log(ratio), mills / ratio / deviation,
          1 / ratio / deviation};
}

LogTerm log_chance(const Prediction& there, double least) {
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

HypervolumeImprovement::HypervolumeImprovement(const std::vector<Scores>& front,
                                               const Scores& reference)
    : scores_(reference.size()), bounds_(scores_), ranges_(scores_) {
  const std::vector<Box> boxes = undominated_boxes(front, reference);
  std::vector<std::map<std::pair<double, double>, std::size_t>> places(scores_);
  for (std::size_t j = 0; j < scores_; ++j) {
    std::vector<double>& bounds = bounds_[j];
    for (const Box& box : boxes) {
      bounds.push_back(box.lower[j]);
      if (std::isfinite(box.upper[j])) bounds.push_back(box.upper[j]);
      places[j].try_emplace({box.lower[j], box.upper[j]}, 0);
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    const auto place_of = [&](double bound) {
      const auto found = std::lower_bound(bounds.begin(), bounds.end(), bound);
      return static_cast<std::size_t>(found - bounds.begin());
    };
    for (auto& [range, place] : places[j]) {
      place = ranges_[j].size();
      ranges_[j].push_back({place_of(range.first), place_of(range.second)});
    }
  }
  for (const Box& box : boxes) {
    for (std::size_t j = 0; j < scores_; ++j) {
      boxes_.push_back(places[j].at({box.lower[j], box.upper[j]}));
    }
  }
}

double HypervolumeImprovement::log_expected(const std::vector<Prediction>& there) const {
  std::vector<LogTerm> unused;
  return log_expected(there, unused);
}

double HypervolumeImprovement::log_expected(const std::vector<Prediction>& there,
                                            std::vector<LogTerm>& slopes) const {
  std::vector<std::vector<LogTerm>> terms(scores_);  // by score and range
  for (std::size_t j = 0; j < scores_; ++j) {
    const std::vector<double>& bounds = bounds_[j];
    std::vector<LogTerm> over;
    over.reserve(bounds.size());
    for (const double bound : bounds) over.push_back(log_improvement(there[j], bound));
    terms[j].reserve(ranges_[j].size());
    for (const auto& [low, high] : ranges_[j]) {
      terms[j].push_back(high == bounds.size()
                             ? over[low]
                             : covered(there[j], bounds[low], over[low], bounds[high], over[high]));
    }
  }
  std::vector<double> volumes;
  volumes.reserve(boxes_.size() / scores_);
  for (std::size_t i = 0; i < boxes_.size();) {
    double volume = 0;
    for (std::size_t j = 0; j < scores_; ++j, ++i) volume += terms[j][boxes_[i]].value;
    volumes.push_back(volume);
  }
  const double largest = *std::max_element(volumes.begin(), volumes.end());
  slopes.assign(scores_, {});
  double sum = 0;
  for (std::size_t box = 0; box < volumes.size(); ++box) {
    const double weight = std::exp(volumes[box] - largest);
    sum += weight;
    for (std::size_t j = 0; j < scores_; ++j) {
      const LogTerm& term = terms[j][boxes_[box * scores_ + j]];
      slopes[j].by_mean += weight * term.by_mean;
      slopes[j].by_deviation += weight * term.by_deviation;
    }
  }
  for (LogTerm& slope : slopes) {
    slope.by_mean /= sum;
    slope.by_deviation /= sum;
    slope.value = largest + std::log(sum);
  }
  return largest + std::log(sum);
}

}  // namespace tune
