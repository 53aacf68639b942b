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

/// The objective of an experiment that has one; null if it has none, or several.
const Objective* sole(const std::vector<Objective>& objectives);
/// The one of that metric; null if there is none.
const Objective* find_objective(const std::vector<Objective>& objectives,
                                const std::string& metric);

/// Whether `a` is strictly better than `b`. NaN (also used for "missing") is worse than every
/// number, infinities included, and no better than another NaN.
bool better(Mode mode, double a, double b);

const char* to_string(Mode mode);
/// "min" or "max"; nothing for other text.
std::optional<Mode> parse_mode(const std::string& text);

}  // namespace tune
