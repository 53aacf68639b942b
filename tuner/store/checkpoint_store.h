// Checkpoint directories: written aside, given a manifest, synced, renamed; verified before use.
// Decides nothing: what to keep is core/retention.h's business. docs/checkpoints.md is the guide.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/store/checkpoint_keeper.h"
#include "tuner/store/file_system.h"

namespace tune {

/// All calls block on the disk: run them beside the loop. Errors are Error (machine).
class CheckpointStore final : public CheckpointKeeper {
 public:
  explicit CheckpointStore(FileSystem& files) : files_(files) {}

  std::filesystem::path begin(const std::filesystem::path& trial_dir, int index,
                              int attempt) override;

  /// Makes what was written aside a checkpoint: checksums, manifest, sync of every file and
  /// directory, rename, sync of the parent. When it returns, power may fail. An empty directory is
  /// an Error: nothing was saved. Links and devices in it are refused, and a file manifest.json of
  /// the trainable's own at the top. After an Error there is no checkpoint and nothing aside.
  CommittedCheckpoint commit(const std::filesystem::path& aside,
                             const std::filesystem::path& trial_dir,
                             const ManifestHeader& header) override;

  /// Takes over a directory that a function trainable wrote: moves it aside first (renames; copies
  /// and removes if it lies on another file system), then commits. A link is refused.
  CommittedCheckpoint adopt(const std::filesystem::path& written,
                            const std::filesystem::path& trial_dir,
                            const ManifestHeader& header) override;

  /// Why `checkpoint` cannot be trusted (manifest missing or unreadable, a file missing, of another
  /// size or checksum), as a sentence; nothing if it is whole. Files that the manifest does not
  /// name are no damage. A manifest of a newer program is an Error (user). A large file that this
  /// object has read before, for a commit or a verification, is read again only if it has been
  /// written to since.
  std::optional<std::string> verify(const std::filesystem::path& checkpoint) override;

  /// The manifest's whole JSON.
  Json read_manifest(const std::filesystem::path& checkpoint);

  void set_aside(const std::filesystem::path& trial_dir, int index) override;
  void remove(const std::filesystem::path& trial_dir, int index) override;
  void discard(const std::filesystem::path& aside) override;

  /// Removes what no record names: checkpoint directories whose index is not in `known`, and
  /// everything written aside. Answers the names. For recovery only.
  std::vector<std::string> sweep(const std::filesystem::path& trial_dir,
                                 const std::set<int>& known);

 private:
  CommittedCheckpoint publish(const std::filesystem::path& aside,
                              const std::filesystem::path& trial_dir, const ManifestHeader& header);
  struct Content {
    std::uint64_t bytes = 0;
    std::string xxh3;
  };
  Content content_of(const std::filesystem::path& file, std::uint64_t expected_bytes);
  std::optional<std::string> damage_of(const std::filesystem::path& checkpoint, const Json& entry);

  FileSystem& files_;
  std::mutex mutex_;
  std::map<FileStamp, std::string> read_;  ///< large files: the checksums of what was read
};

}  // namespace tune
