#include "searchers/gp_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <set>
#include <utility>

#include "tuner/core/gaussian_process.h"
#include "tuner/core/minimize.h"

namespace tune {

namespace {

using Point = std::vector<double>;  ///< by dimension, as the kernel wants it

/// With more values than this, steps are too small to look at one by one.
constexpr double most_steps = 30;
constexpr double least_variance = 1e-12;
constexpr int most_rounds = 4;
/// From the middle, in distances from there to the best.
constexpr double cut_off_at = 2;
/// A fit is kept for so many times its observations, beyond the first hundred.
constexpr double fit_growth = 1.1;
constexpr std::size_t always_fitted = 100;

/// Leaves as dimensions: numbers from 0 to 1 (those without bounds, a little further), and
/// categories as they are. Leaves with a single value are none.
class Dimensions {
 public:
  Dimensions(const SearchSpace& space, const std::vector<Axis>& axes) : space_(space), axes_(axes) {
    for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
      is_conditional_ = is_conditional_ || space.leaves()[leaf].conditional;
      if (!axes[leaf].is_single()) leaves_.push_back(leaf);
    }
  }

  std::size_t size() const { return leaves_.size(); }
  const Axis& axis(std::size_t j) const { return axes_[leaves_[j]]; }
  std::vector<bool> categorical() const {
    std::vector<bool> all;
    for (std::size_t j = 0; j < size(); ++j) all.push_back(axis(j).is_choice());
    return all;
  }
  double lower(std::size_t j) const { return axis(j).bounded ? 0 : -0.25; }
  double upper(std::size_t j) const { return axis(j).bounded ? 1 : 1.25; }

  /// A leaf that the config lacks is in the middle, or in a category of its own.
  Point point_of(const std::vector<double>& coordinates) const {
    Point point;
    for (std::size_t j = 0; j < size(); ++j) {
      const double coordinate = coordinates[leaves_[j]];
      const bool is_there = !std::isnan(coordinate);
      if (axis(j).is_choice()) {
        point.push_back(is_there ? coordinate : -1);
      } else {
        point.push_back(is_there ? share(j, coordinate) : 0.5);
      }
    }
    return point;
  }

  std::vector<double> coordinates_at(const Point& point) const {
    std::vector<double> coordinates;
    for (const Axis& axis : axes_) coordinates.push_back(axis.is_choice() ? 0 : axis.low);
    for (std::size_t j = 0; j < size(); ++j) {
      coordinates[leaves_[j]] = axis(j).is_choice()
                                    ? std::max(point[j], 0.0)
                                    : axis(j).low + point[j] * (axis(j).high - axis(j).low);
    }
    return coordinates;
  }

  /// As the config at the point has it; `is_there` says, by dimension, what that has at all.
  Point snapped(const Point& point, std::vector<bool>* is_there = nullptr) const {
    std::vector<double> coordinates = coordinates_at(point);
    if (is_conditional_) {
      const auto draw = [&](std::size_t leaf) {
        return leaf_value_at(space_.leaves()[leaf].domain, axes_[leaf], coordinates[leaf]);
      };
      coordinates = coordinates_of(space_, axes_, space_.assemble(0, draw));
    } else {
      for (std::size_t j = 0; j < size(); ++j) {
        double& coordinate = coordinates[leaves_[j]];
        if (axis(j).step > 0 && !axis(j).is_choice()) {
          coordinate = axis(j).coordinate_of(axis(j).value_at(coordinate));
        }
      }
    }
    if (is_there != nullptr) {
      is_there->clear();
      for (const std::size_t leaf : leaves_) is_there->push_back(!std::isnan(coordinates[leaf]));
    }
    return point_of(coordinates);
  }

  bool is_discrete() const {
    for (std::size_t j = 0; j < size(); ++j) {
      if (axis(j).step == 0 || !axis(j).bounded) return false;
    }
    return true;
  }

  /// All coordinates of a dimension with few values, else none.
  std::vector<double> values(std::size_t j) const {
    std::vector<double> all;
    const Axis& a = axis(j);
    if (a.is_choice()) {
      for (std::size_t i = 0; i < a.choices; ++i) all.push_back(static_cast<double>(i));
    } else if (a.step > 0 && a.bounded && (a.last - a.first) / a.step <= most_steps) {
      const int steps = static_cast<int>(std::round((a.last - a.first) / a.step));
      for (int i = 0; i <= steps; ++i) {
        all.push_back(share(j, a.coordinate_of(std::min(a.first + i * a.step, a.last))));
      }
    }
    return all;
  }

 private:
  double share(std::size_t j, double coordinate) const {
    const Axis& a = axis(j);
    return std::clamp((coordinate - a.low) / (a.high - a.low), lower(j), upper(j));
  }

  const SearchSpace& space_;
  const std::vector<Axis>& axes_;
  std::vector<std::size_t> leaves_;
  bool is_conditional_ = false;
};

/// exp(x^2) erfc(x) for x >= 0, which neither overflows nor vanishes.
double scaled_erfc(double x) {
  if (x < 20) return std::exp(x * x) * std::erfc(x);
  const double square = 1 / (x * x);
  return (1 - square / 2 + 0.75 * square * square) / (x * std::sqrt(std::numbers::pi));
}

/// h(z) = density(z) + z * distribution(z) of the standard normal distribution: its logarithm, and
/// the shares of its two slopes, distribution / h and density / h.
struct Improvement {
  double log_h, by_mean, by_deviation;
};
Improvement improvement_at(double z) {
  const double log_density = -z * z / 2 - std::log(2 * std::numbers::pi) / 2;
  if (z > 0) {
    const double density = std::exp(log_density);
    const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
    const double h = density + z * below;
    return {std::log(h), below / h, density / h};
  }
  // h / density, without the difference of what is almost equal.
  const double mills = std::sqrt(std::numbers::pi / 2) * scaled_erfc(-z / std::numbers::sqrt2);
  const double square = 1 / (z * z);
  const double ratio = z < -25 ? square * (1 - 3 * square + 15 * square * square) : 1 + z * mills;
  return {log_density + std::log(ratio), mills / ratio, 1 / ratio};
}

/// Logarithm of the expected improvement over the best so far (Ament et al., "Unexpected
/// Improvements to Expected Improvement for Bayesian Optimization", 2023).
double log_improvement(const Prediction& there, double best) {
  const double deviation = std::sqrt(std::max(there.variance, least_variance));
  return std::log(deviation) + improvement_at((there.mean - best) / deviation).log_h;
}

/// As Optuna's GPSampler has it: lengths of about the size of the space, some signal, little noise.
double log_prior(const std::vector<double>& values, std::vector<double>& gradient) {
  const std::size_t n = values.size() - 2;
  double density = 0;
  for (std::size_t j = 0; j < n; ++j) {
    density -= 0.1 / values[j] + 0.1 * values[j];
    gradient[j] += 0.1 / values[j] - 0.1 * values[j];
  }
  density += std::log(values[n]) - values[n];
  gradient[n] += 1 - values[n];
  density += 0.1 * std::log(values[n + 1]) - 30 * values[n + 1];
  gradient[n + 1] += 0.1 - 30 * values[n + 1];
  return density;
}

void fit_model(GaussianProcess& model, std::size_t dimensions, std::size_t observations,
               GpFit& fit) {
  const bool is_known = fit.hyperparameters.size() == dimensions + 2;
  const bool is_enough =
      static_cast<double>(observations) < fit_growth * static_cast<double>(fit.observations);
  if (is_known && observations > always_fitted && is_enough) {
    model.set(fit.hyperparameters);
    return;
  }
  GaussianProcess::FitOptions options{std::vector<double>(dimensions + 2, 1e-4),
                                      std::vector<double>(dimensions + 2, 1e4)};
  options.lower[dimensions + 1] = 1e-6;
  options.log_prior = log_prior;
  std::vector<double> start(dimensions + 2, 1);
  start.back() = 0.01;
  if (!is_known || observations <= always_fitted) {
    const auto density = [&](const std::vector<double>& values) {
      std::vector<double> unused(values.size(), 0);
      return model.log_likelihood() + log_prior(values, unused);
    };
    std::vector<double> best = model.fit(start, options);
    if (is_known) {
      const double reached = density(best);
      const std::vector<double> other = model.fit(fit.hyperparameters, options);
      if (density(other) >= reached) {
        best = other;
      } else {
        model.set(best);
      }
    }
    fit.hyperparameters = best;
  } else {
    fit.hyperparameters = model.fit(fit.hyperparameters, options);
  }
  fit.observations = observations;
}

/// What is far below the middle is only bad: one value that is a thousand times as bad as others
/// would make all others alike.
std::vector<double> cut_off(std::vector<double> scores) {
  std::vector<double> sorted;
  for (const double score : scores) {
    if (std::isfinite(score)) sorted.push_back(score);
  }
  if (sorted.empty()) return scores;
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[sorted.size() / 2];
  const double least = middle - cut_off_at * (sorted.back() - middle);
  for (double& score : scores) score = std::max(score, least);  // NaN stays
  return scores;
}

/// Of more than can be modelled, half are the best and half the newest.
std::vector<std::size_t> chosen(const std::vector<double>& scores, std::size_t most) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= most) return order;
  const auto newest = static_cast<std::ptrdiff_t>(order.size() - most / 2);
  std::stable_sort(order.begin(), order.begin() + newest,
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(most - most / 2), order.begin() + newest);
  std::sort(order.begin(), order.end());
  return order;
}

/// One search for the highest expected improvement.
class Climb {
 public:
  Climb(const Dimensions& dimensions, const GaussianProcess& model, double best)
      : dimensions_(dimensions), model_(model), best_(best) {}

  /// From `start`, which is changed to the top. Returns the height there.
  double operator()(Point& point) const {
    std::vector<bool> is_there;
    point = dimensions_.snapped(point, &is_there);
    double height = log_improvement(model_.predict(point), best_);
    for (int round = 0; round < most_rounds; ++round) {
      const double before = height;
      slide(point, is_there, height);
      bool has_changed = false;
      for (std::size_t j = 0; j < dimensions_.size(); ++j) {
        has_changed = switch_value(j, point, is_there, height) || has_changed;
      }
      if (!has_changed || height - before < 1e-6) break;
    }
    return height;
  }

 private:
  /// Along all numbers at once.
  void slide(Point& point, std::vector<bool>& is_there, double& height) const {
    std::vector<std::size_t> free;
    Point start, lower, upper;
    for (std::size_t j = 0; j < dimensions_.size(); ++j) {
      if (!is_there[j] || !dimensions_.values(j).empty()) continue;
      free.push_back(j);
      start.push_back(point[j]);
      lower.push_back(dimensions_.lower(j));
      upper.push_back(dimensions_.upper(j));
    }
    if (free.empty()) return;
    Point moved = point;
    GaussianProcess::Slopes slopes;
    const auto depth = [&](const Point& x, Point& gradient) {
      for (std::size_t i = 0; i < free.size(); ++i) moved[free[i]] = x[i];
      const Prediction there = model_.predict(moved, slopes);
      const double deviation = std::sqrt(std::max(there.variance, least_variance));
      const auto improvement = improvement_at((there.mean - best_) / deviation);
      for (std::size_t i = 0; i < free.size(); ++i) {
        const double of_deviation = slopes.variance[free[i]] / (2 * deviation);
        gradient[i] = -(improvement.by_mean * slopes.mean[free[i]] +
                        improvement.by_deviation * of_deviation) /
                      deviation;
      }
      return -(std::log(deviation) + improvement.log_h);
    };
    const Minimum found = minimize(depth, start, lower, upper, {50, 1e-4});
    for (std::size_t i = 0; i < free.size(); ++i) moved[free[i]] = found.x[i];
    take_if_higher(moved, point, is_there, height);
  }

  /// To the best value of a dimension with few of them.
  bool switch_value(std::size_t j, Point& point, std::vector<bool>& is_there,
                    double& height) const {
    if (!is_there[j]) return false;
    bool has_changed = false;
    const Point start = point;
    for (const double value : dimensions_.values(j)) {
      if (value == start[j]) continue;
      Point moved = start;
      moved[j] = value;
      has_changed = take_if_higher(moved, point, is_there, height) || has_changed;
    }
    return has_changed;
  }

  bool take_if_higher(const Point& moved, Point& point, std::vector<bool>& is_there,
                      double& height) const {
    std::vector<bool> is_there_then;
    Point snapped = dimensions_.snapped(moved, &is_there_then);
    const double then = log_improvement(model_.predict(snapped), best_);
    if (!(then > height)) return false;
    height = then;
    point = std::move(snapped);
    is_there = std::move(is_there_then);
    return true;
  }

  const Dimensions& dimensions_;
  const GaussianProcess& model_;
  const double best_;
};

}  // namespace

std::vector<double> spread_point(const std::vector<Axis>& axes, std::uint64_t i,
                                 const std::vector<double>& shift) {
  // The root of x^(d + 1) = x + 1.
  double root = 1.5;
  for (int step = 0; step < 60; ++step) {
    root = std::pow(1 + root, 1 / (static_cast<double>(axes.size()) + 1));
  }
  std::vector<double> coordinates;
  double stride = 1;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    stride /= root;
    const double place = shift[leaf] + stride * static_cast<double>(i + 1);
    const double share = place - std::floor(place);
    const Axis& axis = axes[leaf];
    coordinates.push_back(axis.is_choice()
                              ? std::min(std::floor(share * static_cast<double>(axis.choices)),
                                         static_cast<double>(axis.choices - 1))
                              : axis.low + share * (axis.high - axis.low));
  }
  return coordinates;
}

std::vector<double> next_by_gp(const SearchSpace& space, const std::vector<Axis>& axes,
                               const GpRules& rules, const GpData& data, GpFit& fit,
                               Random& random) {
  const Dimensions dimensions(space, axes);
  std::vector<double> shift;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) shift.push_back(random.uniform());
  if (dimensions.size() == 0) return spread_point(axes, 0, shift);

  const std::vector<double> all_scores = standardize(data.scores).values;
  const auto places = chosen(all_scores, static_cast<std::size_t>(rules.max_observations));
  std::vector<double> points, scores;
  std::size_t best = places.front();
  for (const std::size_t i : places) {
    const Point point = dimensions.point_of(data.points[i]);
    points.insert(points.end(), point.begin(), point.end());
    scores.push_back(data.scores[i]);
    if (all_scores[i] > all_scores[best]) best = i;
  }
  scores = standardize(cut_off(std::move(scores))).values;
  const double best_score = *std::max_element(scores.begin(), scores.end());
  GaussianProcess model(make_matern_kernel(dimensions.categorical()), dimensions.size(), points,
                        scores);
  fit_model(model, dimensions.size(), all_scores.size(), fit);
  // What is on its way is taken to come out as expected, which makes its surroundings certain.
  for (const auto& coordinates : data.pending) {
    const Point point = dimensions.point_of(coordinates);
    model.add(point, model.predict(point).mean);
  }

  std::vector<Point> candidates;
  std::vector<double> flat;
  for (std::int64_t i = 0; i < rules.n_candidates; ++i) {
    candidates.push_back(dimensions.snapped(
        dimensions.point_of(spread_point(axes, static_cast<std::uint64_t>(i), shift))));
    flat.insert(flat.end(), candidates.back().begin(), candidates.back().end());
  }
  const auto predictions = model.predict_all(flat);
  std::vector<std::pair<double, std::size_t>> ranking;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    ranking.emplace_back(-log_improvement(predictions[i], best_score), i);
  }
  std::sort(ranking.begin(), ranking.end());

  // In a discrete space, what is known already is not asked again.
  std::set<Point> known;
  if (dimensions.is_discrete()) {
    for (const auto& point : data.points) known.insert(dimensions.point_of(point));
    for (const auto& point : data.pending) known.insert(dimensions.point_of(point));
  }
  const Climb climb(dimensions, model, best_score);
  Point top;
  double height = -std::numeric_limits<double>::infinity();
  const auto take = [&](const Point& point, double at) {
    if (at > height && !known.contains(point)) {
      top = point;
      height = at;
    }
  };
  Point from_best = dimensions.point_of(data.points[best]);
  take(from_best, climb(from_best));
  const auto searches = static_cast<std::size_t>(rules.n_local_searches);
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    Point point = candidates[ranking[i].second];
    take(point, -ranking[i].first);
    if (i + 1 < searches) {
      take(point, climb(point));
    } else if (!top.empty()) {
      break;
    }
  }
  return top.empty() ? spread_point(axes, 0, shift) : dimensions.coordinates_at(top);
}

}  // namespace tune
