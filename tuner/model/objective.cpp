// Comparison of metric values by mode; what is not finite is worse than any number.
#include "tuner/model/objective.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune {

const Objective* sole(const std::vector<Objective>& objectives) {
  return objectives.size() == 1 ? objectives.data() : nullptr;
}

const Objective* find_objective(const std::vector<Objective>& objectives,
                                const std::string& metric) {
  const auto found =
      std::find_if(objectives.begin(), objectives.end(),
                   [&](const Objective& objective) { return objective.metric == metric; });
  return found == objectives.end() ? nullptr : &*found;
}

bool better(Mode mode, double a, double b) {
  if (!std::isfinite(a)) return false;
  if (!std::isfinite(b)) return true;
  return mode == Mode::max ? a > b : a < b;
}

double score_of(Mode mode, std::optional<double> value) {
  if (!value || !std::isfinite(*value)) return std::numeric_limits<double>::quiet_NaN();
  return mode == Mode::max ? *value : -*value;
}

const char* to_string(Mode mode) { return mode == Mode::max ? "max" : "min"; }

std::optional<Mode> parse_mode(const std::string& text) {
  if (text == "max") return Mode::max;
  if (text == "min") return Mode::min;
  return std::nullopt;
}

}  // namespace tune
