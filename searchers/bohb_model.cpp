// The two kernel densities of BOHB, the choice of the budget that they are fitted to, and the
// candidate with the best ratio.
#include "searchers/bohb_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "searchers/normal.h"
#include "tuner/base/error.h"

namespace tune {

namespace {

using Point = std::vector<double>;
using Points = std::vector<Point>;

std::size_t least_points(std::size_t axes, const BohbRules& rules) {
  const auto wanted = static_cast<std::size_t>(rules.min_points.value_or(0));
  return std::max(wanted, axes + 1);
}

std::size_t numbers_in(const BohbData& data) {
  return static_cast<std::size_t>(std::count_if(data.scores.begin(), data.scores.end(),
                                                [](double score) { return !std::isnan(score); }));
}

std::size_t index_below(std::size_t n, const std::function<double()>& uniform) {
  return std::min(static_cast<std::size_t>(uniform() * static_cast<double>(n)), n - 1);
}

/// Gives what a config lacks values: those of another config that has the first of them, since they
/// belong together, or any.
void fill_gaps(const std::vector<Axis>& axes, Points& points,
               const std::function<double()>& uniform) {
  const Points given = points;
  for (Point& point : points) {
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (!std::isnan(point[k])) continue;
      std::vector<const Point*> others;
      for (const Point& other : given) {
        if (!std::isnan(other[k])) others.push_back(&other);
      }
      if (!others.empty()) {
        const Point& other = *others[index_below(others.size(), uniform)];
        for (std::size_t j = k; j < axes.size(); ++j) {
          if (std::isnan(point[j])) point[j] = other[j];
        }
      } else if (axes[k].is_choice()) {
        point[k] = static_cast<double>(index_below(axes[k].choices, uniform));
      } else {
        point[k] = uniform();
      }
    }
  }
}

/// A product of kernels around each point: Gaussian ones, and for choices those of Aitchison and
/// Aitken.
class Density {
 public:
  Density(const std::vector<Axis>& axes, Points points, double min_bandwidth)
      : axes_(axes), points_(std::move(points)) {
    const auto n = static_cast<double>(points_.size());
    const double scale = 1.06 * std::pow(n, -1 / (4 + static_cast<double>(axes.size())));
    for (std::size_t k = 0; k < axes.size(); ++k) {
      double mean = 0, square = 0;
      for (const Point& point : points_) mean += point[k] / n;
      for (const Point& point : points_) square += (point[k] - mean) * (point[k] - mean) / n;
      double bandwidth = std::max(scale * std::sqrt(square), min_bandwidth);
      // Beyond that a value would be less likely where it was seen than where it was not.
      const auto choices = static_cast<double>(axes[k].choices);
      if (axes[k].is_choice()) bandwidth = std::min(bandwidth, (choices - 1) / choices);
      bandwidths_.push_back(bandwidth);
    }
  }

  /// Of the point; a logarithm. Without the factors that are the same for all points.
  double log_at(const Point& x) const {
    std::vector<double> exponents;
    exponents.reserve(points_.size());
    for (const Point& point : points_) {
      double exponent = 0;
      for (std::size_t k = 0; k < axes_.size(); ++k) exponent += log_kernel(k, x[k], point[k]);
      exponents.push_back(exponent);
    }
    const double most = *std::max_element(exponents.begin(), exponents.end());
    double sum = 0;
    for (const double exponent : exponents) sum += std::exp(exponent - most);
    double constant = -std::log(static_cast<double>(points_.size()));
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      if (!axes_[k].is_choice()) constant -= std::log(bandwidths_[k]);
    }
    return most + std::log(sum) + constant;
  }

  /// Near one of its points, by kernels that are wider by `factor`.
  Point draw(double factor, const std::function<double()>& uniform) const {
    Point x = points_[index_below(points_.size(), uniform)];
    for (std::size_t k = 0; k < axes_.size(); ++k) {
      if (axes_[k].is_choice()) {
        if (uniform() >= 1 - bandwidths_[k]) {
          x[k] = static_cast<double>(index_below(axes_[k].choices, uniform));
        }
        continue;
      }
      const double width = factor * bandwidths_[k];
      const double z = truncated_normal_quantile(uniform(), -x[k] / width, (1 - x[k]) / width);
      x[k] = std::clamp(x[k] + width * z, 0.0, 1.0);
    }
    return x;
  }

 private:
  double log_kernel(std::size_t k, double x, double at) const {
    const double h = bandwidths_[k];
    if (!axes_[k].is_choice()) return -0.5 * ((x - at) / h) * ((x - at) / h);
    return x == at ? std::log1p(-h) : std::log(h / static_cast<double>(axes_[k].choices - 1));
  }

  const std::vector<Axis>& axes_;
  Points points_;
  std::vector<double> bandwidths_;
};

}  // namespace

bool has_enough_good(const BohbData& data, std::size_t axes, const BohbRules& rules) {
  return numbers_in(data) >= least_points(axes, rules);
}

bool is_enough(const BohbData& data, std::size_t axes, const BohbRules& rules) {
  return data.points.size() >= least_points(axes, rules) + axes + 1;
}

std::vector<double> next_by_bohb(const std::vector<Axis>& axes, const BohbData& data,
                                 const BohbRules& rules, const std::function<double()>& uniform) {
  const std::size_t numbers = numbers_in(data);
  ensure(is_enough(data, axes.size(), rules) && numbers > 0, "there are configs for a model");
  const std::size_t n = data.points.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto rank = [&](std::size_t i) {
    constexpr double worst = -std::numeric_limits<double>::infinity();
    if (std::isnan(data.scores[i])) return std::tuple(false, worst, worst);
    const double violation = data.violations.empty() ? 0 : data.violations[i];
    return std::tuple(true, -violation, violation > 0 ? 0 : data.scores[i]);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(a) > rank(b); });
  const std::size_t least = least_points(axes.size(), rules);
  const auto top = static_cast<std::size_t>(rules.top_n_percent);
  const std::size_t n_good = std::min(std::max(least, top * n / 100), numbers);
  const std::size_t n_other = std::max(least, (100 - top) * n / 100);
  Points good, other;
  for (std::size_t i = 0; i < n && i < n_good + n_other; ++i) {
    (i < n_good ? good : other).push_back(data.points[order[i]]);
  }
  fill_gaps(axes, good, uniform);
  fill_gaps(axes, other, uniform);
  const Density dense(axes, std::move(good), rules.min_bandwidth);
  const Density sparse(axes, std::move(other), rules.min_bandwidth);
  Point best;
  double best_gain = -std::numeric_limits<double>::infinity();
  // No density counts as less than 1e-32, so that far from all points nothing is infinitely good.
  const double floor = std::log(1e-32);
  for (std::int64_t i = 0; i < rules.num_samples; ++i) {
    Point x = dense.draw(rules.bandwidth_factor, uniform);
    const double gain = std::max(dense.log_at(x), floor) - std::max(sparse.log_at(x), floor);
    if (gain > best_gain) {
      best_gain = gain;
      best = std::move(x);
    }
  }
  return best;
}

double to_unit(const Axis& axis, double coordinate) {
  if (axis.is_choice() || std::isnan(coordinate)) return coordinate;
  // Without bounds, `low` and `high` are two standard deviations from the mean.
  const double place = (coordinate - axis.low) / (axis.high - axis.low);
  return axis.bounded ? std::clamp(place, 0.0, 1.0) : normal_cdf(4 * (place - 0.5));
}

double from_unit(const Axis& axis, double unit) {
  if (axis.is_choice() || std::isnan(unit)) return unit;
  if (axis.bounded) return axis.low + unit * (axis.high - axis.low);
  constexpr double edge = 1e-9;  // else the far ends would be infinitely far
  const double z = normal_quantile(std::clamp(unit, edge, 1 - edge));
  return axis.low + (z / 4 + 0.5) * (axis.high - axis.low);
}

}  // namespace tune
