#include "tuner/plain/printed_number.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include "tuner/core/decimal.h"

namespace tune {

namespace {

constexpr std::string_view all_digits = "0123456789";

bool begins_with_digit(std::string_view text) { return text.find_first_of(all_digits) == 0; }

std::string_view without_sign(std::string_view number) {
  if (number.starts_with('-') || number.starts_with('+')) number.remove_prefix(1);
  return number;
}

bool is_whole(std::string_view number) {
  return number.find_first_not_of(all_digits) == number.npos;
}

/// Takes one of `words` from the front of `text`.
template <std::size_t count>
bool take_any(std::string_view& text, const std::string_view (&words)[count]) {
  for (const std::string_view word : words) {
    if (!text.starts_with(word)) continue;
    text.remove_prefix(word.size());
    return true;
  }
  return false;
}

/// "12" and " 500", which may be 12,500 as it is written in half of the world.
bool may_be_grouped(std::string_view number, std::string_view behind) {
  constexpr std::size_t group = 3;
  const std::string_view digits = without_sign(number);
  if (!is_whole(digits) || digits.size() > group || digits.starts_with('0')) return false;
  if (!behind.starts_with(' ')) return false;
  behind.remove_prefix(1);
  const std::string_view next = behind.substr(0, behind.find_first_not_of(all_digits));
  return next.size() == group;
}

/// " × 10^3" and the like.
bool is_power_of_ten(std::string_view text) {
  const auto skip_blanks = [&text] {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  constexpr std::string_view times[] = {"*", "x", "×", "·", "⋅"};
  constexpr std::string_view raised[] = {"^", "**", "⁻", "⁰", "¹", "²", "³",
                                         "⁴", "⁵",  "⁶", "⁷", "⁸", "⁹"};
  skip_blanks();
  if (!take_any(text, times)) return false;
  skip_blanks();
  if (!text.starts_with("10")) return false;
  text.remove_prefix(2);
  return take_any(text, raised);
}

}  // namespace

std::optional<double> take_number(std::string_view& text) {
  std::string_view rest = text;
  double sign = 1;
  if (rest.starts_with('+') || rest.starts_with('-')) {
    sign = rest.front() == '-' ? -1 : 1;
    rest.remove_prefix(1);
  }
  for (const char* const word : {"nan", "infinity", "inf"}) {
    const std::string_view name = word;
    const bool is_it = rest.size() >= name.size() &&
                       std::equal(name.begin(), name.end(), rest.begin(), [](char a, char b) {
                         return a == std::tolower(static_cast<unsigned char>(b));
                       });
    if (!is_it) continue;
    rest.remove_prefix(name.size());
    text = rest;
    return name == "nan" ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (rest.starts_with('-')) return std::nullopt;  // a second sign
  const Decimal decimal = read_decimal(rest);
  if (decimal.length == 0) return std::nullopt;
  text = rest.substr(decimal.length);
  return sign * decimal.value;
}

bool goes_on(std::string_view number, std::string_view behind) {
  if (may_be_grouped(number, behind) || is_power_of_ten(behind)) return true;
  constexpr std::string_view raised[] = {"^", "⁻", "⁰", "¹", "²", "³",
                                         "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (take_any(behind, raised)) return true;
  if (behind.starts_with(','))
    return is_whole(without_sign(number)) && begins_with_digit(behind.substr(1));
  // Before the digits of the next group, or of a fraction: blanks of fixed and of small width, too.
  constexpr std::string_view within[] = {"**",     "*",      ".",      "'",     "_", "’",
                                         "·",      "⋅",      "˙",      "×",     "٫", "٬",
                                         "\u00a0", "\u2007", "\u2009", "\u202f"};
  return take_any(behind, within) && begins_with_digit(behind);
}

PrintedNumber number_of_cell(std::string_view text) {
  std::string_view rest = text;
  const auto value = take_number(rest);
  if (!value || rest.empty()) return {value};
  return {.is_cut = goes_on(text.substr(0, text.size() - rest.size()), rest)};
}

}  // namespace tune
