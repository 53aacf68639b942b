#include "tuner/base/wide_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune {

namespace {

constexpr double divisor = 0x1p64;

}  // namespace

void WideSum::add(double number) {
  if (!is_divided && std::isfinite(value) && !std::isfinite(value + number)) {
    value /= divisor;
    is_divided = true;
  }
  value += is_divided ? number / divisor : number;
}

double WideSum::average_of(double count) const {
  using Limits = std::numeric_limits<double>;
  if (!std::isfinite(value)) return Limits::quiet_NaN();
  const double average = value / count;
  // What was rounded up may be more than each of the numbers.
  return is_divided ? std::clamp(average * divisor, Limits::lowest(), Limits::max()) : average;
}

}  // namespace tune
