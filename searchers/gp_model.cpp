// Fits the GP, maximises the acquisition function by gradient and coordinate search from many
// starts, and treats running trials as if they came out as predicted (kriging believer).
#include "searchers/gp_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "searchers/acquisition.h"
#include "searchers/gp_dimensions.h"
#include "tuner/math/gaussian_process.h"
#include "tuner/math/minimize.h"
#include "tuner/model/constraint.h"

namespace tune {

namespace {

using Point = GpDimensions::Point;

constexpr int most_rounds = 4;
/// From the middle, in distances from there to the best.
constexpr double cut_off_at = 2;
/// Of the scores' standard deviation: an improvement of less is not worth every trial.
constexpr double worthwhile = 0.01;
/// Lengths are halved so often at most.
constexpr int most_halvings = 3;
/// The logarithm of what priors say counts this many times, divided by the number of trials.
constexpr double prior_strength = 10;
/// A fit is kept for so many times its observations, beyond the first hundred.
constexpr double fit_growth = 1.1;
constexpr std::size_t always_fitted = 100;

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

/// One search for the most promising point.
class Climb {
 public:
  /// Only to what `is_allowed`; all outlive it.
  Climb(const GpDimensions& dimensions, const Acquisition& acquisition, const IsAllowed& is_allowed)
      : dimensions_(dimensions), acquisition_(acquisition), is_allowed_(is_allowed) {}

  /// From `start`, which is changed to the top. Returns the height there.
  double operator()(Point& point) const {
    std::vector<bool> is_there;
    point = dimensions_.snapped(point, &is_there);
    double height = acquisition_.at(point);
    for (int round = 0; round < most_rounds; ++round) {
      const double before = height;
      slide(point, is_there, height);
      if (is_allowed_) step_along(point, is_there, height);
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
    std::vector<double> slopes;
    const auto depth = [&](const Point& x, Point& gradient) {
      for (std::size_t i = 0; i < free.size(); ++i) moved[free[i]] = x[i];
      const double there = acquisition_.at(moved, slopes);
      for (std::size_t i = 0; i < free.size(); ++i) gradient[i] = -slopes[free[i]];
      return -there;
    };
    const Minimum found = minimize(depth, start, lower, upper, {50, 1e-4});
    for (std::size_t i = 0; i < free.size(); ++i) moved[free[i]] = found.x[i];
    take_if_higher(is_allowed(moved) ? moved : last_allowed(point, moved), point, is_there, height);
  }

  /// Up to where constraints end the way from `point`, which is allowed, to `moved`.
  Point last_allowed(const Point& point, const Point& moved) const {
    constexpr int halvings = 12;
    Point last = point;
    double reached = 0, step = 0.5;
    for (int i = 0; i < halvings; ++i, step /= 2) {
      Point tried = point;
      for (std::size_t j = 0; j < tried.size(); ++j) {
        tried[j] += (reached + step) * (moved[j] - point[j]);
      }
      if (!is_allowed(tried)) continue;
      reached += step;
      last = std::move(tried);
    }
    return last;
  }

  /// Along one number after the other: what a constraint on some of them ends, others may go on.
  void step_along(Point& point, std::vector<bool>& is_there, double& height) const {
    for (double step = 0.1; step > 1e-3; step /= 2) {
      for (std::size_t j = 0; j < dimensions_.size(); ++j) {
        if (!is_there[j] || !dimensions_.values(j).empty()) continue;
        for (const double by : {step, -step}) {
          Point moved = point;
          moved[j] = std::clamp(moved[j] + by, dimensions_.lower(j), dimensions_.upper(j));
          if (take_if_higher(moved, point, is_there, height)) break;
        }
      }
    }
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
    const double then = acquisition_.at(snapped);
    if (!(then > height) || !is_allowed(snapped)) return false;
    height = then;
    point = std::move(snapped);
    is_there = std::move(is_there_then);
    return true;
  }

  bool is_allowed(const Point& point) const {
    return !is_allowed_ || is_allowed_(dimensions_.coordinates_at(point));
  }

  const GpDimensions& dimensions_;
  const Acquisition& acquisition_;
  const IsAllowed& is_allowed_;
};

/// What the model is made of, point by point.
struct Observations {
  std::vector<double> points, scores;
  std::vector<std::vector<double>> margins;  ///< by constraint; fulfilled from 0 on
  std::vector<std::size_t> places;           ///< in the data
  std::size_t best = 0;                      ///< the feasible one with the highest score, if any is
};

bool is_feasible(const GpData& data, std::size_t i) {
  return std::all_of(
      data.constraints.begin(), data.constraints.end(),
      [i](const std::vector<double>& values) { return violation({values[i]}) == 0; });
}

Observations observations_of(const GpDimensions& dimensions, const GpData& data, std::size_t most) {
  std::vector<double> order = standardize(data.scores).values;
  const double range =
      *std::max_element(order.begin(), order.end()) - *std::min_element(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (!is_feasible(data, i)) order[i] -= range + 1;  // behind all that are
  }
  Observations observed;
  observed.places = chosen(order, most);
  observed.margins.resize(data.constraints.size());
  for (std::size_t row = 0; row < observed.places.size(); ++row) {
    const std::size_t i = observed.places[row];
    const Point point = dimensions.point_of(data.points[i]);
    observed.points.insert(observed.points.end(), point.begin(), point.end());
    observed.scores.push_back(data.scores[i]);
    for (std::size_t k = 0; k < data.constraints.size(); ++k) {
      observed.margins[k].push_back(-data.constraints[k][i]);
    }
    if (order[i] > order[observed.places[observed.best]]) observed.best = row;
  }
  return observed;
}

/// Where to look for the most promising point.
struct Candidates {
  std::vector<Point> points;   ///< all over the space
  std::vector<double> flat;    ///< the same, one after the other
  Point best;                  ///< so far
  std::set<Point> known;       ///< in a discrete space, not to be asked again
  std::vector<Point> pending;  ///< in others, not to be asked beside

  bool may_be_taken(const Point& point) const {
    constexpr double beside = 0.025;  // of the ranges
    const auto is_beside = [&](const Point& other) {
      double square = 0;
      for (std::size_t j = 0; j < point.size(); ++j) {
        square += (point[j] - other[j]) * (point[j] - other[j]);
      }
      return square < beside * beside;
    };
    return !known.contains(point) && std::none_of(pending.begin(), pending.end(), is_beside);
  }
};

Candidates candidates_of(const GpDimensions& dimensions, const SpreadPoints& spread,
                         const GpRules& rules, const GpData& data, std::size_t best,
                         const IsAllowed& is_allowed) {
  constexpr std::int64_t most_looks = 10;  // at points for each that is wanted
  Candidates candidates;
  for (std::int64_t i = 0; i < rules.n_candidates * (is_allowed ? most_looks : 1); ++i) {
    if (std::ssize(candidates.points) == rules.n_candidates) break;
    const auto coordinates = spread(static_cast<std::uint64_t>(i));
    Point point = dimensions.snapped(dimensions.point_of(coordinates));
    if (is_allowed && !is_allowed(dimensions.coordinates_at(point))) continue;
    candidates.flat.insert(candidates.flat.end(), point.begin(), point.end());
    candidates.points.push_back(std::move(point));
  }
  candidates.best = dimensions.point_of(data.points[best]);
  if (dimensions.is_discrete()) {
    for (const auto& point : data.points) candidates.known.insert(dimensions.point_of(point));
    for (const auto& point : data.pending) candidates.known.insert(dimensions.point_of(point));
  } else {
    for (const auto& point : data.pending) {
      candidates.pending.push_back(dimensions.point_of(point));
    }
  }
  return candidates;
}

/// The most promising point, and how much it promises; none if all are known already.
struct Found {
  Point point;
  double height = -std::numeric_limits<double>::infinity();
};

Found most_promising(const GpDimensions& dimensions, const Candidates& candidates,
                     const Acquisition& acquisition, std::size_t searches,
                     const IsAllowed& is_allowed) {
  const auto heights = acquisition.at_all(candidates.flat);
  std::vector<std::pair<double, std::size_t>> ranking;
  for (std::size_t i = 0; i < heights.size(); ++i) ranking.emplace_back(-heights[i], i);
  std::sort(ranking.begin(), ranking.end());

  const Climb climb(dimensions, acquisition, is_allowed);
  Found top;
  const auto take = [&](const Point& point, double height) {
    if (height > top.height && candidates.may_be_taken(point)) top = {point, height};
  };
  Point from_best = candidates.best;
  const double height = climb(from_best);
  take(from_best, height);
  for (std::size_t i = 0; i < ranking.size(); ++i) {
    Point point = candidates.points[ranking[i].second];
    take(point, -ranking[i].first);
    if (i + 1 < searches) {
      const double reached = climb(point);
      take(point, reached);
    } else if (!top.point.empty()) {
      break;
    }
  }
  return top;
}

}  // namespace

SpreadPoints::SpreadPoints(const std::vector<Axis>& axes, std::vector<double> shift)
    : axes_(axes), shift_(std::move(shift)) {
  // The root of x^(d + 1) = x + 1.
  double root = 1.5;
  for (int step = 0; step < 60; ++step) {
    root = std::pow(1 + root, 1 / (static_cast<double>(axes.size()) + 1));
  }
  double stride = 1;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) strides_.push_back(stride /= root);
}

std::vector<double> SpreadPoints::operator()(std::uint64_t i) const {
  return coordinates_at(axes_, shares(i));
}

std::vector<double> SpreadPoints::shares(std::uint64_t i) const {
  std::vector<double> shares;
  for (std::size_t leaf = 0; leaf < axes_.size(); ++leaf) {
    const double place = shift_[leaf] + strides_[leaf] * static_cast<double>(i + 1);
    shares.push_back(place - std::floor(place));
  }
  return shares;
}

std::vector<double> coordinates_at(const std::vector<Axis>& axes,
                                   const std::vector<double>& shares) {
  std::vector<double> coordinates;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    const Axis& axis = axes[leaf];
    coordinates.push_back(
        axis.is_choice() ? std::min(std::floor(shares[leaf] * static_cast<double>(axis.choices)),
                                    static_cast<double>(axis.choices - 1))
                         : axis.low + shares[leaf] * (axis.high - axis.low));
  }
  return coordinates;
}

std::vector<double> next_by_gp(const SearchSpace& space, const std::vector<Axis>& axes,
                               const GpRules& rules, const GpData& data, GpFits& fits,
                               Random& random, const IsAllowed& is_allowed, const Priors* priors) {
  const GpDimensions dimensions(space, axes);
  std::vector<double> shift;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) shift.push_back(random.uniform());
  const SpreadPoints spread(axes, std::move(shift));
  if (dimensions.size() == 0) return spread(0);

  const auto observed =
      observations_of(dimensions, data, static_cast<std::size_t>(rules.max_observations));
  const auto model_of = [&](const std::vector<double>& targets, GpFit& fit) {
    GaussianProcess model(make_matern_kernel(dimensions.categorical()), dimensions.size(),
                          observed.points, targets);
    fit_model(model, dimensions.size(), data.points.size(), fit);
    // What is on its way is taken to come out as expected, which makes its surroundings certain.
    for (const auto& coordinates : data.pending) {
      model.believe(dimensions.point_of(coordinates));
    }
    return model;
  };
  const auto scores = standardize(cut_off(observed.scores)).values;
  const std::size_t best = observed.places[observed.best];
  GaussianProcess model = model_of(scores, fits.scores);
  const bool has_best = is_feasible(data, best);
  double incumbent = scores[observed.best];
  // What is believed to be better than the best is to be improved on as well, or the same point
  // would promise most again. Not where it may be infeasible.
  for (const auto& coordinates : data.pending) {
    if (!data.constraints.empty()) break;
    incumbent = std::max(incumbent, model.predict(dimensions.point_of(coordinates)).mean);
  }
  Acquisition acquisition(model, has_best ? std::optional(incumbent) : std::nullopt);
  std::vector<GaussianProcess> margins;
  margins.reserve(observed.margins.size());
  fits.constraints.resize(observed.margins.size());
  for (std::size_t k = 0; k < observed.margins.size(); ++k) {
    const Standardized margin = standardize(observed.margins[k]);
    margins.push_back(model_of(margin.values, fits.constraints[k]));
    acquisition.require(margins.back(), -margin.mean / margin.deviation);
  }

  if (priors != nullptr && priors->any()) {
    // piBO: Hvarfner et al., "Augmenting Acquisition Functions with User Beliefs for Bayesian
    // Optimization", ICLR 2022.
    const double weight =
        prior_strength / static_cast<double>(data.points.size() + data.pending.size());
    acquisition.add([&dimensions, priors, weight](const Point& point, Point* gradient) {
      return dimensions.log_believed(*priors, point, weight, gradient);
    });
  }

  const auto candidates = candidates_of(dimensions, spread, rules, data, best, is_allowed);
  const auto look = [&] {
    return most_promising(dimensions, candidates, acquisition,
                          static_cast<std::size_t>(rules.n_local_searches), is_allowed);
  };
  Found found = look();
  // Where no improvement is expected any more, every other trial doubts the model: with shorter
  // lengths less is certain between what is known (Berkenkamp, Schoellig and Krause, "No-Regret
  // Bayesian Optimization with Unknown Hyperparameters", 2019).
  const bool may_doubt = has_best && (data.points.size() + data.pending.size()) % 2 == 1;
  std::vector<double> values = fits.scores.hyperparameters;
  const auto is_doubtful = [&] {
    const double added = found.point.empty() ? 0 : acquisition.added_at(found.point);
    return found.height - added < std::log(worthwhile);
  };
  for (int i = 0; may_doubt && is_doubtful() && i < most_halvings; ++i) {
    for (std::size_t j = 0; j < dimensions.size(); ++j) values[j] *= 4;  // inverse squares
    model.set(values);
    found = look();
  }
  return found.point.empty() ? spread(0) : dimensions.coordinates_at(found.point);
}

}  // namespace tune
