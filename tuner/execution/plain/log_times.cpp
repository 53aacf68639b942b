// A bounded list of (size, time) marks for each log, under a mutex.
#include "tuner/execution/plain/log_times.h"

#include <algorithm>

namespace tune {

void LogTimes::note(std::size_t log, std::uint64_t bytes, std::int64_t ns, std::int64_t lag_ns) {
  const std::lock_guard lock(mutex_);
  auto& growths = growths_.at(log);
  if (!growths.empty() && bytes <= growths.back().bytes) return;
  if (growths.size() >= most_kept) growths.pop_front();
  growths.push_back({bytes, ns, lag_ns});
}

std::optional<LogTimes::Growth> LogTimes::growth_to(std::size_t log, std::uint64_t end) const {
  const std::lock_guard lock(mutex_);
  const auto& growths = growths_.at(log);
  const auto found = std::lower_bound(
      growths.begin(), growths.end(), end,
      [](const Growth& growth, std::uint64_t bytes) { return growth.bytes < bytes; });
  // What the first one that is kept has grown from is not known any more.
  if (found == growths.end() || (found == growths.begin() && growths.size() >= most_kept)) {
    return std::nullopt;
  }
  return *found;
}

}  // namespace tune
