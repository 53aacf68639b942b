// Where a printed number ends, and which characters behind it make it a part of something else.
#include "tuner/plain/printed_number.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <limits>

#include "tuner/base/decimal.h"

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

/// What makes a number that stands in front of it a part of something else.
bool is_continuation(std::string_view text) {
  static const re2::RE2 expression(
      // A sign between digits, a file's name, or more than a term: "1'000", "0;5", "1.pt", "1+2".
      "^(?:[!-&'*+.;=?@\\\\_`~][0-9]|\\*\\*[0-9]|[&.][A-Za-z]|\\^|[ \t]*\\+[ \t]*[0-9]"
      // A control character, unless nothing else comes: progress bars take themselves back.
      "|[\\x00-\\x08\\x0b-\\x1f\\x7f][\\x00-\\x20\\x7f]*[^\\x00-\\x20\\x7f]"
      // A power of ten: "5 e-3", "5 × 10^-3", "5 10⁻³", "5(3)e-2"; and "5 ½".
      "|[ \t]+[eE][-+]?[0-9]|[ \t]*[*x×·⋅][ \t]*10(?:\\^|\\*\\*|[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])"
      "|[ \t]+10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]|\\([0-9]+\\)(?:[eE]|[ \t]*[*x×·⋅])|[ \t]+[¼-¾⅐-⅟]"
      // Another number that takes its place: "0.5 -> 0.4".
      "|[ \t]*(?:[-=]+>|[→⇒⟶➔])[ \t]*[-+.]*[0-9])");
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
}

/// Whether a number ends before `text`, which begins with no ASCII: at a blank, a symbol or a sign
/// of punctuation that stands in front of no digit, or may. Not at a letter, or what else is a
/// digit somewhere: "1٢", "5½", "12ms" in other scripts; nor at what is no UTF-8.
bool is_foreign_end(std::string_view text) {
  static const re2::RE2 expression("^(?:[│┃║±∓（）]|[\\p{Z}\\p{P}\\p{S}\\p{Cf}](?:[^\\p{N}]|$))");
  return re2::RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), expression);
}

}  // namespace

std::optional<double> take_number(std::string_view& text) {
  std::string_view rest = text;
  double sign = 1;
  if (rest.starts_with('+') || rest.starts_with('-')) {
    sign = rest.front() == '-' ? -1 : 1;
    rest.remove_prefix(1);
  } else if (rest.starts_with(unicode_minus)) {
    sign = -1;
    rest.remove_prefix(unicode_minus.size());
  }
  struct Word {
    std::string_view text;
    double value;
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr std::string_view windows = "1.#";  // of its older C library, with zeros: "1.#INF00"
  constexpr Word words[] = {{"nan", nan},         {"infinity", infinity}, {"inf", infinity},
                            {"1.#inf", infinity}, {"1.#ind", nan},        {"1.#qnan", nan},
                            {"1.#snan", nan}};
  for (const Word& word : words) {
    const std::string_view written = rest.substr(0, word.text.size());
    const bool is_it =
        std::equal(word.text.begin(), word.text.end(), written.begin(), written.end(),
                   [](char a, unsigned char b) { return a == std::tolower(b); });
    if (!is_it) continue;
    rest.remove_prefix(word.text.size());
    while (word.text.starts_with(windows) && rest.starts_with('0')) rest.remove_prefix(1);
    text = rest;
    return sign * word.value;
  }
  if (rest.starts_with('-')) return std::nullopt;  // a second sign
  const Decimal decimal = read_decimal(rest);
  if (decimal.length == 0) return std::nullopt;
  text = rest.substr(decimal.length);
  return sign * decimal.value;
}

bool goes_on(std::string_view number, std::string_view behind) {
  if (behind.empty()) return false;
  if (may_be_grouped(number, behind) || is_continuation(behind)) return true;
  if (behind.starts_with(',')) {
    return is_whole(without_sign(number)) && begins_with_digit(behind.substr(1));
  }
  // An infinity of which printf of Windows has rounded the letters: "1.#J", "1.$".
  if (number.ends_with('.') && (behind.starts_with('#') || behind.starts_with('$'))) return true;
  constexpr unsigned char first_of_others = 0x80;
  return static_cast<unsigned char>(behind.front()) >= first_of_others && !is_foreign_end(behind);
}

PrintedNumber number_of_cell(std::string_view text) {
  std::string_view rest = text;
  const auto value = take_number(rest);
  if (!value || rest.empty()) return {value};
  return {.is_cut = goes_on(text.substr(0, text.size() - rest.size()), rest)};
}

}  // namespace tune
