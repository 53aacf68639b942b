// What was measured, as a table for people and JSON for programs.
// Knows not how anything is measured.
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune::bench {

enum class Aim {
  at_least,
  at_most,
};

/// One quantity, measured some times, each time beside its limit.
struct Row {
  std::string name;
  std::string unit;
  std::vector<double> measured;
  std::vector<double> limit;  ///< of the same run; empty: the quantity has an aim by itself
  std::optional<double> aim;  ///< of the ratio to the limit, or of the quantity without one
  Aim kind = Aim::at_least;

  /// Measured by limit, or measured if there is none, ascending.
  std::vector<double> scores() const;
};

/// The middle one, or the mean of the two in the middle. `values` is not empty.
double median(std::vector<double> values);
/// The value below which `part` (0 to 1) of `values` lie.
double quantile(std::vector<double> values, double part);

struct Report {
  /// The row of that name; made like `like` when it is first asked for.
  Row& row(const Row& like);
  void print(std::ostream& out) const;
  Json to_json() const;

  std::vector<Row> rows;
};

}  // namespace tune::bench
