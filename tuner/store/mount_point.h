// Whether a directory is where another file system, or another place of the same, begins.
#pragma once

#include <string>

namespace tune {

/// Of `name` in the open directory `directory`; its parent is that. False if it cannot be known.
bool is_mount_point(int directory, const std::string& name);

}  // namespace tune
