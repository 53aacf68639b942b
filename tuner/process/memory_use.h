// The memory that processes use, and what the machine, or the container, has left.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tune {

struct MemoryUse {
  std::uint64_t bytes = 0;         ///< pages that several processes share count in parts
  std::uint64_t device_bytes = 0;  ///< on all NVIDIA devices, as far as NVML says
};

/// Of each process group, all its processes together. Takes milliseconds, and a second where a
/// driver of devices has to wake up. What /proc does not show counts as nothing.
std::vector<MemoryUse> memory_use_of(const std::vector<std::int64_t>& groups,
                                     const std::string& nvml_library = "libnvidia-ml.so.1");

/// What could still be had before something is swapped or killed: what the kernel says, and what
/// the limits of the control groups leave (version 2, and 1). 0 if nothing is known.
std::uint64_t available_memory(const std::filesystem::path& proc = "/proc",
                               const std::filesystem::path& sys = "/sys");

/// How many processes the kernel has killed because memory ran out: of this process's control
/// group (version 2, and 1), or of the whole machine where groups do not count that. 0 if nothing
/// is known.
std::uint64_t out_of_memory_kills(const std::filesystem::path& proc = "/proc",
                                  const std::filesystem::path& sys = "/sys");

}  // namespace tune
