// Draws new configs all over the space, and around the three best.
#include "searchers/freeze_thaw_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace tune {

namespace {

constexpr std::size_t spread_candidates = 120;
constexpr std::size_t near_candidates = 60;

/// The configs of the three best scores.
std::vector<const std::vector<double>*> best_points(const std::vector<LearningCurve>& curves) {
  constexpr std::size_t most = 3;
  std::vector<std::pair<double, const std::vector<double>*>> ranking;
  for (const LearningCurve& curve : curves) {
    double best = -std::numeric_limits<double>::infinity();
    for (const double score : curve.scores) best = score > best ? score : best;
    if (std::isfinite(best)) ranking.emplace_back(best, &curve.point);
  }
  std::stable_sort(ranking.begin(), ranking.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<const std::vector<double>*> points;
  for (std::size_t i = 0; i < std::min(most, ranking.size()); ++i) {
    points.push_back(ranking[i].second);
  }
  return points;
}

}  // namespace

ConfigCandidates::ConfigCandidates(const SearchSpace& space, const std::vector<Axis>& axes,
                                   const GpDimensions& dimensions,
                                   const FreezeThawSearchOptions& options)
    : space_(space), axes_(axes), dimensions_(dimensions), priors_(space) {
  for (const Json& config : options.only_configs) {
    only_.push_back(coordinates_of(space, axes, config));
  }
  if (!has_unfit(space, options.constraints)) return;
  is_allowed_ = [this, constraints = options.constraints](const std::vector<double>& coordinates) {
    // Of seeds any value: no constraint is about those.
    const Json config = space_.assemble(0, [&](std::size_t leaf) {
      return leaf_value_at(space_.leaves()[leaf].domain, axes_[leaf], coordinates[leaf]);
    });
    return !why_unfit(space_, constraints, config);
  };
}

std::vector<double> ConfigCandidates::any(const std::vector<LearningCurve>& curves,
                                          Random& random) const {
  if (!only_.empty()) {
    const bool is_first = curves.empty() && priors_.any();
    const bool is_believed = is_first || priors_.pick(random) == DrawnFrom::priors;
    const auto points = untried({}, curves, random);
    return dimensions_.coordinates_at(priors_.any() && !is_believed ? points.back() : points[0]);
  }
  constexpr int most_tried = 1000;
  std::vector<double> coordinates;
  for (int tried = 0; tried < most_tried; ++tried) {
    std::vector<double> shares;
    for (std::size_t leaf = 0; leaf < axes_.size(); ++leaf) shares.push_back(random.uniform());
    coordinates = coordinates_at(axes_, shares);
    const bool is_believed = priors_.pick(random) == DrawnFrom::priors;
    for (std::size_t leaf = 0; is_believed && leaf < axes_.size(); ++leaf) {
      if (priors_.has(leaf)) coordinates[leaf] = priors_.quantile(leaf, shares[leaf]);
    }
    if (!is_allowed_ || is_allowed_(coordinates)) break;
  }
  return coordinates;
}

std::vector<ConfigCandidates::Point> ConfigCandidates::points(
    const std::vector<LearningCurve>& curves, Random& random) const {
  std::vector<std::vector<double>> points;
  const auto take = [&](const std::vector<double>& coordinates) {
    if (is_allowed_ && !is_allowed_(coordinates)) return;
    points.push_back(dimensions_.snapped(dimensions_.point_of(coordinates)));
  };
  const auto best = best_points(curves);
  if (!only_.empty()) return untried(best, curves, random);
  std::vector<double> shift;
  for (std::size_t leaf = 0; leaf < axes_.size(); ++leaf) shift.push_back(random.uniform());
  const SpreadPoints all_over(axes_, shift);
  const std::size_t believed = priors_.any() ? spread_candidates / 2 : 0;
  for (std::size_t i = believed; i < spread_candidates; ++i) take(all_over(i));
  for (const auto& coordinates : this->believed(believed, best, random)) take(coordinates);
  for (std::size_t i = 0; !best.empty() && i < near_candidates; ++i) {
    take(dimensions_.coordinates_at(near(*best[i % best.size()], random)));
  }
  if (points.empty()) take(any(curves, random));
  if (points.empty()) points.push_back(dimensions_.point_of(all_over(0)));
  return points;
}

std::vector<ConfigCandidates::Point> ConfigCandidates::untried(
    const std::vector<const Point*>& best, const std::vector<LearningCurve>& curves,
    Random& random) const {
  std::set<std::vector<double>> taken;
  for (const LearningCurve& curve : curves) taken.insert(curve.point);
  std::vector<std::vector<double>> left;
  for (const auto& coordinates : only_) {
    auto point = dimensions_.point_of(coordinates);
    if (!taken.contains(point)) left.push_back(std::move(point));
  }
  if (left.empty()) return {dimensions_.point_of(only_[0])};
  const auto is_categorical = dimensions_.categorical();
  const auto apart = [&](const Point& a, const Point& b) {
    double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) {
      const double by = a[j] - b[j];
      sum += is_categorical[j] ? (by != 0 ? 1 : 0) : by * by;
    }
    return sum;
  };
  const std::size_t wanted = std::min(left.size(), spread_candidates);
  std::vector<std::vector<double>> wishes;
  if (priors_.any()) wishes = believed(wanted / 2, best, random);
  if (!wishes.empty() && curves.empty()) {
    wishes[0] = coordinates_of(space_, axes_, priors_.sample(DrawnFrom::values, random));
  }
  for (std::size_t i = 0; i < wishes.size(); ++i) {
    const Point wish = dimensions_.point_of(wishes[i]);
    const auto nearest = std::min_element(
        left.begin() + static_cast<std::ptrdiff_t>(i), left.end(),
        [&](const Point& a, const Point& b) { return apart(a, wish) < apart(b, wish); });
    std::swap(left[i], *nearest);
  }
  for (std::size_t i = wishes.size(); i < wanted; ++i) {
    std::swap(left[i], left[i + random.below(left.size() - i)]);
  }
  std::vector<std::vector<double>> points(left.begin(),
                                          left.begin() + static_cast<std::ptrdiff_t>(wanted));
  left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(wanted));
  for (const auto* const center : best) {
    const auto near = std::min(left.size(), near_candidates / best.size());
    std::partial_sort(
        left.begin(), left.begin() + static_cast<std::ptrdiff_t>(near), left.end(),
        [&](const auto& a, const auto& b) { return apart(a, *center) < apart(b, *center); });
    points.insert(points.end(), left.begin(), left.begin() + static_cast<std::ptrdiff_t>(near));
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(near));
  }
  return points;
}

std::vector<std::vector<double>> ConfigCandidates::believed(std::size_t n,
                                                            const std::vector<const Point*>& best,
                                                            Random& random) const {
  if (n == 0) return {};
  std::vector<std::vector<double>> ranked, drawn;
  for (const auto* const point : best) ranked.push_back(dimensions_.coordinates_at(*point));
  const double share = prior_share(space_, priors_, ranked);
  std::optional<Priors> nearby;
  if (!ranked.empty()) nearby.emplace(space_, ranked[0]);
  for (std::size_t i = 0; i < n; ++i) {
    const Priors& from = random.uniform() < share ? priors_ : *nearby;
    drawn.push_back(coordinates_of(space_, axes_, from.sample(DrawnFrom::priors, random)));
  }
  return drawn;
}

ConfigCandidates::Point ConfigCandidates::near(Point point, Random& random) const {
  constexpr double range = 0.1, other_category = 0.2;
  const auto is_categorical = dimensions_.categorical();
  for (std::size_t j = 0; j < point.size(); ++j) {
    if (is_categorical[j]) {
      const auto values = dimensions_.values(j);
      if (random.uniform() < other_category) point[j] = values[random.below(values.size())];
    } else {
      point[j] = std::clamp(point[j] + random.normal(0, range), dimensions_.lower(j),
                            dimensions_.upper(j));
    }
  }
  return point;
}

}  // namespace tune
