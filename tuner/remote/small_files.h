// The files beside the state, which callbacks and programs write for each trial. They are copied
// under the same names, again when they have changed. A resume depends on them in one way only:
// rows of results that a snapshot leaves out must be up before it.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tuner/remote/remote_store.h"
#include "tuner/remote/upload_memory.h"

namespace tune {

/// The names, relative to `experiment`, of the files that are mirrored: what lies directly in
/// directories of trials, and at the top what is not of the state.
std::vector<std::pair<std::string, UploadMemory::FileSeen>> small_files(
    FileSystem& files, const std::filesystem::path& experiment);

/// Puts up those that have changed; answers how many.
std::size_t upload_small_files(FileSystem& files, const std::filesystem::path& experiment,
                               RemoteStore& store, UploadMemory& memory);

}  // namespace tune
