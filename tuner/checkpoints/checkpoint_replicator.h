// The interface for copying checkpoints to a second place: it is told which are committed and
// dropped, and says which it still needs. Implementation: tuner/remote.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/checkpoints/evicted.h"
#include "tuner/model/checkpoint_ref.h"

namespace tune {

/// All members are called on the loop's thread, and never block.
class CheckpointReplicator {
 public:
  virtual ~CheckpointReplicator() = default;

  /// The checkpoint was recorded, perhaps not durably. `is_best`: it is its trial's best so far.
  virtual void expect(CheckpointRef checkpoint, bool is_best) = 0;
  /// That record is on disk.
  virtual void committed(CheckpointRef checkpoint) = 0;
  /// The record that drops them is on disk.
  virtual void dropped(TrialId trial, const std::vector<int>& indices) = 0;

  /// Whether it must not be dropped yet: the newest of a trial on the remote, until a newer one is
  /// there.
  virtual bool needs(CheckpointRef checkpoint) const = 0;

  /// How many of a trial's newest checkpoints stay on this disk; nothing: all.
  virtual std::optional<int> keep_local() const = 0;
  /// Its place on the remote; nothing if it is not there, whole.
  virtual std::optional<RemotePlace> place(CheckpointRef checkpoint) const = 0;
  /// Downloads an evicted one to where CheckpointStorage accepts it. A second call while that is
  /// under way changes nothing.
  virtual void fetch(CheckpointRef checkpoint) = 0;

  struct Fetched {
    CheckpointRef checkpoint;
    std::string lost;  ///< why the remote cannot give it any more, as a sentence; empty: it came
  };
  struct News {
    std::vector<Fetched> fetched;
    std::vector<std::string> notices;
    std::vector<TrialId> settled;  ///< trials for which `needs` may have changed
    std::string taken_over;        ///< why this driver must end; empty: it need not
  };
  virtual News take_news() = 0;
};

}  // namespace tune
