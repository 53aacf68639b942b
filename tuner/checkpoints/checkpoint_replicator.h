// The seam for a second place of checkpoints: told what is committed and dropped, and asked what it
// still needs. Implementation: tuner/remote.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/checkpoints/evicted.h"
#include "tuner/model/checkpoint_ref.h"

namespace tune {

/// All members are the loop's, and wait for nothing.
class CheckpointReplicator {
 public:
  virtual ~CheckpointReplicator() = default;

  /// A record of it is made. `is_best`: of its trial's by now.
  virtual void expect(CheckpointRef checkpoint, bool is_best) = 0;
  /// That record is on disk.
  virtual void committed(CheckpointRef checkpoint) = 0;
  /// The record that disowns them is on disk.
  virtual void dropped(TrialId trial, const std::vector<int>& indices) = 0;

  /// Whether it may not be dropped yet: a trial's last one that is there, until a newer one is.
  virtual bool needs(CheckpointRef checkpoint) const = 0;

  /// How many of a trial's newest checkpoints stay on this disk; nothing: all.
  virtual std::optional<int> keep_local() const = 0;
  /// Where it is, whole; nothing if it is not there.
  virtual std::optional<RemotePlace> place(CheckpointRef checkpoint) const = 0;
  /// Downloads an evicted one to where CheckpointStorage accepts it. Asked for again while that is
  /// under way, it is the same.
  virtual void fetch(CheckpointRef checkpoint) = 0;

  struct Fetched {
    CheckpointRef checkpoint;
    std::string lost;  ///< why the remote cannot give it any more, as a sentence; empty: it came
  };
  struct News {
    std::vector<Fetched> fetched;
    std::vector<std::string> notices;
    std::vector<TrialId> settled;  ///< trials of which `needs` may answer otherwise now
    std::string taken_over;        ///< why this driver must end; empty: it need not
  };
  virtual News take_news() = 0;
};

}  // namespace tune
