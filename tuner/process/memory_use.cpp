// Memory of process groups from /proc and NVML, limits and OOM kills from cgroup v1 and v2.
#include "tuner/process/memory_use.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "tuner/process/nvml.h"
#include "tuner/process/process_stat.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// Of a file of lines "Name:  12 kB", or "name 12" in bytes.
std::optional<std::uint64_t> value_in(const fs::path& file, const std::string& name) {
  std::ifstream lines(file);
  for (std::string word; lines >> word; lines.ignore(unlimited, '\n')) {
    std::uint64_t value = 0;
    if (word != name || !(lines >> value)) continue;
    std::string unit;
    if (lines.peek() != '\n') lines >> unit;
    return unit == "kB" ? value * 1024 : value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream text(file);
  std::uint64_t value = 0;
  return text >> value ? std::optional(value) : std::nullopt;
}

std::uint64_t bytes_of(pid_t pid) {
  const fs::path own = fs::path("/proc") / std::to_string(pid);
  if (const auto parts = value_in(own / "smaps_rollup", "Pss:")) return *parts;
  return value_in(own / "status", "VmRSS:").value_or(0);
}

/// What the group at `at` may still take. What it holds of files' pages comes free when needed.
std::uint64_t left_in(const fs::path& at) {
  if (const auto most = number_in(at / "memory.max")) {
    const auto now = number_in(at / "memory.current").value_or(0);
    const auto spare = value_in(at / "memory.stat", "inactive_file").value_or(0);
    const auto taken = now - std::min(now, spare);
    return *most - std::min(*most, taken);
  }
  if (const auto most = number_in(at / "memory.limit_in_bytes")) {
    const auto now = number_in(at / "memory.usage_in_bytes").value_or(0);
    const auto spare = value_in(at / "memory.stat", "total_inactive_file").value_or(0);
    const auto taken = now - std::min(now, spare);
    return *most - std::min(*most, taken);
  }
  return unlimited;
}

/// The least of the group and all above it.
std::uint64_t left_up_from(const fs::path& mount, fs::path group) {
  std::uint64_t left = left_in(mount);
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    left = std::min(left, left_in(mount / group));
  }
  return left;
}

/// Where this process's groups that count memory are mounted, and their paths from there.
std::vector<std::pair<fs::path, fs::path>> groups_of_self(const fs::path& proc,
                                                          const fs::path& sys) {
  std::vector<std::pair<fs::path, fs::path>> found;
  std::ifstream groups(proc / "self" / "cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && controllers != "memory") continue;
    found.emplace_back(sys / "fs" / "cgroup" / controllers,
                       fs::path(line.substr(second + 1)).relative_path());
  }
  return found;
}

/// Of the group, or of the nearest one above it that can be seen: in a container that is its own.
std::optional<std::uint64_t> kills_in(const fs::path& mount, fs::path group) {
  for (;; group = group.parent_path()) {
    for (const char* const file : {"memory.events", "memory.oom_control"}) {
      if (const auto kills = value_in(mount / group / file, "oom_kill")) return kills;
    }
    if (group.empty()) return std::nullopt;
  }
}

}  // namespace

std::vector<MemoryUse> memory_use_of(const std::vector<std::int64_t>& groups,
                                     const std::string& nvml_library) {
  std::vector<MemoryUse> uses(groups.size());
  std::map<std::int64_t, std::size_t> place_of;
  for (std::size_t i = 0; i < groups.size(); ++i) place_of[groups[i]] = i;
  std::map<std::int64_t, std::uint64_t> on_devices;
  for (const auto& [pid, bytes] : device_memory(nvml_library)) on_devices[pid] += bytes;
  for (const pid_t pid : all_processes()) {
    const auto stat = read_process_stat(pid);
    const auto place = stat ? place_of.find(stat->group) : place_of.end();
    if (place == place_of.end()) continue;
    uses[place->second].bytes += bytes_of(pid);
    const auto held = on_devices.find(pid);
    if (held != on_devices.end()) uses[place->second].device_bytes += held->second;
  }
  return uses;
}

std::uint64_t available_memory(const fs::path& proc, const fs::path& sys) {
  std::uint64_t available = value_in(proc / "meminfo", "MemAvailable:").value_or(0);
  for (const auto& [mount, group] : groups_of_self(proc, sys)) {
    available = std::min(available, left_up_from(mount, group));
  }
  return available;
}

std::uint64_t out_of_memory_kills(const fs::path& proc, const fs::path& sys) {
  for (const auto& [mount, group] : groups_of_self(proc, sys)) {
    if (const auto kills = kills_in(mount, group)) return *kills;
  }
  return value_in(proc / "vmstat", "oom_kill").value_or(0);
}

}  // namespace tune
