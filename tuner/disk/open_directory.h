// OpenDirectory on the real disk: walks down with openat, a part of the path at a time.
#pragma once

#include <filesystem>
#include <memory>

#include "tuner/disk/file_system.h"

namespace tune {

std::unique_ptr<OpenDirectory> open_posix_directory(const std::filesystem::path& directory);

}  // namespace tune
