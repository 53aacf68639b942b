// std::from_chars; where a number overflows it, the text's magnitude tells infinity from 0.
#include "tuner/base/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tuner/base/json_text.h"

namespace tune {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The exponent of the first digit that is not 0 in `text`, a number that has one: 3 for "1234.5",
/// -2 for "0.012". Held between numbers that no exponent of a double comes near to.
std::int64_t magnitude_of(std::string_view text) {
  constexpr std::int64_t most = 1'000'000'000;
  const std::size_t end = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, end);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  const auto places = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  const std::int64_t magnitude = first < point ? places - 1 : places;
  std::string_view exponent = text.substr(std::min(end + 1, text.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  if (exponent.empty()) return magnitude;
  std::int64_t by = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), by);
  if (read.ec != std::errc()) by = exponent.starts_with('-') ? -most : most;
  return magnitude + std::clamp(by, -most, most);
}

}  // namespace

Decimal read_decimal(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  const std::string_view digits = text.substr(is_negative ? 1 : 0);
  const std::size_t first = digits.starts_with('.') ? 1 : 0;
  if (first >= digits.size() || !is_digit(digits[first])) return {};
  Decimal decimal;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), decimal.value);
  if (error == std::errc::invalid_argument) return {};
  decimal.length = static_cast<std::size_t>(end - text.data());
  if (error == std::errc::result_out_of_range) {
    decimal.is_rounded_away = true;
    const bool is_large = magnitude_of(text.substr(0, decimal.length)) > 0;
    decimal.value = is_large ? std::numeric_limits<double>::infinity() : 0;
    if (is_negative) decimal.value = -decimal.value;
  }
  return decimal;
}

void append_decimal(std::string& out, double value) {
  constexpr double largest = 0x1p53;
  const bool is_whole = value == std::trunc(value) && std::abs(value) <= largest;
  if (is_whole && !(value == 0 && std::signbit(value))) {
    append_integer(out, static_cast<std::int64_t>(value));
  } else {
    append_number(out, value);
  }
}

}  // namespace tune
