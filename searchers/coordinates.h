// Configs as numbers to calculate with, for searchers that model: one axis for each leaf of a
// space.
#pragma once

#include <vector>

#include "searchers/quantile.h"
#include "tuner/space/search_space.h"

namespace tune {

/// What one leaf's values are as numbers. A coordinate is the index of a choice's value, or else
/// the number itself, or its logarithm if its domain is a logarithmic one.
struct Axis {
  std::size_t choices = 0;  ///< how many values a choice has; 0: the coordinates are numbers
  bool log = false;
  double step = 0;  ///< between two values, before the logarithm; 0: continuous
  /// Lowest and highest value, before the logarithm.
  double first = 0, last = 0;
  /// Where the coordinates are: those of `first` and `last`, with steps half a step more on both
  /// sides. Without bounds, for a normal distribution, mean -+ 2 standard deviations.
  double low = 0, high = 0;
  bool bounded = true;
  bool is_seed = false;  ///< see Integer

  bool is_choice() const { return choices > 0; }
  /// Whether there is but one value.
  bool is_single() const { return is_choice() ? choices == 1 : bounded && first == last; }
  /// Whether something may depend on where along it a config is.
  bool is_modelled() const { return !is_seed && !is_single(); }

  double coordinate_of(double value) const;
  /// The value nearest to a coordinate, on a step and within the bounds; at a bound, but for
  /// rounding, that.
  double value_at(double coordinate) const;
};

/// Of Uniform, Normal, Integer or Choice.
Axis axis_of(const Domain& domain);

/// What SearchSpace::Draw answers for the value nearest to a coordinate: a number, an integer, or
/// the index of a choice's value.
Json leaf_value_at(const Domain& domain, const Axis& axis, double coordinate);

/// The same of what is to be tried next; of a seed what `uniform`, a draw from [0, 1), makes it.
template <class Uniform01>
Json next_leaf_value(const Domain& domain, const Axis& axis, double coordinate, Uniform01 uniform) {
  return axis.is_seed ? leaf_quantile(domain, uniform()) : leaf_value_at(domain, axis, coordinate);
}

/// By leaf the coordinates of `config`; NaN for leaves that it does not have.
std::vector<double> coordinates_of(const SearchSpace& space, const std::vector<Axis>& axes,
                                   const Json& config);

/// How far two such points are from each other: each axis adds the square of a share of its range,
/// 1 for two values of a choice and where one of them has none.
double distance_between(const std::vector<Axis>& axes, const std::vector<double>& a,
                        const std::vector<double>& b);

/// The axes of all leaves of a space without grids.
std::vector<Axis> axes_of(const SearchSpace& space);

}  // namespace tune
