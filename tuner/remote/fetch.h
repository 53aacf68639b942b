// One evicted checkpoint back to its place, by hand.
#pragma once

#include <filesystem>

#include "tuner/store/file_system.h"

namespace tune {

/// `checkpoint`: where its directory belongs, absolute. False if it is there. Error (user) if it is
/// no checkpoint, or nothing says where it is; RemoteError; Error (machine) if what came is not it.
/// To be called with the experiment locked.
bool fetch(FileSystem& files, const std::filesystem::path& checkpoint);

}  // namespace tune
