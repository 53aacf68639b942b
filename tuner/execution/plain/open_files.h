// What the processes of a group have open, as /proc says it.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "tuner/plain/checkpoint_files.h"

namespace tune {

/// The files of a checkpoint that a process of the group has open for writing, by name within it;
/// "" is the checkpoint itself, or a file that has another name by now.
std::set<std::string> files_being_written(pid_t group, const CheckpointFiles& files);

/// Ended, ending, or never there.
bool is_dead(pid_t pid);

}  // namespace tune
