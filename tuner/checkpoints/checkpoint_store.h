// Checkpoint directories: written aside, given a manifest, synced, renamed; verified before use.
// Decides nothing: tuner/model/retention.h says what to keep. docs/checkpoints.md is the guide.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/checkpoints/checkpoint_check.h"
#include "tuner/checkpoints/checkpoint_storage.h"
#include "tuner/checkpoints/checkpoint_tree.h"
#include "tuner/checkpoints/handed_over.h"
#include "tuner/disk/file_system.h"

namespace tune {

/// All calls block on the disk: run them beside the loop. Errors are Error (machine).
class CheckpointStore final : public CheckpointStorage {
 public:
  /// `experiment`: its directory, absolute. `files` outlives it. `has_remote`: it may be a copy
  /// from there.
  CheckpointStore(FileSystem& files, std::filesystem::path experiment, bool has_remote = false)
      : files_(files), experiment_(std::move(experiment)), check_(files, has_remote) {}

  /// `work` in the trial's directory. A trial started by an old driver, which made no such
  /// directory, goes on in the trial's own directory, where its files are.
  std::filesystem::path make_working_directory(TrialId trial) override;
  std::filesystem::path write_config(TrialId trial, const std::string& config) override;

  std::filesystem::path begin(CheckpointRef checkpoint, int attempt) override;

  void add_part(CheckpointRef checkpoint, int attempt, const std::string& reported) override;
  std::filesystem::path adopt_checkpoint(CheckpointRef checkpoint, int attempt,
                                         const std::string& reported) override;

  void copy(CheckpointRef checkpoint, int attempt, const std::filesystem::path& root,
            const std::filesystem::path& name) override;
  void put_back(const std::filesystem::path& from, const std::filesystem::path& root) override;
  void clear(TrialId trial, const std::filesystem::path& within,
             const std::vector<std::filesystem::path>& names) override;

  /// Judges a reported name; see HandedOver.
  HandedOver judge(TrialId trial, const std::string& reported);
  /// Moves it aside (copies and removes if it lies on another file system). Links from the root on
  /// into it become relative ones.
  std::filesystem::path adopt(const HandedOver& given, CheckpointRef checkpoint, int attempt);

  /// Makes what was written aside a checkpoint: checksums, manifest, sync of every file and
  /// directory, rename, sync of the parent. What read_tree refuses is an Error.
  CommittedCheckpoint commit(const ManifestHeader& header,
                             const std::filesystem::path& origin = {}) override;

  void discard(CheckpointRef checkpoint, int attempt) override;
  void discard(TrialId trial, const std::string& reported) override;

  /// Why it cannot be trusted (manifest missing or unreadable, a file missing, of another size or
  /// checksum, a link missing or leading elsewhere), as a sentence; nothing if it is whole. Files
  /// that the manifest does not name are no damage. A manifest of a newer program is an Error
  /// (user). A large file that this object has read before, for a commit or a verification, is read
  /// again only if it has been written to since.
  std::optional<std::string> verify(CheckpointRef checkpoint) override;

  std::optional<std::string> verify_foreign(const std::filesystem::path& checkpoint) override;

  std::filesystem::path locate(CheckpointRef checkpoint) override;

  bool is_evicted(CheckpointRef checkpoint) override;
  void evict(CheckpointRef checkpoint, const RemotePlace& place) override;
  std::optional<std::string> accept(CheckpointRef checkpoint) override;
  /// Why the download in `arrived`, a directory of its own, is not the whole checkpoint
  /// `checkpoint` of that manifest, as a sentence. First the manifest is judged as a whole; then
  /// the links are made that a remote does not store.
  std::optional<std::string> damage_of_arrived(const std::filesystem::path& arrived,
                                               const std::string& manifest,
                                               const std::filesystem::path& checkpoint);

  /// The manifest's whole JSON.
  Json read_manifest(CheckpointRef checkpoint);

  SavedResults results(CheckpointRef checkpoint) override;

  std::filesystem::path set_aside(CheckpointRef checkpoint) override;
  void remove(CheckpointRef checkpoint) override;

  struct Swept {
    std::vector<std::string> removed;   ///< names
    std::vector<std::string> problems;  ///< sentences: what is still there, and why
  };
  /// Removes what no record names: checkpoint directories whose index is not in `known`, and
  /// everything written aside or to be handed over, unless the trial goes on in its processes
  /// (`runs`), which may be writing there. For recovery only. Throws nothing.
  Swept sweep(TrialId trial, const std::set<int>& known, bool runs = false);
  /// Sets aside those whose index is not in `known`, where a record of them may have been lost;
  /// answers how many. Problems are added to `problems`.
  std::size_t set_aside_unknown(TrialId trial, const std::set<int>& known,
                                std::vector<std::string>& problems);

 private:
  std::filesystem::path trial_dir(TrialId trial) const;
  std::filesystem::path own_dir(TrialId trial);
  void require_own(TrialId trial, const std::filesystem::path& directory);
  std::filesystem::path working_directory(TrialId trial);
  std::filesystem::path aside(CheckpointRef checkpoint, int attempt) const;
  CommittedCheckpoint publish(const ManifestHeader& header);
  void give_back(const std::filesystem::path& aside, const std::filesystem::path& origin);
  void sweep(const std::filesystem::path& directory, Swept& swept,
             const std::function<bool(const DirectoryEntry&)>& is_unknown);

  FileSystem& files_;
  std::filesystem::path experiment_;
  CheckpointCheck check_;
};

}  // namespace tune
