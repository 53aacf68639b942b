// The content of a directory that is to become a checkpoint, and whether it can be kept.
// Changes nothing on the disk.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tuner/disk/file_system.h"

namespace tune {

/// Names are relative to the top, and UTF-8.
struct CheckpointTree {
  struct File {
    std::filesystem::path name;
    std::uint64_t bytes = 0;
  };
  struct Link {
    std::filesystem::path name;
    std::filesystem::path target;  ///< relative to the directory that the link is in
    bool is_written_so = true;     ///< false: on disk the same place is named from the root on
  };
  std::vector<File> files;                         ///< sorted by name
  std::vector<Link> links;                         ///< sorted by name
  std::vector<std::filesystem::path> directories;  ///< each after the one it is in; without the top
};

/// What a manifest.json at the top is.
enum class TopManifest {
  mistake,  ///< a file of the trainable's, under a name that is taken
  ours,     ///< and so left out
};

/// Error (machine), one sentence, if `top` cannot be kept as a checkpoint: it holds no file; or a
/// socket, a device; a link that leads out of it; a name that is not UTF-8; a manifest.json that is
/// a mistake. A link may lead nowhere. `also_called`: paths that mean `top` when an absolute link
/// begins with one.
CheckpointTree read_tree(FileSystem& files, const std::filesystem::path& top,
                         const std::vector<std::filesystem::path>& also_called = {},
                         TopManifest manifest = TopManifest::mistake);

/// Whether `name` lies in `directory` or is it; both absolute and normal.
bool is_within(const std::filesystem::path& directory, const std::filesystem::path& name);

}  // namespace tune
