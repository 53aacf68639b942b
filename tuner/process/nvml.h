// Asks NVIDIA's management library which devices there are, if the library is there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tune {

struct NvmlAnswer {
  bool library_found = false;
  std::vector<std::string> devices;  ///< UUIDs; a device in MIG mode is the UUIDs of its parts
  std::string problem;               ///< why the library cannot tell; empty: it told
};

/// Loads `library` (a name or a path) for the time of the call.
NvmlAnswer ask_nvml(const std::string& library);

/// What processes (by pid) have taken of devices' memory, one entry for each device that a process
/// uses; empty if the library is not there or cannot tell. In a container the pids may be others.
std::vector<std::pair<std::int64_t, std::uint64_t>> device_memory(const std::string& library);

}  // namespace tune
