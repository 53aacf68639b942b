// Detects the resources of this machine: cpus that we may use, gpus and their names.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/resources.h"

namespace tune {

/// Where to look; other places in tests.
struct DetectionRoots {
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
  std::filesystem::path dev = "/dev";
  std::string nvml_library = "libnvidia-ml.so.1";
  /// The value of an environment variable; nothing if it is not set.
  std::function<std::optional<std::string>(const std::string&)> environment;
  /// How many cpus the scheduler may run us on.
  std::function<int()> affinity_cpus;
};

/// The real places.
DetectionRoots machine_roots();

struct DetectedResources {
  /// At least 1: the smallest of affinity, cgroup limits and what Slurm has granted
  /// (SLURM_CPUS_ON_NODE), a fraction rounded down, since a whole-cpu trial on the last fraction
  /// would slow all.
  int cpus = 1;
  std::string cpus_from;  ///< how they were found, a phrase
  /// By device, what CUDA_VISIBLE_DEVICES must say to get it: a number, a UUID or a MIG name.
  std::vector<std::string> gpus;
  std::string gpus_from;
  std::vector<std::string> notices;  ///< sentences for the user

  Resources totals() const;  ///< "cpu", and "gpu" if there are any
};

/// Gpus, the first of these that says something: CUDA_VISIBLE_DEVICES or SLURM_STEP_GPUS (believed,
/// an empty one means none), NVML, /proc/driver/nvidia/gpus and /dev/nvidiaN, nothing. No gpu is no
/// error; an NVML that is there and does not work is none and a notice.
DetectedResources detect_resources(const DetectionRoots& roots = machine_roots());

}  // namespace tune
