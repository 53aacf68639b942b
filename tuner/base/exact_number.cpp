// Arithmetic on 128-bit integers that falls back to doubles on overflow.
#include "tuner/base/exact_number.h"

#include <cmath>
#include <limits>

namespace tune {

namespace {

__extension__ typedef unsigned __int128 UInt128;  // NOLINT(modernize-use-using)

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Beyond it a double need not fit Int128.
constexpr double out_of_bits = 0x1p126;

std::optional<Int128> whole_of(double value) {
  if (value != std::trunc(value) || !(std::abs(value) < out_of_bits)) return std::nullopt;
  return static_cast<Int128>(value);
}

/// Whether the double nearest to `whole` is `whole`.
bool is_double(Int128 whole) { return whole_of(static_cast<double>(whole)) == whole; }

UInt128 magnitude(Int128 whole) {
  return whole < 0 ? -static_cast<UInt128>(whole) : static_cast<UInt128>(whole);
}

/// The double nearest to a / b.
double quotient(Int128 a, Int128 b) {
  constexpr UInt128 enough = UInt128{1} << 64;  // more than a double keeps
  const UInt128 divisor = magnitude(b);
  UInt128 digits = magnitude(a) / divisor;
  UInt128 rest = magnitude(a) % divisor;
  int exponent = 0;
  for (; rest != 0 && digits < enough; --exponent) {
    rest *= 2;
    digits = 2 * digits + (rest >= divisor ? 1 : 0);
    if (rest >= divisor) rest -= divisor;
  }
  if (rest != 0) digits |= 1;  // it is not halfway between two doubles
  const double absolute = std::ldexp(static_cast<double>(digits), exponent);
  return (a < 0) != (b < 0) ? -absolute : absolute;
}

Int128 modulo(Int128 a, Int128 b) {
  if (b == -1) return 0;  // of the least number there is no quotient
  const Int128 rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

/// By what is left over, since a / b may be rounded up to the next whole number.
double floor_quotient(double a, double b) {
  const double rest = modulo(a, b);
  const double result = std::round((a - rest) / b);
  return result == 0 ? std::copysign(0.0, a / b) : result;
}

/// Nothing if it has too many bits.
std::optional<Int128> power(Int128 base, Int128 exponent) {
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  Int128 result = 1;
  for (Int128 i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return std::nullopt;
  }
  return result;
}

}  // namespace

ExactNumber ExactNumber::of_whole(Int128 whole) {
  ExactNumber number(static_cast<double>(whole));
  number.whole_ = whole;
  return number;
}

ExactNumber ExactNumber::rounded(double value) {
  ExactNumber number(value);
  number.is_rounded_ = true;
  return number;
}

/// What doubles have made of `a` and `b`.
ExactNumber calculated(double value, const ExactNumber& a, const ExactNumber& b) {
  ExactNumber number(value);
  for (const ExactNumber* part : {&a, &b}) {
    const bool rounds = part->whole_ && !is_double(*part->whole_);
    number.is_rounded_ = number.is_rounded_ || part->is_rounded_ || rounds;
  }
  return number;
}

ExactNumber ExactNumber::as_double() const { return calculated(value_, *this, *this); }

ExactNumber ExactNumber::without_fraction(double (*rounds)(double)) const {
  if (whole_) return *this;
  const double rounded = rounds(value_);
  const auto whole = whole_of(rounded);
  ExactNumber number = whole ? of_whole(*whole) : ExactNumber(rounded);
  number.is_rounded_ = is_rounded_;
  return number;
}

ExactNumber operator-(const ExactNumber& a) {
  return a.whole_ ? ExactNumber::of_whole(0) - a : calculated(-a.value_, a, a);
}

ExactNumber operator+(const ExactNumber& a, const ExactNumber& b) {
  const double sum = a.value_ + b.value_;
  if (!a.whole_ || !b.whole_) return calculated(sum, a, b);
  Int128 whole = 0;
  return __builtin_add_overflow(*a.whole_, *b.whole_, &whole) ? ExactNumber::rounded(sum)
                                                              : ExactNumber::of_whole(whole);
}

ExactNumber operator-(const ExactNumber& a, const ExactNumber& b) {
  const double difference = a.value_ - b.value_;
  if (!a.whole_ || !b.whole_) return calculated(difference, a, b);
  Int128 whole = 0;
  return __builtin_sub_overflow(*a.whole_, *b.whole_, &whole) ? ExactNumber::rounded(difference)
                                                              : ExactNumber::of_whole(whole);
}

ExactNumber operator*(const ExactNumber& a, const ExactNumber& b) {
  const double product = a.value_ * b.value_;
  if (!a.whole_ || !b.whole_) return calculated(product, a, b);
  Int128 whole = 0;
  return __builtin_mul_overflow(*a.whole_, *b.whole_, &whole) ? ExactNumber::rounded(product)
                                                              : ExactNumber::of_whole(whole);
}

ExactNumber operator/(const ExactNumber& a, const ExactNumber& b) {
  const bool is_exact = a.whole_ && b.whole_ && *b.whole_ != 0;
  if (!is_exact) return calculated(a.value_ / b.value_, a, b);
  if (modulo(*a.whole_, *b.whole_) != 0) return {quotient(*a.whole_, *b.whole_)};
  return *b.whole_ == -1 ? -a : ExactNumber::of_whole(*a.whole_ / *b.whole_);
}

ExactNumber modulo(const ExactNumber& a, const ExactNumber& b) {
  if (!a.whole_ || !b.whole_) return calculated(modulo(a.value_, b.value_), a, b);
  if (*b.whole_ == 0) return {no_number};
  return ExactNumber::of_whole(modulo(*a.whole_, *b.whole_));
}

ExactNumber floor_quotient(const ExactNumber& a, const ExactNumber& b) {
  if (!a.whole_ || !b.whole_) return calculated(floor_quotient(a.value_, b.value_), a, b);
  if (*b.whole_ == 0) return {no_number};
  if (*b.whole_ == -1) return -a;
  const bool rounds_down = *a.whole_ % *b.whole_ != 0 && (*a.whole_ < 0) != (*b.whole_ < 0);
  return ExactNumber::of_whole(*a.whole_ / *b.whole_ - (rounds_down ? 1 : 0));
}

ExactNumber power(const ExactNumber& base, const ExactNumber& exponent) {
  const double value = std::pow(base.value_, exponent.value_);
  if (!base.whole_ || !exponent.whole_ || *exponent.whole_ < 0) {
    return calculated(value, base, exponent);
  }
  const auto whole = power(*base.whole_, *exponent.whole_);
  return whole ? ExactNumber::of_whole(*whole) : ExactNumber::rounded(value);
}

bool operator==(const ExactNumber& a, const ExactNumber& b) {
  if (a.whole_ && b.whole_) return *a.whole_ == *b.whole_;
  if (a.whole_ || b.whole_) {
    return whole_of((a.whole_ ? b : a).value_) == (a.whole_ ? a : b).whole_;
  }
  return a.value_ == b.value_;
}

bool operator<(const ExactNumber& a, const ExactNumber& b) {
  if (a.whole_ && b.whole_) return *a.whole_ < *b.whole_;
  // Rounding keeps an order; only where both are the same double may it have hidden one.
  if (a.value_ != b.value_ || (!a.whole_ && !b.whole_)) return a.value_ < b.value_;
  const auto x = a.whole_ ? a.whole_ : whole_of(a.value_);
  const auto y = b.whole_ ? b.whole_ : whole_of(b.value_);
  return x && y && *x < *y;
}

std::optional<ExactNumber> exact_number(const Json& value) {
  if (value.is_boolean()) return ExactNumber::of_truth(value.get<bool>());
  if (value.is_number_unsigned()) return ExactNumber::of_whole(value.get<std::uint64_t>());
  if (value.is_number_integer()) return ExactNumber::of_whole(value.get<std::int64_t>());
  const auto number = decode_number(value);
  return number ? std::optional<ExactNumber>(*number) : std::nullopt;
}

Json to_json(const ExactNumber& number) {
  const auto whole = number.whole();
  const auto fits = [&whole]<class Int>(Int) {
    using Limits = std::numeric_limits<Int>;
    return *whole >= Limits::min() && *whole <= Limits::max();
  };
  if (whole && fits(std::int64_t{})) return static_cast<std::int64_t>(*whole);
  if (whole && fits(std::uint64_t{})) return static_cast<std::uint64_t>(*whole);
  return number.value();
}

}  // namespace tune
