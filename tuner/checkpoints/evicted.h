// A checkpoint that is no longer on this disk but on a remote: beside the place of its directory
// lies a file that says where, and holds its manifest. While the directory is there, that file does
// not count. docs/file_formats.md is the reference.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "trainable/values.h"
#include "tuner/disk/file_system.h"

namespace tune {

/// A checkpoint on a remote.
struct RemotePlace {
  std::string remote;     ///< of the experiment
  std::string directory;  ///< below that
};

struct Evicted {
  RemotePlace place;
  std::string manifest;  ///< the text of its manifest.json
};

/// `checkpoint`: its directory. Nothing if that is there, or if nothing says where it is: what lies
/// there may be anything.
std::optional<Evicted> find_evicted(FileSystem& files, const std::filesystem::path& checkpoint);

/// The content of that file.
std::string evicted_text(const Evicted& evicted);
/// Synced when it returns. Error (machine).
void write_evicted(FileSystem& files, const std::filesystem::path& checkpoint,
                   const Evicted& evicted);

/// Removes that file. A directory in its place is not ours: it is renamed to ....corrupt. Error
/// (machine).
void remove_evicted(FileSystem& files, const std::filesystem::path& checkpoint);

/// A sentence for the user: where the checkpoint is, and which command fetches it.
std::string evicted_sentence(const std::filesystem::path& checkpoint, const Evicted& evicted);

}  // namespace tune
