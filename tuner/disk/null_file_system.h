// A disk that takes everything and keeps nothing: for experiments that nobody wants to find again.
#pragma once

#include <memory>

#include "tuner/disk/file_system.h"

namespace tune {

/// Nothing ever exists on it, and nothing fails but reading.
std::unique_ptr<FileSystem> make_null_file_system();

}  // namespace tune
