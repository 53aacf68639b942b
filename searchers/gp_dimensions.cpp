// Scales coordinates to the unit cube and back, and snaps points to the values that a discrete
// domain has.
#include "searchers/gp_dimensions.h"

#include <algorithm>
#include <cmath>

namespace tune {

namespace {

/// With more values than this, steps are too small to look at one by one.
constexpr double most_steps = 30;

}  // namespace

GpDimensions::GpDimensions(const SearchSpace& space, const std::vector<Axis>& axes)
    : space_(space), axes_(axes) {
  for (std::size_t leaf = 0; leaf < axes.size(); ++leaf) {
    is_conditional_ = is_conditional_ || space.leaves()[leaf].conditional;
    if (axes[leaf].is_modelled()) leaves_.push_back(leaf);
  }
}

std::vector<bool> GpDimensions::categorical() const {
  std::vector<bool> all;
  for (std::size_t j = 0; j < size(); ++j) all.push_back(axis(j).is_choice());
  return all;
}

GpDimensions::Point GpDimensions::point_of(const std::vector<double>& coordinates) const {
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

std::vector<double> GpDimensions::coordinates_at(const Point& point) const {
  std::vector<double> coordinates;
  for (const Axis& axis : axes_) coordinates.push_back(axis.is_choice() ? 0 : axis.low);
  for (std::size_t j = 0; j < size(); ++j) {
    coordinates[leaves_[j]] = axis(j).is_choice()
                                  ? std::max(point[j], 0.0)
                                  : axis(j).low + point[j] * (axis(j).high - axis(j).low);
  }
  return coordinates;
}

GpDimensions::Point GpDimensions::snapped(const Point& point, std::vector<bool>* is_there) const {
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

double GpDimensions::log_believed(const Priors& priors, const Point& point, double weight,
                                  Point* gradient) const {
  std::vector<bool> is_there(size(), true);
  if (is_conditional_) (void)snapped(point, &is_there);
  double sum = 0;
  for (std::size_t j = 0; j < size(); ++j) {
    if (!is_there[j] || !priors.has(leaves_[j])) continue;
    const double range = axis(j).high - axis(j).low;
    const double at = axis(j).is_choice() ? point[j] : axis(j).low + point[j] * range;
    double slope = 0;
    sum += priors.log_believed(leaves_[j], at, &slope);
    if (gradient != nullptr) (*gradient)[j] += weight * slope * range;
  }
  return weight * sum;
}

bool GpDimensions::is_discrete() const {
  for (std::size_t j = 0; j < size(); ++j) {
    if (axis(j).step == 0 || !axis(j).bounded) return false;
  }
  return true;
}

std::vector<double> GpDimensions::values(std::size_t j) const {
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

double GpDimensions::share(std::size_t j, double coordinate) const {
  const Axis& a = axis(j);
  return std::clamp((coordinate - a.low) / (a.high - a.low), lower(j), upper(j));
}

}  // namespace tune
