// The numbers of one result, flat, beside the trainable's own text of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/base/exact_number.h"

namespace tune {

/// One number of a result. Nested objects are flattened with "/": {"a": {"b": 1}} is "a/b".
struct Metric {
  std::string name;
  double value;  ///< booleans are 0 and 1; NaN and infinities are ordinary values
  bool operator==(const Metric&) const = default;
};

/// From the least to the greatest number of a metric in several results.
struct ValueRange {
  double least = 0;
  double greatest = 0;
};

/// The deepest nesting of metrics: one less than the limit of the protocol's message around them.
/// Readers of records understand far deeper ones.
constexpr std::size_t most_metric_levels = 63;

/// The most names in one result, strings and lists among them. The loop's thread looks at all of
/// them for each result, and all trials wait for that thread.
constexpr std::size_t most_metric_names = 4'096;

/// What a trainable reported in one iteration.
struct Metrics {
  /// The trainable's JSON object, in one line, as it sent it (bare NaN and Infinity tokens made
  /// into strings, line breaks into blanks, whole numbers of more than 64 bits with an exponent).
  /// The journal and result.json keep this, strings and lists included.
  std::string text = "{}";
  /// The numbers in it, in its order. Lists and strings other than "NaN", "Infinity", "-Infinity"
  /// are not here.
  std::vector<Metric> numbers;
  bool has_others = false;  ///< whether anything in `text` is neither a number here nor an object

  std::optional<double> find(std::string_view name) const;
  /// One of `numbers` as it stands in `text`: a whole number of 64 bits with all digits.
  ExactNumber exact(const Metric& metric) const;
  std::optional<ExactNumber> find_exact(std::string_view name) const;
};

/// Parses an untrusted JSON object. Throws std::invalid_argument with a sentence for what could not
/// be kept and read again with one meaning: no object, no UTF-8, more than `most_metric_levels` or
/// `most_metric_names`, a name that stands twice ({"a/b": 1} and {"a": {"b": 1}} are one name).
Metrics parse_metrics(std::string_view text);

/// The most bytes of a result's text, as the protocol allows one line. It holds also for the joined
/// result of several ranks, since a record is one line, too.
constexpr std::size_t most_metric_bytes = std::size_t{16} * 1024 * 1024;

/// `metrics` with those of other ranks under "workers/RANK/". Throws as parse_metrics does, if
/// `metrics` has something of that name itself, and if all of it has more than `most_metric_bytes`.
Metrics with_workers(Metrics metrics, const std::vector<std::pair<int, Metrics>>& workers);

/// Reads metrics that `parse_metrics` of this or an older version accepted, also in a row with
/// other fields. Throws std::invalid_argument if `text` is no JSON object.
Metrics read_metrics(std::string_view text);

/// `text` with the bare tokens NaN, Infinity, -Infinity outside of strings, as Python's json writes
/// them, put in quotes.
std::string quote_non_finite(std::string_view text);

}  // namespace tune
