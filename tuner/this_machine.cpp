// The kernel's and the user's words on memory, processes and gpus.
#include "tuner/this_machine.h"

#include "tuner/process/group_activity.h"
#include "tuner/process/memory_use.h"
#include "tuner/run.h"

namespace tune {

MemoryMeter machine_memory() {
  MemoryMeter meter;
  meter.of = [](const std::vector<std::int64_t>& groups) {
    std::vector<MemoryMeter::Use> uses;
    for (const MemoryUse& use : memory_use_of(groups)) {
      uses.push_back({use.bytes, use.device_bytes});
    }
    return uses;
  };
  meter.available = [] { return available_memory(); };
  return meter;
}

ProcessesSeen look_at_processes(const std::vector<std::int64_t>& groups,
                                const std::vector<std::filesystem::path>& logs) {
  ProcessesSeen seen;
  for (const GroupActivity& each : activity_of(groups)) {
    seen.groups.push_back({each.is_stopped, each.waits_for_disk, each.cpu_s});
  }
  seen.silent_s = since_last_write(logs);
  return seen;
}

std::vector<std::string> gpu_names(const ExperimentSpec& spec, const DetectedResources& detected) {
  std::vector<std::string> names = detected.gpus;
  const Resources totals = total_resources(spec, detected);
  const auto gpus = totals.find("gpu");
  if (!names.empty() || gpus == totals.end()) return names;
  for (int i = 0; i < gpus->second; ++i) names.push_back(std::to_string(i));
  return names;
}

}  // namespace tune
