// The median of recent step times, and the words for what the processes of a slow step are doing.
#include "tuner/run/trials/hangs.h"

#include <algorithm>

namespace tune {

namespace {

enum class At { computing, idle, disk, stopped };

constexpr const char* phrases[] = {"computes", "uses no processor time",
                                   "waits for a disk or another device",
                                   "is stopped by a signal (kill -CONT lets it go on)"};

At what_is(const ProcessesSeen::Group& before, const ProcessesSeen::Group& now, Seconds between_s) {
  constexpr double least_share = 0.01;  // who waits wakes up now and then
  if (now.is_stopped) return At::stopped;
  if (now.waits_for_disk) return At::disk;
  return now.cpu_s - before.cpu_s < least_share * between_s ? At::idle : At::computing;
}

}  // namespace

std::optional<Seconds> RecentTimes::median(std::size_t least) const {
  const std::size_t known = std::min(count_, times_.size());
  if (known == 0 || known < least) return std::nullopt;
  auto times = times_;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(known / 2);
  std::nth_element(times.begin(), middle, times.begin() + static_cast<std::ptrdiff_t>(known));
  return *middle;
}

std::string state_of(const std::vector<std::string>& names, const ProcessesSeen& before,
                     const ProcessesSeen& now, Seconds between_s) {
  constexpr std::size_t most_named = 4;
  std::vector<At> all;
  const std::size_t count = std::min({names.size(), before.groups.size(), now.groups.size()});
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(what_is(before.groups[i], now.groups[i], between_s));
  }
  if (all.empty()) return "";
  const At worst = *std::max_element(all.begin(), all.end());
  std::string text;
  std::size_t named = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (all[i] != worst || ++named > most_named) continue;
    text += (text.empty() ? "" : ", ") + names[i];
  }
  if (named > most_named) text += " and " + std::to_string(named - most_named) + " others";
  return text + (named > 1 ? ", each " : " ") + phrases[static_cast<std::size_t>(worst)];
}

}  // namespace tune
