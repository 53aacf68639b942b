#include "tuner/core/objective.h"

#include <cmath>

namespace tune {

bool better(Mode mode, double a, double b) {
  if (std::isnan(a)) return false;
  if (std::isnan(b)) return true;
  return mode == Mode::max ? a > b : a < b;
}

const char* to_string(Mode mode) { return mode == Mode::max ? "max" : "min"; }

std::optional<Mode> parse_mode(const std::string& text) {
  if (text == "max") return Mode::max;
  if (text == "min") return Mode::min;
  return std::nullopt;
}

}  // namespace tune
