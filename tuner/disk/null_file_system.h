// A file system that discards what is written (as /dev/null): for experiments that are not kept.
#pragma once

#include <memory>

#include "tuner/disk/file_system.h"

namespace tune {

/// Nothing ever exists on it, and nothing fails but reading.
std::unique_ptr<FileSystem> make_null_file_system();

}  // namespace tune
