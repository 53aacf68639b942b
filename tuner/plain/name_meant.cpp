#include "tuner/plain/name_meant.h"

#include <algorithm>
#include <cctype>

#include "tuner/core/nearest_name.h"

namespace tune {

namespace {

/// "Avg/loss" is " avg loss": each word has a blank in front of it.
std::string words_of(std::string_view name) {
  std::string words = " ";
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    const bool is_kept = std::isalnum(letter) != 0 || letter >= 0x80;
    if (is_kept) {
      words += static_cast<char>(std::tolower(letter));
    } else if (words.back() != ' ') {
      words += ' ';
    }
  }
  return words;
}

}  // namespace

std::vector<std::string> names_meant(std::string_view metric,
                                     std::span<const std::string> printed) {
  constexpr std::size_t most = 4;
  const std::string words = words_of(metric);
  std::vector<std::string> longer;
  for (const std::string& name : printed) {
    if (name == metric) continue;
    const std::string its = words_of(name);
    if (its == words) return {name};
    if (its.ends_with(words) && longer.size() < most) longer.push_back(name);
  }
  if (!longer.empty()) return longer;
  const auto near = nearest_name(metric, printed);
  return near && *near != metric ? std::vector{*near} : std::vector<std::string>{};
}

}  // namespace tune
