// Compares names word by word: equal, abbreviated, or one edit apart.
#include "tuner/plain/name_meant.h"

#include <algorithm>
#include <cctype>

#include "tuner/base/nearest_name.h"

namespace tune {

namespace {

bool is_in_word(char c) {
  const auto letter = static_cast<unsigned char>(c);
  return std::isalnum(letter) != 0 || letter >= 0x80;
}

/// "Avg/loss" is "avg" and "loss".
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool is_within = false;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool is_kept = is_in_word(c);
    if (is_kept && !is_within) words.emplace_back();
    if (is_kept) words.back() += static_cast<char>(std::tolower(letter));
    is_within = is_kept;
  }
  return words;
}

bool is_same_word(const std::string& a, const std::string& b) { return a == b; }

/// "acc" for "accuracy".
bool is_short_for(const std::string& a, const std::string& b) {
  constexpr std::size_t least_letters = 3;
  return a == b ||
         (std::min(a.size(), b.size()) >= least_letters && (a.starts_with(b) || b.starts_with(a)));
}

/// The names that end with `words`, by what `is_same` says of two words; only the first that has
/// no other words, if there is one.
template <class IsSame>
std::vector<std::string> ending_with(const std::vector<std::string>& words, IsSame is_same,
                                     std::string_view metric,
                                     std::span<const std::string> printed) {
  constexpr std::size_t most = 4;
  std::vector<std::string> longer;
  for (const std::string& name : printed) {
    const std::vector<std::string> its = words_of(name);
    if (name == metric || its.size() < words.size()) continue;
    if (!std::equal(words.rbegin(), words.rend(), its.rbegin(), is_same)) continue;
    if (its.size() == words.size()) return {name};
    if (longer.size() < most) longer.push_back(name);
  }
  return longer;
}

}  // namespace

std::vector<std::string> names_meant(std::string_view metric,
                                     std::span<const std::string> printed) {
  const std::vector<std::string> words = words_of(metric);
  if (words.empty()) return {};
  auto meant = ending_with(words, is_same_word, metric, printed);
  if (meant.empty()) meant = ending_with(words, is_short_for, metric, printed);
  if (!meant.empty()) return meant;
  const auto near = nearest_name(metric, printed);
  return near && *near != metric ? std::vector{*near} : std::vector<std::string>{};
}

std::string did_you_mean(std::string_view metric, std::span<const std::string> printed) {
  std::string question;
  for (const std::string& name : names_meant(metric, printed)) {
    question += (question.empty() ? "did you mean '" : " or '") + name + "'";
  }
  return question.empty() ? "" : question + "?";
}

std::string nearest_printed(std::string_view metric, std::span<const std::string> printed) {
  const std::vector<std::string> words = words_of(metric);
  std::string nearest;
  std::pair<std::size_t, bool> most = {0, false};  // of its last words, and whether it has any
  for (const std::string& name : printed) {
    const std::vector<std::string> its = words_of(name);
    const auto differing =
        std::mismatch(words.rbegin(), words.rend(), its.rbegin(), its.rend(), is_short_for);
    const bool has_any = std::find_first_of(words.begin(), words.end(), its.begin(), its.end(),
                                            is_short_for) != words.end();
    const std::pair<std::size_t, bool> now = {differing.first - words.rbegin(), has_any};
    if (now > most) {
      most = now;
      nearest = name;
    }
  }
  return nearest;
}

std::string_view end_meant(std::string_view metric, std::string_view text) {
  const std::vector<std::string> words = words_of(metric);
  while (!text.empty() && !is_in_word(text.back())) text.remove_suffix(1);
  std::size_t begin = text.size();
  for (std::size_t i = 0; i < words.size() && begin > 0; ++i) {
    while (begin > 0 && !is_in_word(text[begin - 1])) --begin;
    while (begin > 0 && is_in_word(text[begin - 1])) --begin;
  }
  const std::string_view end = text.substr(begin);
  const std::vector<std::string> its = words_of(end);
  const bool is_meant = !words.empty() && std::equal(words.begin(), words.end(), its.begin(),
                                                     its.end(), is_short_for);
  return is_meant ? end : std::string_view();
}

bool is_meant_in(std::string_view metric, std::string_view text) {
  const std::vector<std::string> words = words_of(metric);
  const std::vector<std::string> all = words_of(text);
  return !words.empty() &&
         std::search(all.begin(), all.end(), words.begin(), words.end(), is_short_for) != all.end();
}

}  // namespace tune
