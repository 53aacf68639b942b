// Finds the program's own counter in a line, and remembers it for each iteration of the last
// results.
#include "tuner/plain/own_count.h"

#include <algorithm>

namespace tune {

namespace {

/// "step 60" of "step 60: val loss 2.31"; empty if there is no whole number, or it stands far away.
std::string count_of_line(std::string_view line) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::size_t most = 64;
  const std::size_t at = line.find_first_of(digits);
  if (at == line.npos) return "";
  const std::size_t end = std::min(line.find_first_not_of(digits, at), line.size());
  const bool is_whole = end == line.size() || line[end] != '.';
  return is_whole && end <= most ? std::string(line.substr(0, end)) : "";
}

}  // namespace

void OwnCount::note(std::int64_t iteration, std::string_view line, bool is_restored) {
  constexpr std::size_t most = 1'000;
  // Other launches say the same, or more.
  if (!tells_ || iteration != std::ssize(counts_) + 1 || counts_.size() >= most) return;
  std::string count = count_of_line(line);
  const bool is_new = std::find(counts_.begin(), counts_.end(), count) == counts_.end();
  if (is_restored && !is_new) return;
  tells_ = !count.empty() && is_new;
  counts_.push_back(std::move(count));
}

bool OwnCount::is_of(std::int64_t iteration, std::string_view line) const {
  constexpr std::ptrdiff_t least = 3;  // fewer may differ by chance
  // A program that counts anew after a restore says the first count again.
  if (!tells_ || std::ssize(counts_) < least) return false;
  if (iteration < 2 || iteration > std::ssize(counts_)) return false;
  return counts_[static_cast<std::size_t>(iteration - 1)] == count_of_line(line);
}

}  // namespace tune
