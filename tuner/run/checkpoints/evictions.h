// Each trial's newest checkpoints stay on this disk; older ones are evicted once a remote has them,
// and fetched back when a trial is to start from them. Only that trial waits for the fetch.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/checkpoints/checkpoint_replicator.h"
#include "tuner/checkpoints/checkpoint_storage.h"
#include "tuner/model/trial.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/workers.h"

namespace tune {

/// Of a trial's checkpoints those that are not among its `keep` newest, oldest first.
std::vector<CheckpointRef> all_but_newest(const Trial& trial, int keep);

class Evictions {
 public:
  /// All parts outlive it. `replicator` null: nothing is evicted, and nothing comes back.
  Evictions(Workers& pool, CheckpointStorage& store, CallbackList& callbacks,
            CheckpointReplicator* replicator)
      : pool_(pool), store_(store), callbacks_(callbacks), replicator_(replicator) {}

  /// Evicts those of the trial's checkpoints that may be. `is_in_use`: whether a trial is to start
  /// from that index.
  void apply(const Trial& trial, const std::function<bool(int index)>& is_in_use);

  /// Runs `then` once no eviction of the checkpoint is under way, so that it is either whole here
  /// or evicted: mostly at once.
  void when_settled(CheckpointRef checkpoint, std::function<void()> then);

  struct Fetch {
    std::string lost;   ///< why there is no such checkpoint any more
    std::string error;  ///< of this machine: why it could not be taken in
  };
  /// Fetches an evicted checkpoint, however long that takes; `then` is never called if the remote
  /// never answers. Requires a replicator.
  void fetch(CheckpointRef checkpoint, std::function<void(const Fetch&)> then);

  /// What the replicator has fetched.
  void take(const std::vector<CheckpointReplicator::Fetched>& fetched);

  /// Whether a fetch of it is under way.
  bool is_coming(CheckpointRef checkpoint) const { return coming_.contains(checkpoint); }
  bool can_fetch() const { return replicator_ != nullptr; }

 private:
  void accept(CheckpointRef checkpoint);
  void finish(CheckpointRef checkpoint, const Fetch& fetch);

  Workers& pool_;
  CheckpointStorage& store_;
  CallbackList& callbacks_;
  CheckpointReplicator* const replicator_;
  std::set<CheckpointRef> evicted_;  ///< in this session, or about to be
  std::map<CheckpointRef, std::vector<std::function<void()>>> leaving_;  ///< with who waits
  struct Coming {
    int downloads = 1;
    std::vector<std::function<void(const Fetch&)>> waiting;
  };
  std::map<CheckpointRef, Coming> coming_;
};

}  // namespace tune
