// Which metric counts and which way is better: the one place that compares scores.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tune {

enum class Mode { min, max };

struct Objective {
  std::string metric;
  Mode mode = Mode::max;
  bool operator==(const Objective&) const = default;
};

/// The only objective; null if there is none, or more than one.
const Objective* sole(const std::vector<Objective>& objectives);
/// The objective of that metric; null if there is none.
const Objective* find_objective(const std::vector<Objective>& objectives,
                                const std::string& metric);

/// Whether `a` is strictly better than `b`. What is not finite (NaN, also used for "missing", and
/// infinities of both signs) is worse than every number, and no better than another such value: a
/// loss of -inf is an overflow, and no model.
bool better(Mode mode, double a, double b);

/// `value` as policies rank it: larger is better, whatever the mode; NaN if it is missing or not
/// finite.
double score_of(Mode mode, std::optional<double> value);

const char* to_string(Mode mode);
/// "min" or "max"; nothing for other text.
std::optional<Mode> parse_mode(const std::string& text);

}  // namespace tune
