// Whether a directory is a mount point, bind mounts included.
#pragma once

#include <string>

namespace tune {

/// Of the directory `name` in the open directory `at`, or AT_FDCWD. False if it cannot be known.
bool is_mount_point(int at, const std::string& name);

}  // namespace tune
