#include "tuner/plain/printed_counts.h"

#include <re2/re2.h>

#include <charconv>
#include <optional>

#include "tuner/plain/named_number.h"

namespace tune {

namespace {

std::optional<std::int64_t> count_from(std::string_view digits) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return error == std::errc() && end == digits.data() + digits.size() ? std::optional(count)
                                                                      : std::nullopt;
}

}  // namespace

std::string without_times(std::string_view text) {
  static const re2::RE2 time(
      "\\b\\d{4}[-/.]\\d{1,2}[-/.]\\d{1,2}(?:T|\\b)|\\d{1,2}:\\d{2}(?::\\d{2})?(?:[.,]\\d+)?\\b");
  std::string without(text);
  re2::RE2::GlobalReplace(&without, time, " ");
  return without;
}

std::vector<std::int64_t> counts_in(std::string_view text) {
  constexpr std::size_t most = 64;
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at < text.size() && counts.size() < most;) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const char before = at == 0 ? ' ' : text[at - 1];
    const char behind = end == text.size() ? ' ' : text[end];
    const bool is_fraction = behind == '.' && end + 1 < text.size() && is_digit(text[end + 1]);
    const bool is_part = before == '.' || before == '/' || behind == '%' || is_letter(behind);
    if (is_fraction) {
      ++end;
    } else if (!is_part) {
      if (const auto count = count_from(text.substr(at, end - at))) counts.push_back(*count);
    }
    at = end;
  }
  return counts;
}

std::vector<std::int64_t> named_counts_in(std::string_view text) {
  static const re2::RE2 named(
      "(?i)(?:^|[^a-z])(?:epochs?|ep|steps?|iter|iterations?|it|rounds?|batch|updates?|generation|"
      "gen|episode)[^a-z0-9]{0,4}(\\d{1,18})");
  std::vector<std::int64_t> counts;
  re2::StringPiece rest(text.data(), text.size()), digits;
  while (re2::RE2::FindAndConsume(&rest, named, &digits)) {
    if (const auto count = count_from({digits.data(), digits.size()})) counts.push_back(*count);
  }
  return counts;
}

}  // namespace tune
