// Adds up /proc/PID/stat by process group: CPU time, stopped, waiting for a disk.
#include "tuner/process/group_activity.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>

#include "tuner/process/process_stat.h"

namespace tune {

std::vector<GroupActivity> activity_of(const std::vector<std::int64_t>& groups) {
  std::vector<GroupActivity> activities(groups.size());
  std::map<std::int64_t, std::size_t> place_of;
  for (std::size_t i = 0; i < groups.size(); ++i) place_of[groups[i]] = i;
  for (const pid_t pid : all_processes()) {
    const auto stat = read_process_stat(pid);
    const auto place = stat ? place_of.find(stat->group) : place_of.end();
    if (place == place_of.end() || stat->is_dead()) continue;
    GroupActivity& activity = activities[place->second];
    const bool is_stopped = stat->state == 'T' || stat->state == 't';
    activity.is_stopped = activity.is_stopped || (is_stopped && pid == stat->group);
    activity.waits_for_disk = activity.waits_for_disk || stat->state == 'D';
    activity.cpu_s += stat->cpu_s;
  }
  return activities;
}

std::optional<Seconds> since_last_write(const std::vector<std::filesystem::path>& files) {
  std::optional<Seconds> least;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& file : files) {
    std::error_code error;
    const auto written = std::filesystem::last_write_time(file, error);
    if (error) continue;
    const Seconds age_s = std::chrono::duration<double>(now - written).count();
    least = std::min(least.value_or(age_s), age_s);
  }
  return least;
}

}  // namespace tune
