// Recognises echoes on the other stream, closing summaries, and a first result that repeats the
// restored one.
#include "tuner/plain/said_again.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

#include "tuner/plain/named_number.h"

namespace tune {

namespace {

/// So many results one stream may be ahead of the other.
constexpr std::size_t most_ahead = 16;

/// A number as it is written with as few digits as tell it from all others.
struct Written {
  std::string digits;  ///< the first one stands before the point
  int exponent = 0;    ///< of ten

  explicit Written(double value) {
    std::array<char, 32> text{};
    const char* const end =
        std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific)
            .ptr;
    const char* const begin = text.data();
    const char* const mark = std::find(begin, end, 'e');
    std::copy_if(begin, mark, std::back_inserter(digits),
                 [](unsigned char c) { return std::isdigit(c) != 0; });
    const char* const sign = mark == end ? end : mark + (mark[1] == '+' ? 2 : 1);
    std::from_chars(sign, end, exponent);
  }
  /// Behind the point: of 0.0250 three.
  int decimals() const { return static_cast<int>(digits.size()) - 1 - exponent; }
};

/// Without zeros at its ends: of 0.0250 two.
std::size_t digits_of(double value) { return Written(value).digits.size(); }

/// By how much rounding to so many decimals moves a number at most, and a little for the double.
double rounding(int decimals) { return 0.5001 * std::pow(10.0, -decimals); }

/// As two ways to print one number have it: with three digits, and with all.
bool is_close(double a, double b) {
  constexpr double tolerance = 1e-3;
  constexpr std::size_t telling_digits = 3;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  const double apart = std::abs(a - b);
  if (a == b || !std::isfinite(apart)) return a == b;
  if (apart <= tolerance * std::max(std::abs(a), std::abs(b))) return true;
  const Written first(a), second(b);
  const Written& rounded = first.decimals() < second.decimals() ? first : second;
  return rounded.digits.size() >= telling_digits && apart <= rounding(rounded.decimals());
}

bool are_close(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_close);
}

}  // namespace

SaidAgain::Verdict SaidAgain::judge(std::size_t stream, std::string_view text,
                                    const std::optional<ClosingLine>& line,
                                    const std::vector<double>& values) {
  const Phase phase = line ? line->phase : Phase::unnamed;
  if (is_echo(stream, phase, values)) return {Kind::echo};
  const Result result = {values.empty() ? 0 : values.front(), title_ != ClosingTitle::Of::nothing};
  const bool is_of_other_phase =
      line && line->phase != Phase::unnamed && counted_ && line->phase != *counted_;
  if (line && !is_of_other_phase && is_summary(*line, result.value)) return {Kind::summary};
  using Count = LineKinds::Count;
  LineKinds::Answer answer = line ? kinds_.take(*line, text) : LineKinds::Answer{};
  for (std::size_t i = 0; i < answer.held.size(); ++i) {
    if (answer.held[i]) note(held_[i]);
  }
  if (!answer.held.empty()) held_.clear();
  if (answer.counts == Count::no) return {Kind::other_kind, std::move(answer.held)};
  auto& mine = not_repeated_[stream];
  mine.push_back({phase, values});
  if (!is_of_earlier_ && mine.size() > most_ahead) mine.pop_front();
  if (answer.counts == Count::later) {
    held_.push_back(result);
    return {Kind::held};
  }
  note(result);
  return {Kind::result, std::move(answer.held)};
}

void SaidAgain::know(const ValueRange& range) {
  for (const double value : {range.least, range.greatest}) {
    least_ = std::fmin(least_, value);
    most_ = std::fmax(most_, value);
    if (std::isfinite(value)) decimals_ = std::max(decimals_, Written(value).decimals());
  }
}

void SaidAgain::note(const Result& result) {
  ++results_;
  know({result.value, result.value});
  has_titled_ = has_titled_ || result.is_titled;
}

void SaidAgain::begin_launch() {
  is_of_earlier_ = false;
  kinds_.begin_launch();
  held_.clear();
  not_repeated_ = {};
  titles_ = {};
  title_ = ClosingTitle::Of::nothing;
}

/// A line of another phase says something else, whatever its numbers.
bool SaidAgain::is_echo(std::size_t stream, Phase phase, const std::vector<double>& values) {
  auto& other = not_repeated_[1 - stream];
  const auto said = std::find_if(other.begin(), other.end(), [&](const Said& each) {
    return each.phase == phase && are_close(each.values, values);
  });
  if (said == other.end()) return false;
  other.erase(other.begin(), said + 1);
  return true;
}

/// A test's value says nothing of whether it is a result: it may be better than all. A new best is
/// beyond all values so far, so a line that praises one is a result.
bool SaidAgain::is_summary(const ClosingLine& line, double value) const {
  if (results_ > 0 && !has_titled_) {
    if (title_ == ClosingTitle::Of::summary) return true;
    if (title_ == ClosingTitle::Of::best && is_among(value)) return true;
  }
  if (kinds_.has_repeated() && (line.after_words & ~kinds_.after_words()) != 0) return true;
  const bool is_like_results =
      results_ == 0 || kinds_.are_mixed() || kinds_.begin_all_with(line.beginning);
  return !is_like_results && line.sums_up && is_among(value);
}

/// Not beyond all results so far, by more than the digits that those have.
bool SaidAgain::is_among(double value) const {
  const double off = decimals_ > no_decimals ? rounding(decimals_) : 0;
  return is_close(value, least_) || is_close(value, most_) ||
         (value > least_ - off && value < most_ + off);
}

FirstResult judge_first(const Metrics& first, const Metrics& restored) {
  constexpr std::size_t telling_digits = 4;
  bool is_telling = false;
  for (const Metric& metric : first.numbers) {
    if (restored.find(metric.name) != metric.value) return FirstResult::trained;
    is_telling = is_telling || digits_of(metric.value) >= telling_digits;
  }
  return is_telling ? FirstResult::evaluated : FirstResult::unclear;
}

}  // namespace tune
