// Numbers as Python has them: whole ones, which are exact, beside doubles.
#pragma once

#include <cstdint>
#include <optional>

#include "trainable/values.h"

namespace tune {

__extension__ typedef __int128 Int128;  // NOLINT(modernize-use-using): `using` takes no such word

class ExactNumber {
 public:
  ExactNumber(double value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  static ExactNumber of_whole(Int128 whole);
  static ExactNumber of_truth(bool truth) { return of_whole(truth ? 1 : 0); }
  /// The nearest double to a whole number that has left the bits.
  static ExactNumber rounded(double value);

  /// Nothing if it is a double, be it one without a fraction.
  std::optional<Int128> whole() const { return whole_; }
  /// Of a whole number the nearest double.
  double value() const { return value_; }
  /// Whether a whole number was rounded in the calculation: it had more than 127 bits, or no double
  /// is equal to it and it was combined with one. Then the result need not even be near: (n * 1.0)
  /// % 10.
  bool is_rounded() const { return is_rounded_; }

  bool is_true() const { return value_ != 0; }  // as C and Python have it, NaN is
  bool is_negative() const { return value_ < 0; }

  /// The nearest double, as the argument of a function of doubles.
  ExactNumber as_double() const;
  /// Without its fraction, which `rounds` (std::floor ...) takes away.
  ExactNumber without_fraction(double (*rounds)(double)) const;

  friend ExactNumber operator-(const ExactNumber& a);
  friend ExactNumber operator+(const ExactNumber& a, const ExactNumber& b);
  friend ExactNumber operator-(const ExactNumber& a, const ExactNumber& b);
  friend ExactNumber operator*(const ExactNumber& a, const ExactNumber& b);
  /// Of two whole numbers the whole quotient if there is one, else the double nearest to it.
  friend ExactNumber operator/(const ExactNumber& a, const ExactNumber& b);
  /// With the divisor's sign; NaN by 0.
  friend ExactNumber modulo(const ExactNumber& a, const ExactNumber& b);
  /// Rounds down; NaN by 0.
  friend ExactNumber floor_quotient(const ExactNumber& a, const ExactNumber& b);
  friend ExactNumber power(const ExactNumber& base, const ExactNumber& exponent);

  /// Compares exactly by value, also a whole number with a double. NaN is equal to nothing, and not
  /// less.
  friend bool operator==(const ExactNumber& a, const ExactNumber& b);
  friend bool operator<(const ExactNumber& a, const ExactNumber& b);

 private:
  friend ExactNumber calculated(double value, const ExactNumber& a, const ExactNumber& b);

  std::optional<Int128> whole_;
  double value_;
  bool is_rounded_ = false;
};

/// The number in `value` as `decode_number` finds it, integers and truths exactly.
std::optional<ExactNumber> exact_number(const Json& value);

/// `number` as JSON: an integer if it is a whole number of 64 bits, else its double.
Json to_json(const ExactNumber& number);

}  // namespace tune
