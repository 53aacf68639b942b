#include "tuner/plain/epoch_bars.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "tuner/plain/named_number.h"

namespace tune {

namespace {

constexpr std::string_view sign_of_bar = "%|";

/// What a progress bar has in front of its percentage: of "Epoch 3:  12%|#" that is "Epoch 3:".
std::string_view title_of(std::string_view line) {
  const std::string_view before = line.substr(0, line.find_first_of("%|["));
  if (before.size() == line.size()) return line;
  return before.substr(0, before.find_last_not_of("0123456789 ") + 1);
}

/// What stays the same from one drawing of a bar to the next, whatever signs it is drawn with.
std::string shape_of(std::string_view line) {
  constexpr std::string_view signs = "/:|%[]()";
  std::string shape;
  std::copy_if(line.begin(), line.end(), std::back_inserter(shape),
               [signs](char c) { return is_letter(c) || signs.find(c) != signs.npos; });
  return shape;
}

std::optional<std::int64_t> take_count(std::string_view& text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return count;
}

/// Whether `next` differs from `title` in one number alone, and counts one more: "Epoch 4:" of
/// "Epoch 3:".
bool is_next_title(std::string_view title, std::string_view next) {
  const auto differs = std::mismatch(title.begin(), title.end(), next.begin(), next.end()).first;
  auto at = static_cast<std::size_t>(differs - title.begin());
  while (at > 0 && is_digit(title[at - 1])) --at;
  title.remove_prefix(at);
  next.remove_prefix(at);
  const auto count = take_count(title);
  const auto next_count = take_count(next);
  return count && next_count && *next_count == *count + 1 && title == next;
}

}  // namespace

bool is_bar(std::string_view line, bool overwritten) {
  return overwritten || (line.find('%') != line.npos && line.find('|') != line.npos);
}

EpochSteps::Line EpochSteps::take(std::string_view line) {
  static const re2::RE2 title("^[ \t\b]*(?i:epoch)[ :#]*\\[?\\d+(?: ?(?:/|of) ?\\d+)?\\]?[ :\b]*$");
  static const re2::RE2 steps("^[ \t\b]*(\\d+)/(\\d+|Unknown)[ \t]");
  const re2::StringPiece piece(line.data(), line.size());
  if (line.find_first_of("Ee") != line.npos && re2::RE2::PartialMatch(piece, title)) {
    is_below_title_ = true;
    return Line::title;
  }
  re2::StringPiece done, all;
  if (!is_below_title_ || !re2::RE2::PartialMatch(piece, steps, &done, &all)) return Line::other;
  return done == all ? Line::whole : Line::part;
}

void TitledBars::see(std::string_view line) {
  if (line.find(sign_of_bar) == line.npos) return;
  const std::string_view title = title_of(line);
  is_behind_other_ =
      !seen_title_.empty() && title != seen_title_ && !is_next_title(seen_title_, title);
  has_other_ = has_other_ || (title != title_ && !is_next_title(title_, title));
  seen_title_ = title;
}

TitledBars::Drawing TitledBars::take(std::string_view line, bool overwritten, bool is_same) {
  const std::string_view title = title_of(line);
  const bool has_same_title = title == title_;
  const bool has_bar = line.find(sign_of_bar) != line.npos;
  const bool is_full = line.find("100%|") != line.npos;
  // A newline ends a bar's last drawing, and the one before another bar opens. That of the next
  // epoch shows the values of the one before until it is full, whatever has ended that.
  const bool is_next_part = has_bar && !is_full && is_next_title(title_, title);
  std::string shape = shape_of(line);
  const bool is_last_drawing = is_overwritten_ && (has_same_title || shape == shape_);
  const bool goes_on =
      is_next_part || (overwritten ? is_overwritten_ || has_same_title : is_last_drawing);
  const bool is_next = goes_on && has_bar && is_next_title(title_, title);
  const Drawing drawing = !goes_on || !is_same        ? Drawing::other
                          : is_next && lacks_result() ? Drawing::next
                                                      : Drawing::again;
  is_full_ = is_full;
  if (!is_same && has_bar && is_behind_other_) needs_other_ = true;
  if (is_next) {
    has_other_ = false;
    // What it shows first is the result of the epoch that has ended.
    has_result_ = !is_same && is_full_;
  } else if (drawing == Drawing::other) {
    has_result_ = true;
  }
  title_ = title;
  shape_ = std::move(shape);
  is_overwritten_ = overwritten;
  return drawing;
}

}  // namespace tune
