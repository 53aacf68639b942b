// Compensated summation (TwoSum), rescaled by 2^64 when a sum would overflow.
#include "tuner/base/wide_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune {

namespace {

constexpr double divisor = 0x1p64;

/// What a + b is more than `sum`, the double nearest to it.
double lost_in(double sum, double a, double b) {
  return std::abs(a) >= std::abs(b) ? (a - sum) + b : (b - sum) + a;
}

WideSum divided(const WideSum& sum) { return {sum.value / divisor, sum.rest / divisor, true}; }

}  // namespace

void WideSum::add(double number) {
  if (!std::isfinite(value)) return;  // an old record's
  if (!is_divided && !std::isfinite(value + number)) *this = divided(*this);
  if (is_divided) number /= divisor;
  const double sum = value + number;
  rest += lost_in(sum, value, number);
  value = sum;
  // Small numbers may still come, which divided would have fewer digits.
  if (is_divided && std::abs(value) < 1) {
    *this = {.value = value * divisor, .rest = rest * divisor, .is_divided = false};
  }
}

WideSum WideSum::normalized() const {
  if (!std::isfinite(value)) return *this;
  const double sum = value + rest;
  if (!std::isfinite(sum)) return divided(*this).normalized();
  return {sum, lost_in(sum, value, rest), is_divided};
}

double WideSum::average_of(double count) const {
  using Limits = std::numeric_limits<double>;
  if (!std::isfinite(value)) return Limits::quiet_NaN();
  const WideSum sum = normalized();
  // Rounded once, and not at the sum and at the quotient.
  const double quotient = sum.value / count;
  const double left = std::fma(-quotient, count, sum.value) + sum.rest;
  const double average = quotient + left / count;
  // What was rounded up may be more than each of the numbers.
  return sum.is_divided ? std::clamp(average * divisor, Limits::lowest(), Limits::max()) : average;
}

double average_of(std::span<const double> numbers) {
  WideSum sum;
  for (const double number : numbers) sum.add(number);
  return sum.average_of(static_cast<double>(numbers.size()));
}

double standard_deviation_of(std::span<const double> numbers, double freedom) {
  double largest = 0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  if (largest == 0) return 0;
  // Scaled by a power of two, which is exact, since no double holds the square of each.
  const int exponent = std::ilogb(largest);
  WideSum sum;
  for (const double number : numbers) sum.add(std::scalbn(number, -exponent));
  const auto count = static_cast<double>(numbers.size());
  const double average = sum.average_of(count);
  WideSum squares, offsets;
  for (const double number : numbers) {
    const double offset = std::scalbn(number, -exponent) - average;
    squares.add(offset * offset);
    offsets.add(offset);
  }
  // The average itself is rounded: by as much as the offsets have one of their own.
  const double rounding = offsets.average_of(count);
  const double variance = squares.average_of(freedom) - rounding * rounding * count / freedom;
  return std::scalbn(std::sqrt(std::max(variance, 0.0)), exponent);
}

}  // namespace tune
