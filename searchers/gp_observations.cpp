// Chooses trials by their fronts, cuts off what is very bad, and puts the reference point.
#include "searchers/gp_observations.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tuner/math/gaussian_process.h"
#include "tuner/model/constraint.h"

namespace tune {

namespace {

/// From the middle, in distances from there to the best.
constexpr double cut_off_at = 2;

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

/// Of more than can be modelled, half are the best by `height` and half the newest.
std::vector<std::size_t> chosen(const std::vector<double>& height, std::size_t most) {
  std::vector<std::size_t> order(height.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= most) return order;
  const auto newest = static_cast<std::ptrdiff_t>(order.size() - most / 2);
  std::stable_sort(order.begin(), order.begin() + newest,
                   [&](std::size_t a, std::size_t b) { return height[a] > height[b]; });
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(most - most / 2), order.begin() + newest);
  std::sort(order.begin(), order.end());
  return order;
}

bool is_feasible(const GpData& data, std::size_t i) {
  return std::all_of(
      data.constraints.begin(), data.constraints.end(),
      [i](const std::vector<double>& values) { return violation({values[i]}) == 0; });
}

/// For each point how good it is, with what is infeasible behind everything else.
std::vector<double> heights_of(const GpData& data) {
  std::vector<std::vector<double>> columns;
  for (const auto& scores : data.scores) columns.push_back(standardize(scores).values);
  std::vector<double> heights = columns[0];
  if (columns.size() == 1) {
    const auto [least, most] = std::minmax_element(heights.begin(), heights.end());
    const double behind = *most - *least + 1;
    for (std::size_t i = 0; i < heights.size(); ++i) {
      if (!is_feasible(data, i)) heights[i] -= behind;
    }
    return heights;
  }
  std::vector<Scores> points(heights.size());
  std::vector<double> violations;
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (const auto& column : columns) points[i].push_back(column[i]);
    violations.push_back(is_feasible(data, i) ? 0 : 1);
  }
  double height = 0;
  for (const std::size_t i : best_by_crowding(points, points.size(), violations)) {
    heights[i] = height--;
  }
  return heights;
}

/// Rows of what is known, feasible and not dominated.
std::vector<std::size_t> front_of(const GpData& data, const std::vector<std::size_t>& places) {
  std::vector<std::size_t> rows;
  std::vector<Scores> points;
  for (std::size_t row = 0; row < places.size(); ++row) {
    Scores point;
    for (const auto& scores : data.scores) point.push_back(scores[places[row]]);
    const bool is_known =
        std::all_of(point.begin(), point.end(), [](double x) { return std::isfinite(x); });
    if (!is_known || !is_feasible(data, places[row])) continue;
    rows.push_back(row);
    points.push_back(std::move(point));
  }
  const std::vector<std::size_t> ranks = domination_ranks(points, 1);
  std::vector<std::size_t> front;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (ranks[k] == 0) front.push_back(rows[k]);
  }
  return front;
}

}  // namespace

Scores Observations::targets_of(std::size_t row) const {
  Scores own;
  for (const auto& column : targets) own.push_back(column[row]);
  return own;
}

Observations observations_of(const GpDimensions& dimensions, const GpData& data, std::size_t most) {
  const std::vector<double> heights = heights_of(data);
  Observations observed;
  observed.places = chosen(heights, most);
  observed.targets.resize(data.scores.size());
  observed.margins.resize(data.constraints.size());
  for (std::size_t row = 0; row < observed.places.size(); ++row) {
    const std::size_t i = observed.places[row];
    const std::vector<double> point = dimensions.point_of(data.points[i]);
    observed.points.insert(observed.points.end(), point.begin(), point.end());
    for (std::size_t k = 0; k < data.scores.size(); ++k) {
      observed.targets[k].push_back(data.scores[k][i]);
    }
    for (std::size_t k = 0; k < data.constraints.size(); ++k) {
      observed.margins[k].push_back(-data.constraints[k][i]);
    }
    if (heights[i] > heights[observed.places[observed.best]]) observed.best = row;
  }
  for (std::vector<double>& targets : observed.targets) {
    targets = standardize(cut_off(std::move(targets))).values;
  }
  if (data.scores.size() > 1) {
    observed.front = front_of(data, observed.places);
  } else if (is_feasible(data, observed.places[observed.best])) {
    observed.front = {observed.best};
  }
  return observed;
}

Scores reference_of(const Observations& observed) {
  if (observed.targets.size() == 1) return observed.targets_of(observed.best);
  // Not by the front alone: while that is short, all beyond its ends would be worth nothing, and
  // they would not be looked for.
  constexpr double margin = 0.1;  // of the range, so that the ends count themselves
  Scores reference;
  for (const std::vector<double>& targets : observed.targets) {
    const auto [least, most] = std::minmax_element(targets.begin(), targets.end());
    reference.push_back(*least - margin * std::max(*most - *least, 1.0));
  }
  return reference;
}

}  // namespace tune
