// Whether process groups compute, wait or are stopped, as seen in /proc and in their logs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

struct GroupActivity {
  bool is_stopped = false;      ///< its first process: by a signal, or a debugger
  bool waits_for_disk = false;  ///< one of them: in the kernel, where no signal reaches it
  double cpu_s = 0;             ///< processor time of all that live
};

/// Of each group, all its processes together. Takes milliseconds. What /proc does not show counts
/// as nothing.
std::vector<GroupActivity> activity_of(const std::vector<std::int64_t>& groups);

/// How long ago the newest of the files was written; nothing if there is none.
std::optional<Seconds> since_last_write(const std::vector<std::filesystem::path>& files);

}  // namespace tune
