// The numbers of one result, flat, beside the trainable's own text of them.
// Knows no trial, no file and no meaning of a metric.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// One number of a result. Nested objects are flattened with "/": {"a": {"b": 1}} is "a/b".
struct Metric {
  std::string name;
  double value;  ///< booleans are 0 and 1; NaN and infinities are ordinary values
  bool operator==(const Metric&) const = default;
};

/// What a trainable reported in one iteration.
struct Metrics {
  /// The trainable's JSON object, in one line, as it sent it (bare NaN and Infinity tokens made
  /// into strings). The journal and result.json keep this, strings and lists included.
  std::string text = "{}";
  /// The numbers in it, in its order. Lists and strings other than "NaN", "Infinity", "-Infinity"
  /// are not here.
  std::vector<Metric> numbers;

  std::optional<double> find(std::string_view name) const;
};

/// Parses one JSON object. Throws std::invalid_argument, saying what is wrong, on anything else:
/// no object, nesting deeper than 64, no UTF-8.
Metrics parse_metrics(std::string_view text);

/// `text` with the bare tokens NaN, Infinity, -Infinity outside of strings, as Python's json writes
/// them, put in quotes.
std::string quote_non_finite(std::string_view text);

}  // namespace tune
