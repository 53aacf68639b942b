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

/// What one of several processes had to do with a checkpoint.
struct RankPart {
  int rank = 0;
  double save_s = 0;                  ///< until it had answered
  std::optional<std::int64_t> bytes;  ///< that it says it has written
  std::optional<double> load_s;       ///< that it says it took to load what it began with
};

/// A result that a checkpoint has, and its trial had not come to when it was made.
struct ResultAhead {
  std::int64_t iteration = 0;
  std::string metrics = "{}";  ///< JSON text
};

/// What the manifest of a plain program's checkpoint says of results.
struct SavedResults {
  std::string metrics = "{}";           ///< JSON text; of the last one
  std::vector<ResultAhead> ahead = {};  ///< see ManifestHeader::results
  bool is_guess = false;                ///< see ManifestHeader
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
  /// Nobody knows whether a program that saves by itself did so before it printed that result or
  /// after, or that of what it went back to: it may be the model of a later one.
  bool is_guess = false;
};

struct CommittedCheckpoint {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
};

/// A directory or file of a trial cannot be made, and nothing that lies there is in its way: no
/// fault of the trial's.
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

  /// Takes a directory that a function trainable says it hands over to where `begin` would have
  /// made one. Answers where it lay if it was moved, nothing if it was copied. After an Error it is
  /// where it was, as it was.
  virtual std::filesystem::path adopt_checkpoint(CheckpointRef checkpoint, int attempt,
                                                 const std::string& reported) = 0;

  /// Moves what another rank hands over, of the same checkpoint, into the directory that
  /// adopt_checkpoint has made. Error, and nothing is moved, if a file of it is there already.
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

  /// Makes what was written aside a checkpoint, whole or not at all. When it returns, power may
  /// fail. After an Error there is no checkpoint and nothing aside: it is removed or, if it was
  /// moved from `origin`, given back.
  virtual CommittedCheckpoint commit(const ManifestHeader& header,
                                     const std::filesystem::path& origin = {}) = 0;

  /// Removes what was written aside for a save that nobody waits for any more.
  virtual void discard(CheckpointRef checkpoint, int attempt) = 0;
  /// The same for what a function says it hands over: if it would be moved and has a name that is
  /// reserved for that. Everything else is left alone.
  virtual void discard(TrialId trial, const std::string& reported) = 0;

  /// Why the checkpoint cannot be trusted, as a sentence; nothing if it is whole.
  virtual std::optional<std::string> verify(CheckpointRef checkpoint) = 0;
  /// The same of a directory that the user has named: one without a manifest is taken as it is.
  virtual std::optional<std::string> verify_foreign(const std::filesystem::path& checkpoint) = 0;
  /// Where it can be read, on this machine. Only what `verify` found whole can be relied on.
  virtual std::filesystem::path locate(CheckpointRef checkpoint) = 0;

  /// What its manifest says. Error if that is not what was written.
  virtual SavedResults results(CheckpointRef checkpoint) = 0;

  /// Whether it is not here but on a remote.
  virtual bool is_evicted(CheckpointRef checkpoint) = 0;
  /// Takes it off this disk, which it need not be on any more; `place`: where it is, whole. A crash
  /// at any instant leaves it whole, or evicted.
  virtual void evict(CheckpointRef checkpoint, const RemotePlace& place) = 0;
  /// Takes in what was downloaded of an evicted one to the directory that `begin` makes for attempt
  /// 0, if that is the checkpoint, byte for byte; else that is removed, and what is wrong with it
  /// is answered, as a sentence. One that is here already is fine.
  virtual std::optional<std::string> accept(CheckpointRef checkpoint) = 0;

  /// Renames a damaged one, for its owner to look at; answers the new place. Of one that is
  /// absent or evicted nothing is left here, and nothing is answered.
  virtual std::filesystem::path set_aside(CheckpointRef checkpoint) = 0;
  virtual void remove(CheckpointRef checkpoint) = 0;
};

}  // namespace tune
