// Intersects curves by iteration, finds the leader at each, and from where on it stays ahead.
#include "tuner/view/curves_side_by_side.h"

#include <algorithm>
#include <cmath>

namespace tune {

namespace {

/// As tune::better has it, by all digits.
bool is_better(Mode mode, const ExactNumber& a, const ExactNumber& b) {
  const bool are_numbers = std::isfinite(a.value()) && std::isfinite(b.value());
  if (!are_numbers) return better(mode, a.value(), b.value());
  return mode == Mode::max ? b < a : a < b;
}

/// The one that is ahead of all others there.
std::optional<std::size_t> leader_at(const SharedPoint& point, Mode mode) {
  const auto& values = point.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    bool leads = std::isfinite(values[i].value());
    for (std::size_t j = 0; j < values.size() && leads; ++j) {
      leads = j == i || is_better(mode, values[i], values[j]);
    }
    if (leads) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<SharedPoint> shared_points(const std::vector<MetricCurve>& curves) {
  std::vector<SharedPoint> points;
  if (curves.empty()) return points;
  for (const auto& [iteration, first] : curves.front()) {
    SharedPoint point{iteration, {}};
    for (const MetricCurve& curve : curves) {
      const auto found = curve.find(iteration);
      if (found != curve.end()) point.values.push_back(found->second);
    }
    if (point.values.size() == curves.size()) points.push_back(std::move(point));
  }
  return points;
}

std::optional<std::pair<std::size_t, std::int64_t>> ahead_for_good(
    const std::vector<SharedPoint>& points, Mode mode) {
  if (points.empty()) return std::nullopt;
  const auto leader = leader_at(points.back(), mode);
  if (!leader) return std::nullopt;
  const auto before = std::find_if(points.rbegin(), points.rend(), [&](const SharedPoint& point) {
    return leader_at(point, mode) != leader;
  });
  return std::pair(*leader, before.base()->iteration);
}

std::vector<SharedPoint> some_of(const std::vector<SharedPoint>& points, std::size_t count) {
  if (points.size() <= count) return points;
  std::vector<SharedPoint> some;
  for (std::size_t i = 0; i < count; ++i) {
    some.push_back(points[i * (points.size() - 1) / (count - 1)]);
  }
  return some;
}

}  // namespace tune
