// The sum of an average, also where a double is too small for it.
// Knows no metric and no trial.
#pragma once

namespace tune {

/// Past the largest double it is kept divided by 2^64, which is exact and has room for as many
/// numbers as anybody counts.
struct WideSum {
  double value = 0;
  bool is_divided = false;

  /// `number` is finite.
  void add(double number);
  /// The average of `count` numbers, at least one. NaN if it is not known: programs before version
  /// 0.2 have recorded such a sum as infinite.
  double average_of(double count) const;
};

}  // namespace tune
