// Finds the program's own counter in a line, and remembers it for each iteration of the last
// results.
#include "tuner/plain/own_count.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "tuner/plain/named_number.h"

namespace tune {

namespace {

constexpr std::string_view count_digits = "0123456789";

/// "epoch 13" of `{"loss": 0.3, "epoch": 13}` and of "12:30:01 INFO epoch 13": the first word that
/// names a count, with a whole number behind it and signs alone in between. Empty if there is none.
std::string named_count(std::string_view line) {
  constexpr std::array<std::string_view, 5> words = {"epoch", "step", "iteration", "iter", "round"};
  constexpr std::string_view signs = " \t\"':=[(#";
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!is_letter(line[at]) || (at > 0 && is_letter(line[at - 1]))) continue;
    std::size_t end = at;
    std::string word;
    while (end < line.size() && is_letter(line[end])) word += static_cast<char>(line[end++] | 0x20);
    if (std::find(words.begin(), words.end(), word) == words.end()) continue;
    const std::size_t begin = line.find_first_not_of(signs, end);
    if (begin == line.npos || begin == end || count_digits.find(line[begin]) == count_digits.npos)
      continue;
    const std::size_t behind = std::min(line.find_first_not_of(count_digits, begin), line.size());
    std::string_view rest = line.substr(behind);
    if (rest.starts_with(".0"))
      rest.remove_prefix(std::min(rest.find_first_not_of("0", 1), rest.size()));
    const bool is_whole = rest.empty() || (rest.front() != '.' &&
                                           count_digits.find(rest.front()) == count_digits.npos);
    return is_whole ? word + " " + std::string(line.substr(begin, behind - begin)) : "";
  }
  return "";
}

/// "step" and 60 of "step 60". Numbers may be padded.
struct Count {
  std::string_view text;
  std::int64_t number = 0;
};

std::optional<Count> parse_count(std::string_view count) {
  const std::size_t at = count.find_first_of("0123456789");
  if (at == count.npos) return std::nullopt;
  Count parsed;
  const char* const end = count.data() + count.size();
  if (std::from_chars(count.data() + at, end, parsed.number).ec != std::errc()) return std::nullopt;
  const std::size_t last = count.substr(0, at).find_last_not_of(' ');
  parsed.text = count.substr(0, last == count.npos ? 0 : last + 1);
  return parsed;
}

// Fewer may differ by chance, unless another run has the same ones.
constexpr std::ptrdiff_t least_counts = 3, least_confirmed = 2;

}  // namespace

std::string count_in(std::string_view line) {
  constexpr std::size_t most = 64;
  if (std::string named = named_count(line); !named.empty()) return named;
  const std::size_t at = line.find_first_of(count_digits);
  if (at == line.npos) return "";
  const std::size_t end = std::min(line.find_first_not_of(count_digits, at), line.size());
  const bool is_whole = end == line.size() || line[end] != '.';
  return is_whole && end <= most ? std::string(line.substr(0, end)) : "";
}

bool OwnCount::has(std::string_view count) const {
  return std::any_of(counts_.begin(), counts_.end(),
                     [count](const auto& known) { return known.second == count; });
}

void OwnCount::note(std::int64_t iteration, std::string_view line, bool is_restored) {
  constexpr std::size_t most = 1'000;
  const std::int64_t last = counts_.empty() ? 0 : counts_.rbegin()->first;
  if (!tells_ || iteration < 1 || iteration > last + 1) return;
  std::string count = count_in(line);
  if (const auto known = counts_.find(iteration); known != counts_.end()) {
    // Seconds that have gone by, or steps that hang on a hyperparameter.
    const bool is_same = known->second == count;
    tells_ = is_same || is_restored;
    if (is_same && !is_restored) confirmed_ = std::max(confirmed_, iteration);
    return;
  }
  if (counts_.size() >= most) return;
  const bool is_new = !has(count);
  if (is_restored && !is_new) return;
  tells_ = !count.empty() && is_new;
  counts_.emplace(iteration, std::move(count));
}

void OwnCount::know(std::int64_t iteration, std::string_view line) {
  const std::string count = count_in(line);
  if (iteration < 1 || count.empty() || has(count)) return;
  // Two in a row that a checkpoint has are as good as what two runs have counted alike.
  const bool is_new = counts_.try_emplace(iteration, count).second;
  if (is_new && counts_.contains(iteration - 1)) confirmed_ = std::max(confirmed_, iteration);
}

bool OwnCount::is_of(std::int64_t iteration, std::string_view line) const {
  // A program that counts anew after a restore says the first count again.
  const bool is_count = std::ssize(counts_) >= least_counts || confirmed_ >= least_confirmed;
  return is_count && repeats(iteration, line);
}

bool OwnCount::repeats(std::int64_t iteration, std::string_view line) const {
  const auto known = counts_.find(iteration);
  return tells_ && iteration >= 2 && known != counts_.end() && known->second == count_in(line);
}

/// From one iteration to the next; nothing: they are no such row.
std::optional<std::int64_t> OwnCount::step() const {
  std::optional<Count> before;
  std::int64_t iteration = 0, step = 0;
  for (const auto& [at, text] : counts_) {
    const auto count = parse_count(text);
    if (!count || (before && count->text != before->text)) return std::nullopt;
    if (before) {
      const std::int64_t more = count->number - before->number, apart = at - iteration;
      if (more % apart != 0 || (step != 0 && more / apart != step)) return std::nullopt;
      step = more / apart;
    }
    before = count;
    iteration = at;
  }
  return step > 0 ? std::optional(step) : std::nullopt;
}

bool OwnCount::would_be_of(std::int64_t iteration, std::string_view line) const {
  if (counts_.empty()) return false;
  const auto& [known, last_count] = *counts_.rbegin();
  if (iteration <= known) return is_of(iteration, line);
  if (!tells_ || std::ssize(counts_) < least_counts) return false;
  const auto step = this->step();
  const std::string text = count_in(line);
  const auto count = parse_count(text), last = parse_count(last_count);
  if (!step || !count || count->text != last->text) return false;
  const std::int64_t more = count->number - last->number;
  return more % *step == 0 && more / *step == iteration - known;
}

void LastCounts::begin(std::int64_t iteration, const std::vector<std::string>& counts) {
  std::int64_t of = iteration - std::ssize(counts);
  for (const std::string& count : counts) counts_[++of] = count;
}

void LastCounts::note(std::int64_t iteration, std::string_view line) {
  // Of a save that is found later still its trial has no metrics either.
  constexpr std::size_t most_results = 256;
  counts_[iteration] = count_in(line);
  if (counts_.size() > most_results) counts_.erase(counts_.begin());
}

std::vector<std::string> LastCounts::up_to(std::int64_t iteration) const {
  std::vector<std::string> counts;
  std::optional<Count> later;
  for (auto at = counts_.find(iteration); at != counts_.end() && counts.size() < most_kept;
       at = counts_.find(--iteration)) {
    const auto count = parse_count(at->second);
    if (!count || (later && (count->text != later->text || count->number >= later->number))) break;
    counts.push_back(at->second);
    later = count;
  }
  std::reverse(counts.begin(), counts.end());
  return counts;
}

void CountStep::note(std::int64_t iterations) {
  differs_ = differs_ || (seen_ > 0 && iterations != step_);
  step_ = iterations;
  ++seen_;
}

std::optional<std::int64_t> CountStep::known() const {
  constexpr int least = 2;
  return seen_ >= least && !differs_ ? std::optional(step_) : std::nullopt;
}

}  // namespace tune
