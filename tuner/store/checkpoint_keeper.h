// The seam for what becomes of checkpoint directories. Implementations: checkpoint_store (a disk),
// memory in simulations.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tune {

/// What the manifest says besides the files.
struct ManifestHeader {
  std::string trial_id;
  int index = 0;
  int attempt = 0;
  std::int64_t iteration = 0;
  std::string metrics = "{}";  ///< JSON text of the result that it belongs to; empty: none
  std::string config = "{}";   ///< JSON text; empty: none
};

struct CommittedCheckpoint {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

/// All calls may block: run them beside the loop. Errors are Error (machine).
class CheckpointKeeper {
 public:
  virtual ~CheckpointKeeper() = default;

  /// An empty directory aside, for a trainable to write into; what a dead attempt left there is
  /// removed.
  virtual std::filesystem::path begin(const std::filesystem::path& trial_dir, int index,
                                      int attempt) = 0;

  /// Makes what was written aside a checkpoint, whole or not at all. When it returns, power may
  /// fail. After an Error there is no checkpoint and nothing aside.
  virtual CommittedCheckpoint commit(const std::filesystem::path& aside,
                                     const std::filesystem::path& trial_dir,
                                     const ManifestHeader& header) = 0;

  /// Takes over a directory that a function trainable wrote, then commits.
  virtual CommittedCheckpoint adopt(const std::filesystem::path& written,
                                    const std::filesystem::path& trial_dir,
                                    const ManifestHeader& header) = 0;

  /// Why `checkpoint` cannot be trusted, as a sentence; nothing if it is whole.
  virtual std::optional<std::string> verify(const std::filesystem::path& checkpoint) = 0;

  /// Renames a damaged one to checkpoint_000001.corrupt, for its owner to look at. Absent is fine.
  virtual void set_aside(const std::filesystem::path& trial_dir, int index) = 0;
  virtual void remove(const std::filesystem::path& trial_dir, int index) = 0;
  virtual void discard(const std::filesystem::path& aside) = 0;
};

}  // namespace tune
