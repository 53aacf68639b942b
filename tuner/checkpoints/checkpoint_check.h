// Whether a directory still is the checkpoint that its manifest says: files by their checksums,
// links by where they lead. Changes nothing on the disk.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "tuner/checkpoints/described_tree.h"
#include "tuner/disk/file_system.h"

namespace tune {

/// Remembers the checksums of large files that it has read: they are read again only if they have
/// been written to since. From any thread.
class CheckpointCheck {
 public:
  /// `files` outlives it. `has_remote`: the experiment may be a copy from there.
  CheckpointCheck(FileSystem& files, bool has_remote) : files_(files), has_remote_(has_remote) {}

  struct Content {
    std::uint64_t bytes = 0;
    std::string xxh3;
  };
  /// Throws Error.
  Content content_of(const std::filesystem::path& file, std::uint64_t expected_bytes);

  /// Why it cannot be trusted, as a sentence; nothing if it is whole. `place`: the one that it has
  /// to be the checkpoint of; empty: whichever it is. Error (user) for a newer program's manifest.
  std::optional<std::string> damage_of(const std::filesystem::path& checkpoint,
                                       const std::filesystem::path& place = {});

 private:
  std::optional<std::string> file_damage(const std::filesystem::path& checkpoint,
                                         const DescribedTree::File& file);
  std::optional<std::string> link_damage(const std::filesystem::path& checkpoint,
                                         const DescribedTree::Link& link);

  FileSystem& files_;
  const bool has_remote_;
  std::mutex mutex_;
  std::map<FileStamp, std::string> read_;  ///< large files: the checksums of what was read
};

}  // namespace tune
