// Edit distance with transpositions (optimal string alignment), and the suggestion made of it.
#include "tuner/base/nearest_name.h"

#include <algorithm>
#include <vector>

#include "tuner/base/quoted.h"

namespace tune {

int edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: two back (for swaps), one back, and the one being filled.
  std::vector<int> before_last(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::optional<std::string> nearest_name(std::string_view name,
                                        std::span<const std::string> candidates) {
  const int length = static_cast<int>(name.size());
  int limit = std::min(length - 1, std::max(2, length / 3));
  std::optional<std::string> nearest;
  for (const std::string& candidate : candidates) {
    const int edits = edit_distance(name, candidate);
    if (edits > limit) continue;
    nearest = candidate;
    limit = edits - 1;
  }
  return nearest;
}

std::string unknown_name(std::string_view kind, std::string_view name,
                         std::span<const std::string> candidates) {
  std::string sentence = "unknown " + std::string(kind) + " " + as_quoted(name);
  if (const auto nearest = nearest_name(name, candidates)) {
    return sentence + ", did you mean '" + *nearest + "'?";
  }
  if (candidates.empty()) return sentence + ", there are none here";
  sentence += candidates.size() == 1 ? ", expected " : ", expected one of ";
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    sentence += (i == 0 ? "'" : ", '") + candidates[i] + "'";
  }
  return sentence;
}

}  // namespace tune
