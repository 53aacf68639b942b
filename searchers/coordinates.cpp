// Converts between a domain's values and coordinates on its axis: linear, logarithmic, stepped or
// categorical.
#include "searchers/coordinates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/base/error.h"

namespace tune {

namespace {

Axis numbers(double first, double last, double step, bool log) {
  Axis axis;
  axis.log = log;
  axis.step = step;
  axis.first = first;
  axis.last = last;
  axis.low = axis.coordinate_of(first - step / 2);
  axis.high = axis.coordinate_of(last + step / 2);
  return axis;
}

Axis read(const Uniform& domain) {
  return numbers(domain.lower, domain.upper, domain.q, domain.log);
}

Axis read(const Normal& domain) {
  Axis axis;
  axis.step = domain.q;
  axis.bounded = false;
  axis.low = axis.first = domain.mean - 2 * domain.sd;
  axis.high = axis.last = domain.mean + 2 * domain.sd;
  return axis;
}

Axis read(const Integer& domain) {
  const auto q = static_cast<double>(domain.q);
  const auto lower = static_cast<double>(domain.lower);
  const auto upper = static_cast<double>(domain.upper);
  if (domain.is_seed) {
    Axis axis = numbers(lower, upper - 1, 1, false);
    axis.is_seed = true;
    return axis;
  }
  if (domain.q == 1) return numbers(lower, upper - 1, 1, domain.log);
  return numbers(std::ceil(lower / q) * q, std::floor(upper / q) * q, q, domain.log);
}

Axis read(const Choice& domain) {
  Axis axis;
  axis.choices = domain.values.size();
  axis.high = axis.last = static_cast<double>(axis.choices - 1);
  axis.step = 1;
  return axis;
}

template <class Other>
Axis read(const Other&) {
  ensure(false, "a leaf of a space is a number or a choice");
  return {};
}

}  // namespace

double Axis::coordinate_of(double value) const { return log ? std::log(value) : value; }

double Axis::value_at(double coordinate) const {
  // What a share of the range, or a logarithm, has rounded is the bound all the same.
  const double rounding =
      8 * std::numeric_limits<double>::epsilon() * std::max(std::abs(low), std::abs(high));
  if (bounded && step == 0) {
    if (std::abs(coordinate - low) <= rounding) return first;
    if (std::abs(coordinate - high) <= rounding) return last;
  }
  double value = log ? std::exp(coordinate) : coordinate;
  const double base = bounded ? first : 0;
  if (step > 0) value = base + std::nearbyint((value - base) / step) * step;
  return bounded ? std::clamp(value, first, last) : value;
}

Axis axis_of(const Domain& domain) {
  return std::visit([](const auto& one) { return read(one); }, domain);
}

Json leaf_value_at(const Domain& domain, const Axis& axis, double coordinate) {
  const double value = axis.value_at(coordinate);
  if (axis.is_choice()) return static_cast<std::size_t>(value);
  return nearest(domain, value);
}

std::vector<double> coordinates_of(const SearchSpace& space, const std::vector<Axis>& axes,
                                   const Json& config) {
  const std::vector<Json> values = space.leaf_values(config);
  std::vector<double> coordinates(values.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t leaf = 0; leaf < values.size(); ++leaf) {
    if (values[leaf].is_null()) continue;
    const Axis& axis = axes[leaf];
    double value = values[leaf].get<double>();
    // A point that somebody gave may be a little outside.
    if (axis.bounded && !axis.is_choice()) value = std::clamp(value, axis.first, axis.last);
    coordinates[leaf] = axis.coordinate_of(value);
  }
  return coordinates;
}

std::vector<Axis> axes_of(const SearchSpace& space) {
  ensure(!space.has_grid(), "a space that is modelled has no grid");
  std::vector<Axis> axes;
  for (const SpaceLeaf& leaf : space.leaves()) axes.push_back(axis_of(leaf.domain));
  return axes;
}

double distance_between(const std::vector<Axis>& axes, const std::vector<double>& a,
                        const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    const Axis& axis = axes[leaf];
    if (!axis.is_modelled() || (std::isnan(a[leaf]) && std::isnan(b[leaf]))) continue;
    const double share = axis.is_choice() || std::isnan(a[leaf]) || std::isnan(b[leaf])
                             ? (a[leaf] == b[leaf] ? 0 : 1)
                             : (a[leaf] - b[leaf]) / (axis.high - axis.low);
    sum += share * share;
  }
  return std::sqrt(sum);
}

}  // namespace tune
