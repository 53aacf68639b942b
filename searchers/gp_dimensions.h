// A search space as a Gaussian process sees it: points of numbers from 0 to 1 and of categories.
#pragma once

#include <cstddef>
#include <vector>

#include "searchers/coordinates.h"
#include "searchers/priors.h"
#include "tuner/space/search_space.h"

namespace tune {

/// Leaves as dimensions: numbers from 0 to 1 (those without bounds, a little further), and
/// categories as they are. Leaves with a single value are none.
class GpDimensions {
 public:
  using Point = std::vector<double>;  ///< by dimension

  /// Both outlive it.
  GpDimensions(const SearchSpace& space, const std::vector<Axis>& axes);

  std::size_t size() const { return leaves_.size(); }
  std::vector<bool> categorical() const;
  double lower(std::size_t j) const { return axis(j).bounded ? 0 : -0.25; }
  double upper(std::size_t j) const { return axis(j).bounded ? 1 : 1.25; }

  /// Of coordinates by leaf. A leaf that the config lacks is in the middle, or in a category of its
  /// own.
  Point point_of(const std::vector<double>& coordinates) const;
  std::vector<double> coordinates_at(const Point& point) const;

  /// As the config at the point has it; `is_there` says, by dimension, what that has at all.
  Point snapped(const Point& point, std::vector<bool>* is_there = nullptr) const;

  /// `weight` times the logarithm of how far the priors favour what the config at the point has.
  /// Its derivatives are added to `gradient`, if that is not null.
  double log_believed(const Priors& priors, const Point& point, double weight,
                      Point* gradient) const;

  bool is_discrete() const;

  /// All coordinates of a dimension with few values, else none.
  std::vector<double> values(std::size_t j) const;

 private:
  const Axis& axis(std::size_t j) const { return axes_[leaves_[j]]; }
  double share(std::size_t j, double coordinate) const;

  const SearchSpace& space_;
  const std::vector<Axis>& axes_;
  std::vector<std::size_t> leaves_;
  bool is_conditional_ = false;
};

}  // namespace tune
