// Whether a directory is where another file system, or another place of the same, begins.
#pragma once

#include <string>

namespace tune {

/// Of the directory `name` in the open directory `at`, or AT_FDCWD. False if it cannot be known.
bool is_mount_point(int at, const std::string& name);

}  // namespace tune
