// Makes values robust (drawn in to fences around the quartiles, or ranks), and reads importances
// and marginal means off the forest.
#include "searchers/forest_importance.h"

#include <algorithm>
#include <cmath>

namespace tune {

namespace {

/// Where a coordinate lies in [0, 1]; each value of a choice has a part of its own.
double place_of(const Axis& axis, double coordinate) {
  const double place = axis.is_choice() ? (coordinate + 0.5) / static_cast<double>(axis.choices)
                                        : (coordinate - axis.low) / (axis.high - axis.low);
  return std::clamp(place, 0.0, 1.0);
}

double lower_place(const Axis& axis, double lower) {
  return axis.is_choice() ? lower / static_cast<double>(axis.choices) : place_of(axis, lower);
}

/// By value its place among all, those that are equal in one place.
std::vector<double> ranks_of(const std::vector<double>& values, const std::vector<double>& sorted) {
  std::vector<double> ranks;
  for (const double value : values) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    const auto twice = (first - sorted.begin()) + (last - sorted.begin());
    ranks.push_back(static_cast<double>(twice) / static_cast<double>(sorted.size()) - 1);
  }
  return ranks;
}

}  // namespace

ForestImportance::RobustValues ForestImportance::robust(const std::vector<double>& values) {
  constexpr double fence = 4;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  const auto width_without = [&](std::size_t ends) {  // halves: the width of all doubles is none
    return sorted[n - 1 - ends] / 2 - sorted[ends] / 2;
  };
  std::size_t ends = (n - 1) / 4;
  if (width_without(ends) == 0) ends = std::min(ends, n / 20 + 1);
  const double half_width = width_without(ends);
  RobustValues robust{.middle = sorted[n / 2]};
  if (half_width == 0) {
    robust.are_ranks = true;
    robust.values = ranks_of(values, sorted);
    return robust;
  }
  double largest = 0;
  for (const double value : values) {
    const double half = std::clamp(value / 2, sorted[ends] / 2 - fence * half_width,
                                   sorted[n - 1 - ends] / 2 + fence * half_width);
    if (half != value / 2) ++robust.drawn_in;
    robust.values.push_back(half - robust.middle / 2);
    largest = std::max(largest, std::abs(robust.values.back()));
  }
  for (double& value : robust.values) value /= largest;
  robust.scale = 2 * largest;
  return robust;
}

ForestImportance::ForestImportance(const SearchSpace& space,
                                   const std::vector<std::vector<double>>& points,
                                   const std::vector<double>& values)
    : robust_(robust(values)), axes_(axes_of(space)) {
  for (std::size_t leaf = 0; leaf < axes_.size(); ++leaf) {
    if (!axes_[leaf].is_modelled()) continue;
    const bool all_have_it = std::none_of(
        points.begin(), points.end(), [&](const auto& point) { return std::isnan(point[leaf]); });
    if (all_have_it) {
      leaves_.push_back(leaf);
    } else if (const std::string& pointer = space.leaves()[leaf].pointer;
               left_out_.empty() || left_out_.back() != pointer) {
      left_out_.push_back(pointer);
    }
  }
  if (leaves_.empty()) return;
  std::vector<std::vector<double>> places;
  for (const auto& point : points) {
    auto& row = places.emplace_back();
    for (const std::size_t leaf : leaves_) row.push_back(place_of(axes_[leaf], point[leaf]));
  }
  forest_.emplace(places, robust_.values);
  const std::vector<double> effects = forest_->main_effects();
  has_differences_ = !effects.empty();
  if (!has_differences_) return;
  double sum = 0;
  for (std::size_t d = 0; d < leaves_.size(); ++d) {
    found_.push_back({.pointer = space.leaves()[leaves_[d]].pointer,
                      .share = effects[d],
                      .trials = points.size()});
    sum += effects[d];
  }
  if (sum > 0) together_ = std::max(0.0, 1 - sum);
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Importance& a, const Importance& b) { return a.share > b.share; });
}

std::optional<double> ForestImportance::mean_within(std::size_t leaf, double lower,
                                                    double upper) const {
  const auto found = std::find(leaves_.begin(), leaves_.end(), leaf);
  if (found == leaves_.end() || robust_.are_ranks) return std::nullopt;
  const Axis& axis = axes_[leaf];
  const double from = lower_place(axis, lower), to = lower_place(axis, upper);
  if (!(from < to)) return std::nullopt;
  const auto dimension = static_cast<std::size_t>(found - leaves_.begin());
  return robust_.middle + robust_.scale * forest_->mean_within(dimension, from, to);
}

}  // namespace tune
