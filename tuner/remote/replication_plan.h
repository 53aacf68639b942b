// What of an experiment is on the remote and what is to go up, to come back and to be removed: told
// by the loop, carried out by the replicator's thread. Knows no thread, store or clock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/clock.h"
#include "tuner/checkpoints/checkpoint_replicator.h"
#include "tuner/model/remote_config.h"

namespace tune {

class ReplicationPlan {
 public:
  /// `root`: of the experiment on the remote.
  ReplicationPlan(RemoteConfig config, std::string root)
      : config_(std::move(config)), root_(std::move(root)) {}

  /// A checkpoint that the experiment knows as it begins.
  struct Known {
    CheckpointRef checkpoint;
    bool is_best = false;    ///< of its trial
    std::string evicted_to;  ///< its directory on this remote; empty: it is here
  };

  /// These are up, by what an earlier session has remembered: checkpoints with their directories.
  void remember(std::map<CheckpointRef, std::string> up) { up_ = std::move(up); }
  /// What is known and not up is to go up; what is up and not known is to be removed.
  void begin(const std::vector<Known>& known);
  /// Those of `begin` that are on the remote alone, with their directories: what has them may not
  /// be removed.
  const std::map<CheckpointRef, std::string>& evicted() const { return evicted_; }
  void restore(CheckpointRef checkpoint, const std::string& directory) {
    up_[checkpoint] = directory;
  }

  // As in CheckpointReplicator.
  void expect(CheckpointRef checkpoint, bool is_best);
  void committed(CheckpointRef checkpoint);
  void dropped(TrialId trial, const std::vector<int>& indices);
  bool needs(CheckpointRef checkpoint) const;
  std::optional<RemotePlace> place(CheckpointRef checkpoint) const;
  void fetch(CheckpointRef checkpoint);
  CheckpointReplicator::News take_news() { return std::exchange(news_, {}); }
  /// What was recorded is on disk by now, or never will be; nothing is fetched any more.
  void finish();

  // Uploads, one at a time.
  /// The newest of a trial, which is what a resume wants; the trials take turns. It is under way
  /// then. Nothing: none waits.
  std::optional<CheckpointRef> next_upload();
  bool is_wanted(CheckpointRef checkpoint) const { return queue_.contains(checkpoint); }
  void note_nothing_under_way();
  void note_up(CheckpointRef checkpoint, const std::string& directory);
  /// It was removed here, or damaged.
  void note_lost(CheckpointRef checkpoint);
  /// It never can be put up. Said once: what its program names so, it names so each time.
  void note_unfit(CheckpointRef checkpoint, const std::string& why);

  // Fetches, one at a time.
  std::optional<CheckpointRef> next_fetch() const;
  /// `lost`: why the remote cannot give it; empty: it has come.
  void note_fetched(CheckpointRef checkpoint, const std::string& lost);
  void note_slow_fetch(CheckpointRef checkpoint);
  void note_fetch_failure(CheckpointRef checkpoint, const std::string& why);

  /// Directories on the remote whose records of removal are on disk.
  const std::vector<std::string>& removals() const { return removals_; }
  /// The first `count` of them are gone.
  void note_removed(std::size_t count);

  // The store. `now`: Unix time.
  /// Said once, until it is well again.
  void note_failure(const std::string& why, Seconds now);
  void note_success(Seconds now);
  /// Another driver goes on from there, or this one must not.
  void note_taken_over(const std::string& why);
  bool is_finishing() const { return is_finishing_; }
  bool is_reachable() const { return unreachable_since_ == 0; }
  /// Nothing waits, neither to go up nor to be removed.
  bool is_complete() const { return queue_.empty() && expected_.empty() && removals_.empty(); }
  /// What never can be put up.
  bool has_unfit() const { return !unfit_.empty(); }
  const std::string& last_error() const { return last_error_; }

  /// What is not up: "2 checkpoints"; if none is missing, the rest.
  std::string left() const;
  /// What is waited for: "2 more checkpoints are"; empty: nothing that is known.
  std::string waiting() const;
  /// For `tune status`.
  Json status() const;

 private:
  void say_it_waits(CheckpointRef checkpoint, const std::string& why);
  void note_error(const std::string& why);

  const RemoteConfig config_;
  const std::string root_;
  TrialId last_trial_{};              ///< of the last upload
  std::set<CheckpointRef> expected_;  ///< recorded, perhaps not on disk
  std::set<CheckpointRef> queue_;     ///< to be put up
  std::set<CheckpointRef> unfit_;
  std::optional<CheckpointRef> under_way_;
  std::map<CheckpointRef, std::string> up_;
  std::map<CheckpointRef, std::string> evicted_;
  std::set<CheckpointRef> fetches_;  ///< to be brought back
  std::set<CheckpointRef> said_;     ///< of those: that they cannot be
  std::vector<std::string> removals_;
  CheckpointReplicator::News news_;
  bool is_finishing_ = false;
  std::uint64_t failures_ = 0;
  std::string last_error_;
  Seconds unreachable_since_ = 0;  ///< Unix; 0: it is reached
  std::uint64_t uploaded_ = 0;     ///< checkpoints in this session
};

}  // namespace tune
