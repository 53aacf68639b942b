// Compensated sums for averages, which neither lose small numbers nor overflow.
#pragma once

#include <span>

namespace tune {

/// A compensated sum (Neumaier, 1974): two doubles together hold twice the digits of one, so that
/// 1e16 + 1 - 1e16 is 1. Past the largest double both are kept divided by 2^64, which is exact and
/// has room for as many numbers as anybody counts.
struct WideSum {
  double value = 0;
  double rest = 0;  ///< what is to be added to `value`: what rounding took away
  bool is_divided = false;

  /// `number` is finite.
  void add(double number);
  /// The same sum, with the double nearest to it as its value.
  WideSum normalized() const;
  /// The average of `count` numbers, at least one. NaN if it is not known: programs before version
  /// 0.2 have recorded such a sum as infinite.
  double average_of(double count) const;
};

/// Of finite numbers, at least one. Of equal ones it is that number.
double average_of(std::span<const double> numbers);
/// The standard deviation of finite numbers, of which so many are free: all of them (of a
/// population), or all but one (of a sample). Of equal numbers it is 0.
double standard_deviation_of(std::span<const double> numbers, double freedom);

}  // namespace tune
