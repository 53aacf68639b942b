// Decimal numbers as people and programs write them, read as the nearest double, and written for
// tables.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tune {

struct Decimal {
  double value = 0;
  std::size_t length = 0;        ///< of its text; 0: there is no number
  bool is_rounded_away = false;  ///< the number overflows or underflows a double
};

/// The number that `text` begins with: digits with a sign "-", a point and an exponent, no words.
/// Overflow gives infinity and underflow 0, with the sign; std::from_chars says of both only that
/// they are out of range.
Decimal read_decimal(std::string_view text);

/// `value`, which is finite, so that it reads back as the same double: whole numbers of at most
/// 2^53 with all their digits, as tables show integers, others as short as can be.
void append_decimal(std::string& out, double value);

}  // namespace tune
