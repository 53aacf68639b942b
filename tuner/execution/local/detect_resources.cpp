// Affinity and cgroups for cpus; for gpus the order that the header gives.
#include "tuner/execution/local/detect_resources.h"

#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>
#include <system_error>

#include "tuner/process/nvml.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

struct CpuLimit {
  double cpus = std::numeric_limits<double>::infinity();
  std::string from;

  void at_most(double other, std::string other_from) {
    if (other >= cpus) return;
    cpus = other;
    from = std::move(other_from);
  }
};

/// cgroup v2: "max 100000" or "150000 100000".
void apply_cpu_max(const fs::path& group, CpuLimit& limit) {
  double quota = 0;
  double period = 0;
  const auto file = group / "cpu.max";
  if (std::ifstream(file) >> quota >> period && quota > 0 && period > 0) {
    limit.at_most(quota / period, "the cgroup limit in " + file.string());
  }
}

/// cgroup v1: -1 is no limit.
void apply_cfs_quota(const fs::path& group, CpuLimit& limit) {
  double quota = 0;
  double period = 0;
  const auto file = group / "cpu.cfs_quota_us";
  if (std::ifstream(file) >> quota && std::ifstream(group / "cpu.cfs_period_us") >> period &&
      quota > 0 && period > 0) {
    limit.at_most(quota / period, "the cgroup limit in " + file.string());
  }
}

/// `apply` on the group's folder and all above it up to `mount`. A container may not see its own
/// group's folder under the path that it is told, but always its mount.
template <class Apply>
void walk_up(const fs::path& mount, fs::path group, Apply apply) {
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) {
    apply(mount / group);
  }
  apply(mount);
}

bool names_controller(std::string_view controllers, std::string_view wanted) {
  while (!controllers.empty()) {
    const auto comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == wanted) return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

/// Lines of /proc/self/cgroup are "number:controllers:path", without controllers in v2.
void apply_cgroups(const DetectionRoots& roots, CpuLimit& limit) {
  const auto mounts = roots.sys / "fs" / "cgroup";
  std::ifstream groups(roots.proc / "self" / "cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (controllers.empty()) {
      walk_up(mounts, group, [&](const fs::path& at) { apply_cpu_max(at, limit); });
    } else if (names_controller(controllers, "cpu")) {
      for (const auto& mount : {mounts / controllers, mounts / "cpu"}) {
        walk_up(mount, group, [&](const fs::path& at) { apply_cfs_quota(at, limit); });
      }
    }
  }
}

/// Of a node that a job has a part of; not every cluster confines it to that.
void apply_slurm(const DetectionRoots& roots, CpuLimit& limit) {
  const std::string name = "SLURM_CPUS_ON_NODE";
  const auto value = roots.environment(name);
  if (!value) return;
  int cpus = 0;
  const char* const end = value->data() + value->size();
  const auto [stopped, error] = std::from_chars(value->data(), end, cpus);
  if (error == std::errc() && stopped == end && cpus > 0) {
    limit.at_most(cpus, name + "=" + *value);
  }
}

void detect_cpus(const DetectionRoots& roots, DetectedResources& found) {
  CpuLimit limit;
  limit.at_most(roots.affinity_cpus(), "the scheduler's affinity");
  apply_slurm(roots, limit);
  apply_cgroups(roots, limit);
  found.cpus = std::max(1, static_cast<int>(std::floor(limit.cpus)));
  found.cpus_from = std::move(limit.from);
}

/// The devices in a list as CUDA reads it: what follows an invalid entry ("-1", "NoDevFiles") does
/// not count.
std::vector<std::string> devices_in(std::string_view list) {
  std::vector<std::string> devices;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (name.empty() || name.front() == '-' || name == "NoDevFiles") break;
    devices.emplace_back(name);
  }
  return devices;
}

bool gpus_from_environment(const DetectionRoots& roots, DetectedResources& found) {
  for (const std::string name : {"CUDA_VISIBLE_DEVICES", "SLURM_STEP_GPUS"}) {
    const auto value = roots.environment(name);
    if (!value) continue;
    found.gpus = devices_in(*value);
    found.gpus_from = name + "='" + *value + "'";
    return true;
  }
  return false;
}

bool gpus_from_nvml(const DetectionRoots& roots, DetectedResources& found) {
  auto answer = ask_nvml(roots.nvml_library);
  if (!answer.library_found) return false;
  found.gpus_from = roots.nvml_library;
  found.gpus = std::move(answer.devices);
  if (!answer.problem.empty()) {
    found.notices.push_back(
        "It is not known how many gpus there are, so none are used: " + answer.problem +
        ". If there are some, say how many with --resources gpu=N.");
  }
  return true;
}

bool is_device_name(std::string_view name) {
  constexpr std::string_view prefix = "nvidia";
  return name.size() > prefix.size() && name.substr(0, prefix.size()) == prefix &&
         std::all_of(name.begin() + prefix.size(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

template <class Counts>
std::size_t count_entries(const fs::path& folder, Counts counts) {
  std::error_code error;
  std::size_t count = 0;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (counts(entry->path().filename().string())) ++count;
  }
  return count;
}

/// A container may see the driver's whole list and only some device files, or no list at all.
bool gpus_from_files(const DetectionRoots& roots, DetectedResources& found) {
  const auto listed = roots.proc / "driver" / "nvidia" / "gpus";
  const auto in_list = count_entries(listed, [](const std::string&) { return true; });
  const auto in_dev = count_entries(roots.dev, is_device_name);
  const auto count = in_list == 0 || in_dev == 0 ? in_list + in_dev : std::min(in_list, in_dev);
  if (count == 0) return false;
  for (std::size_t i = 0; i < count; ++i) found.gpus.push_back(std::to_string(i));
  found.gpus_from = in_dev == count ? (roots.dev / "nvidia*").string() : listed.string();
  return true;
}

int count_affinity_cpus() {
  for (int room = 1024; room <= 1024 * 1024; room *= 2) {
    cpu_set_t* set = CPU_ALLOC(room);
    const std::size_t bytes = CPU_ALLOC_SIZE(room);
    const bool fits = ::sched_getaffinity(0, bytes, set) == 0;
    const int count = fits ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (fits) return count;
  }
  return 1;
}

std::optional<std::string> environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace

DetectionRoots machine_roots() {
  DetectionRoots roots;
  roots.environment = environment_variable;
  roots.affinity_cpus = count_affinity_cpus;
  return roots;
}

Resources DetectedResources::totals() const {
  Resources totals{{"cpu", cpus}};
  if (!gpus.empty()) totals["gpu"] = static_cast<double>(gpus.size());
  return totals;
}

DetectedResources detect_resources(const DetectionRoots& roots) {
  DetectedResources found;
  detect_cpus(roots, found);
  const bool any = gpus_from_environment(roots, found) || gpus_from_nvml(roots, found) ||
                   gpus_from_files(roots, found);
  if (!any) found.gpus_from = "no sign of any";
  return found;
}

}  // namespace tune
