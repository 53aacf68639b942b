// The interface of whatever keeps checkpoints. Implementations: checkpoint_store (a disk), memory
// in simulations. Checkpoints are named by trial and index; paths come from here and nowhere else.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/checkpoints/evicted.h"
#include "tuner/model/checkpoint_ref.h"

namespace tune {

/// The part of one rank in a checkpoint.
struct RankPart {
  int rank = 0;
  double save_s = 0;                  ///< until it had answered
  std::optional<std::int64_t> bytes;  ///< that it says it has written
  std::optional<double> load_s;       ///< that it says it took to load what it began with
};

/// A result that a checkpoint contains, but that its trial had not reported when it was made.
struct ResultAhead {
  std::int64_t iteration = 0;
  std::string metrics = "{}";  ///< JSON text
};

/// What the manifest of a plain program's checkpoint says of results.
struct SavedResults {
  std::string metrics = "{}";            ///< JSON text; of the last one
  std::vector<ResultAhead> ahead = {};   ///< see ManifestHeader::results
  std::vector<std::string> counts = {};  ///< see ManifestHeader
  bool is_guess = false;                 ///< see ManifestHeader
};

/// What the manifest says besides the files.
struct ManifestHeader {
  CheckpointRef checkpoint;
  int attempt = 0;
  std::int64_t iteration = 0;
  std::string metrics = "{}";        ///< JSON text of the result that it belongs to; empty: none
  std::string config = "{}";         ///< JSON text; empty: none
  std::vector<RankPart> parts = {};  ///< by rank; empty where nobody has a rank
  std::vector<ResultAhead> results = {};  ///< mostly none; the last one is of `iteration`
  /// What a plain program itself calls its last results up to `iteration`, such as "step 60".
  std::vector<std::string> counts = {};
  /// It is a guess which result the checkpoint is of: of a program that saves by itself it is not
  /// known whether it saves before or after it prints a result, so the model may be of a later one.
  bool is_guess = false;
};

struct CommittedCheckpoint {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

/// A directory or file of a trial cannot be made, and nothing of the trial's stands in its place:
/// so it is not the trial's fault.
class NotMade : public Error {
 public:
  explicit NotMade(const Error& error) : Error(error) {}
};

/// All calls may block: run them beside the loop. Errors are Error (machine).
class CheckpointStorage {
 public:
  virtual ~CheckpointStorage() = default;

  /// Makes the directory that the trial's program works in, and the trial's own, if they are not
  /// there; answers the former.
  /// NotMade where the machine has no room, or none that can be written.
  virtual std::filesystem::path make_working_directory(TrialId trial) = 0;

  /// Writes the trial's config, as JSON, into a file of its directory, and answers that.
  /// NotMade as above.
  virtual std::filesystem::path write_config(TrialId trial, const std::string& config) = 0;

  /// An empty directory aside, for a trainable to write into; what a dead attempt left there is
  /// removed.
  virtual std::filesystem::path begin(CheckpointRef checkpoint, int attempt) = 0;

  /// Moves a directory that a function trainable has reported to the place where `begin` makes one.
  /// Returns where it lay if it was moved, nothing if it was copied. After an Error it is
  /// unchanged.
  virtual std::filesystem::path adopt_checkpoint(CheckpointRef checkpoint, int attempt,
                                                 const std::string& reported) = 0;

  /// Moves the part that another rank has reported for the same checkpoint into the directory of
  /// adopt_checkpoint. Error, and nothing is moved, if one of its files is there already.
  virtual void add_part(CheckpointRef checkpoint, int attempt, const std::string& reported) = 0;

  /// Copies `from`, a file or a directory that lies in `root`, to where `begin` would have made a
  /// directory, under its name within `root`; `name` empty: all that is in `root`. After an Error
  /// nothing of it is there.
  virtual void copy(CheckpointRef checkpoint, int attempt, const std::filesystem::path& root,
                    const std::filesystem::path& name) = 0;

  /// Copies what the checkpoint in the directory `from` holds to below `root`, which is there.
  virtual void put_back(const std::filesystem::path& from, const std::filesystem::path& root) = 0;
  /// Makes the directory `within` (or "") of the trial's working directory, and removes `names`
  /// from it; an empty name: all that is there. Error if anything on the way there is a link, or
  /// mounted.
  virtual void clear(TrialId trial, const std::filesystem::path& within,
                     const std::vector<std::filesystem::path>& names) = 0;

  /// Makes the directory that was written aside a checkpoint, atomically and durably. After an
  /// Error there is no checkpoint, and the directory is removed or, if it came from `origin`, moved
  /// back.
  virtual CommittedCheckpoint commit(const ManifestHeader& header,
                                     const std::filesystem::path& origin = {}) = 0;

  /// Removes the directory aside of a save that was given up.
  virtual void discard(CheckpointRef checkpoint, int attempt) = 0;
  /// The same for a directory that a function has reported, if its name is reserved for that. A
  /// directory with a name of the user's stays.
  virtual void discard(TrialId trial, const std::string& reported) = 0;

  /// Why the checkpoint cannot be trusted, as a sentence; nothing if it is whole.
  virtual std::optional<std::string> verify(CheckpointRef checkpoint) = 0;
  /// The same for a directory that the user has named: without a manifest it is taken as it is.
  virtual std::optional<std::string> verify_foreign(const std::filesystem::path& checkpoint) = 0;
  /// Its directory on this machine. Rely on it only after `verify`.
  virtual std::filesystem::path locate(CheckpointRef checkpoint) = 0;

  /// What its manifest says. Error if that is not what was written.
  virtual SavedResults results(CheckpointRef checkpoint) = 0;

  /// Whether it is not here but on a remote.
  virtual bool is_evicted(CheckpointRef checkpoint) = 0;
  /// Removes it from this disk; `place`: where it is, whole. A crash at any instant leaves it
  /// whole, or evicted.
  virtual void evict(CheckpointRef checkpoint, const RemotePlace& place) = 0;
  /// Verifies a downloaded checkpoint, which lies in the directory that `begin` makes for attempt
  /// 0, and puts it in its place. If it is not the checkpoint, byte for byte, it is removed, and a
  /// sentence says what is wrong. Nothing to do if the checkpoint is here already.
  virtual std::optional<std::string> accept(CheckpointRef checkpoint) = 0;

  /// Renames a damaged checkpoint, for the user to look at; returns its new path, empty if it is
  /// absent or evicted.
  virtual std::filesystem::path set_aside(CheckpointRef checkpoint) = 0;
  virtual void remove(CheckpointRef checkpoint) = 0;
};

}  // namespace tune
