// Finds the words before a metric's number, and in them those that stand for a phase, a test after
// the training, or a summary.
#include "tuner/plain/closing_line.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>

#include "tuner/plain/epoch_bars.h"
#include "tuner/plain/named_number.h"
#include "tuner/plain/printed_counts.h"

namespace tune {

namespace {

/// Takes a unit of time from the front of `text`, with the blank in front of it: of "2 min 5 s" the
/// first one is not there at another time.
void take_unit(std::string_view& text) {
  constexpr std::string_view units[] = {"h",       "hour", "hours",  "m",   "min",     "mins",
                                        "minutes", "s",    "minute", "sec", "seconds", "secs",
                                        "second",  "ms",   "day",    "d",   "days",    "hr"};
  if (!text.starts_with(' ')) return;
  const std::string_view rest = text.substr(1);
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_letter);
  const std::string_view word(rest.begin(), end);
  if (std::find(std::begin(units), std::end(units), word) == std::end(units)) return;
  text = rest.substr(word.size());
}

/// The length of the number that `text` begins with, such as "nan" or "1e-05", with a unit behind
/// it: "3ms/step" is "950us/step" at another time. None: 0.
std::size_t number_with_unit(std::string_view text) {
  std::string_view rest = text;
  if (!take_number(rest)) return 0;
  const bool is_word = is_letter(text[text.size() - rest.size() - 1]);
  if (is_word && !rest.empty() && is_letter(rest.front())) return 0;  // "info"
  while (!rest.empty() && (is_letter(rest.front()) || rest.front() == '/')) rest.remove_prefix(1);
  take_unit(rest);
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

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

/// That of the last word in `text` that names one by itself: "training_iteration" does not.
/// `word_at` becomes its place.
Phase phase_in(std::string_view text, std::size_t& word_at) {
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
  Phase phase = Phase::unnamed;
  for (auto at = text.begin(); at != text.end();) {
    const auto end = std::find_if_not(at, text.end(), is_in_name);
    std::string_view found(at, end);
    while (found.ends_with('.')) found.remove_suffix(1);  // "Val. Acc"
    for (const auto& [word, named] : words) {
      if (found != word) continue;
      phase = named;
      word_at = static_cast<std::size_t>(at - text.begin());
    }
    at = std::find_if(end, text.end(), is_in_name);
  }
  return phase;
}

/// "epoch" and "lr" of "epoch=3 lr=0.1 loss=0.5", where `name` is "loss"; not what tells a time,
/// which is no more there at the end.
std::vector<std::string> neighbours_in(std::string_view line, std::string_view name) {
  constexpr std::size_t most = 64;
  constexpr std::string_view times[] = {"eta", "time", "elapsed", "remaining"};
  std::vector<std::string> names;
  for (std::size_t at = line.find_first_of(":="); at != line.npos && names.size() < most;
       at = line.find_first_of(":=", at + 1)) {
    std::size_t end = at;
    while (end > 0 && (is_blank(line[end - 1]) || is_quote(line[end - 1]))) --end;
    std::size_t begin = end;
    while (begin > 0 && is_in_name(line[begin - 1])) --begin;
    const std::string_view found = line.substr(begin, end - begin);
    if (found.empty() || found == name || !is_letter(found.front())) continue;
    if (std::find(std::begin(times), std::end(times), found) != std::end(times)) continue;
    if (number_at(line.substr(at), NumberForm::colon).value) names.emplace_back(found);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

ClosingLine row_of_table() {
  return {.beginning = "\t", .sums_up = false};  // no line with a name begins so
}

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::training:
      return "training";
    case Phase::test:
      return "a test";
    case Phase::validation:
      return "validation";
    case Phase::unnamed:
      break;
  }
  return "";
}

Phase phase_named_in(std::string_view text) {
  std::size_t at = 0;
  return phase_in(in_small_letters(text), at);
}

std::optional<ClosingLine> closing_line(std::string_view line, std::string_view name,
                                        bool overwritten) {
  const auto at = place_of_number(line, name);
  if (!at) return std::nullopt;
  const std::string small = in_small_letters(line);
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
  closing.is_bar = is_bar(line, overwritten);
  const std::size_t first = small.find_first_not_of(" \t");
  closing.word = first < *at ? first : *at;
  closing.phase = phase_in(std::string_view(small).substr(0, *at), closing.word);
  if (!closing.is_bar) {
    closing.neighbours = neighbours_in(small, small.substr(*at, name.size()));
    closing.counts = counts_in(without_times(std::string_view(small).substr(0, *at)));
  }
  return closing;
}

}  // namespace tune
