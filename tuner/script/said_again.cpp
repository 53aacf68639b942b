// Recognises echoes on the other stream, closing summaries, and a first result that repeats the
// restored one.
#include "tuner/script/said_again.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "tuner/script/named_number.h"

namespace tune {

namespace {

/// So many results one stream may be ahead of the other.
constexpr std::size_t most_ahead = 16;

/// As two ways to print one number have it: with three digits, and with all.
bool is_close(double a, double b) {
  constexpr double tolerance = 1e-3;
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

/// Without zeros at its ends: of 0.0250 two.
std::ptrdiff_t digits_of(double value) {
  std::array<char, 32> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
  return std::count_if(text.data(), std::find(text.data(), written.ptr, 'e'),
                       [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool are_close(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_close);
}

/// The length of the number that `text` begins with, such as "nan" or "1e-05", with a unit behind
/// it: "3ms/step" is "950us/step" at another time. None: 0.
std::size_t number_with_unit(std::string_view text) {
  std::string_view rest = text;
  if (!take_number(rest)) return 0;
  const bool is_word = is_letter(text[text.size() - rest.size() - 1]);
  if (is_word && !rest.empty() && is_letter(rest.front())) return 0;  // "info"
  while (!rest.empty() && (is_letter(rest.front()) || rest.front() == '/')) rest.remove_prefix(1);
  return text.size() - rest.size();
}

/// Words with which people name what stands for a whole training.
bool sums_up(std::string_view line) {
  constexpr std::string_view words[] = {"best",   "final",   "overall",  "summary", "restor",
                                        "total",  "average", "mean",     "finish",  "result",
                                        "lowest", "highest", "complete", "done"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return line.find(word) != line.npos; });
}

/// Words with which people name a measure of what has been trained, or a sum of several, one bit
/// for each that `beginning` has. A new best is an epoch's, and only what begins with which epoch
/// was best is none.
std::uint32_t after_words_in(std::string_view beginning) {
  constexpr std::string_view words[] = {"final",          "test",      "testing", "overall",
                                        "average",        "summary",   "total",   "best epoch",
                                        "best iteration", "best step", "cv"};
  const auto is_in_word = [beginning](std::size_t at) {
    return at < beginning.size() && beginning[at] != ' ' && beginning[at] != ':';
  };
  std::uint32_t found = 0;
  for (std::size_t i = 0; i < std::size(words); ++i) {
    for (auto at = beginning.find(words[i]); at != beginning.npos;
         at = beginning.find(words[i], at + 1)) {
      const bool is_phrase = words[i].find(' ') != words[i].npos;
      const bool may_begin =
          is_phrase ? beginning.find_first_not_of(" :") == at : at == 0 || !is_in_word(at - 1);
      if (may_begin && !is_in_word(at + words[i].size())) found |= 1U << i;
    }
  }
  return found;
}

/// That of the last word in `text` that names one by itself: "training_iteration" does not.
Phase phase_in(std::string_view text) {
  constexpr std::pair<std::string_view, Phase> words[] = {{"train", Phase::training},
                                                          {"training", Phase::training},
                                                          {"test", Phase::test},
                                                          {"testing", Phase::test},
                                                          {"val", Phase::validation},
                                                          {"valid", Phase::validation},
                                                          {"validation", Phase::validation},
                                                          {"validate", Phase::validation},
                                                          {"validating", Phase::validation},
                                                          {"dev", Phase::validation},
                                                          {"eval", Phase::validation},
                                                          {"evaluation", Phase::validation}};
  Phase phase = Phase::unknown;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_in_name);
    std::string_view found(at, end);
    while (found.ends_with('.')) found.remove_suffix(1);  // "Val. Acc"
    for (const auto& [word, named] : words) {
      if (found == word) phase = named;
    }
    at = std::find_if(end, text.end(), is_in_name);
  }
  return phase;
}

}  // namespace

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::training:
      return "training";
    case Phase::test:
      return "a test";
    case Phase::validation:
      return "validation";
    case Phase::unknown:
      break;
  }
  return "";
}

std::optional<ClosingLine> closing_line(std::string_view line, std::string_view name) {
  const auto at = place_of_number(line, name);
  if (!at) return std::nullopt;
  std::string small(line);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  ClosingLine closing{.beginning = "", .sums_up = sums_up(small)};
  std::string& beginning = closing.beginning;
  for (std::string_view rest = std::string_view(small).substr(0, *at); !rest.empty();) {
    const bool is_in_word = !beginning.empty() && is_letter(beginning.back());
    const std::size_t number = is_in_word ? 0 : number_with_unit(rest);
    const char c = rest.front();
    // A number has more digits later on, or is NaN, and bars are drawn with other signs.
    const bool is_kept = number == 0 && (c == ':' || is_letter(c));
    if (is_kept) {
      beginning += c;
    } else if (!beginning.ends_with(' ')) {
      beginning += ' ';
    }
    rest.remove_prefix(std::max<std::size_t>(number, 1));
  }
  closing.after_words = after_words_in(beginning);
  closing.phase = phase_in(std::string_view(small).substr(0, *at));
  return closing;
}

SaidAgain::Verdict SaidAgain::judge(std::size_t stream, const std::optional<ClosingLine>& line,
                                    const std::vector<double>& values) {
  if (is_echo(stream, values)) return {Kind::echo};
  const double value = values.empty() ? 0 : values.front();
  const Phase phase = line ? line->phase : Phase::unknown;
  const bool is_other = phase != Phase::unknown && counted_ != Phase::unknown && phase != counted_;
  if (!is_other && is_summary(line, value)) return {Kind::summary};
  const Verdict verdict = judge_phase(phase);
  if (verdict.kind == Kind::other_phase) return verdict;
  auto& mine = not_repeated_[stream];
  mine.push_back(values);
  if (mine.size() > most_ahead) mine.pop_front();
  if (verdict.kind == Kind::held) return verdict;
  if (results_ == 0) least_ = most_ = value;
  const std::string beginning = line ? line->beginning : "";
  if (std::find(beginnings_.begin(), beginnings_.end(), beginning) != beginnings_.end()) {
    has_repeated_ = true;
  } else if (beginnings_.size() < most_beginnings) {
    beginnings_.push_back(beginning);
  }
  is_mixed_ = !line || is_mixed_ || beginnings_.size() > 1;
  if (line) after_words_ |= line->after_words;
  ++results_;
  least_ = std::fmin(least_, value);
  most_ = std::fmax(most_, value);
  has_titled_ = has_titled_ || (line && title_ != ClosingTitle::Of::nothing);
  return verdict;
}

/// Lines of training and of validation with one name are no one curve. Which of them the program
/// prints shows with the second one: if that is of the same phase, there may be no other.
SaidAgain::Verdict SaidAgain::judge_phase(Phase phase) {
  const Phase held = std::exchange(held_, Phase::unknown);
  if (phase == Phase::unknown) return {Kind::result, true};
  if (counted_ == Phase::unknown && held == Phase::unknown && phase != Phase::validation) {
    held_ = phase;
    return {Kind::held};
  }
  if (counted_ == Phase::unknown) counted_ = std::max(held, phase);
  return {phase == counted_ ? Kind::result : Kind::other_phase, held == counted_};
}

bool SaidAgain::is_echo(std::size_t stream, const std::vector<double>& values) {
  auto& other = not_repeated_[1 - stream];
  const auto said = std::find_if(other.begin(), other.end(),
                                 [&](const auto& each) { return are_close(each, values); });
  if (said == other.end()) return false;
  other.erase(other.begin(), said + 1);
  return true;
}

/// A test's value says nothing of whether it is a result: it may be better than all. A new best is
/// beyond all values so far, so a line that praises one is a result.
bool SaidAgain::is_summary(const std::optional<ClosingLine>& line, double value) const {
  if (!line) return false;
  if (results_ > 0 && !has_titled_) {
    if (title_ == ClosingTitle::Of::summary) return true;
    if (title_ == ClosingTitle::Of::best && is_among(value)) return true;
  }
  if (has_repeated_ && (line->after_words & ~after_words_) != 0) return true;
  if (is_mixed_ || results_ == 0 || line->beginning == beginnings_.front() || !line->sums_up) {
    return false;
  }
  return is_among(value);
}

/// Not beyond all results so far.
bool SaidAgain::is_among(double value) const {
  return is_close(value, least_) || is_close(value, most_) || (value > least_ && value < most_);
}

FirstResult judge_first(const Metrics& first, const Metrics& restored) {
  constexpr std::ptrdiff_t telling_digits = 4;
  bool is_telling = false;
  for (const Metric& metric : first.numbers) {
    if (restored.find(metric.name) != metric.value) return FirstResult::trained;
    is_telling = is_telling || digits_of(metric.value) >= telling_digits;
  }
  return is_telling ? FirstResult::evaluated : FirstResult::unclear;
}

}  // namespace tune
