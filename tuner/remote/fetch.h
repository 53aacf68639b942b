// A checkpoint that is only on a remote, back to its place or to another one.
#pragma once

#include <filesystem>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/model/checkpoint_ref.h"

namespace tune {

/// Which checkpoint has its place there, in an experiment: a path that ends like
/// trial_00003/checkpoint_000001. Error (user) if that is none.
CheckpointRef checkpoint_at(const std::filesystem::path& place);

/// The places of those that are only on a remote, of the experiment or the trial that has this
/// directory; of none other.
std::vector<std::filesystem::path> evicted_below(FileSystem& files,
                                                 const std::filesystem::path& directory);

/// `place`: absolute. Whoever calls has the experiment's lock. False if it is here already. Error
/// (user) if nothing says where it is, or what is there is no directory; RemoteError; Error
/// (machine) if what came is damaged.
bool fetch(FileSystem& files, const std::filesystem::path& place);

/// A copy of it, from there or from here, to `to`, which is new or empty; leaves the experiment as
/// it is. Errors as above; after one, what has come stays.
void fetch_copy(FileSystem& files, const std::filesystem::path& place,
                const std::filesystem::path& to);

}  // namespace tune
