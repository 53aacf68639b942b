// What the processes of a group have open, as /proc says it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tuner/plain/checkpoint_files.h"

namespace tune {

struct OpenFile {
  std::string path;                  ///< as the process has it open
  std::uint64_t inode = 0;           ///< nothing: 0
  std::filesystem::path descriptor;  ///< "/proc/PID/fdinfo/N"
};

/// All regular files that processes of the group have open, for whatever.
std::vector<OpenFile> open_files(pid_t group);

/// Those of a checkpoint that are open for writing, by name within it; "" is the checkpoint itself,
/// or a file that has another name by now.
std::set<std::string> being_written(const std::vector<OpenFile>& open,
                                    const CheckpointFiles& files);

/// Ended, ending, or never there.
bool is_dead(pid_t pid);

}  // namespace tune
