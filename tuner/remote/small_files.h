// The files beside the state: what callbacks and programs write of each trial. Mirrored as they
// are, under the same names, again when they have changed; nothing of a resume depends on them but
// that rows of results which a snapshot leaves out are up before it.
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
