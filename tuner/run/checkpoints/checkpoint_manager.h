// Takes each save from a temporary directory to a committed checkpoint: checksums and sync on a
// thread, then the record, then retention, and deletion once its record is on disk. Checkpoints
// that a restore still reads are pinned. Commits of one trial are recorded in the order of its
// saves. The loop says who writes a save, CheckpointStorage where.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/checkpoints/checkpoint_replicator.h"
#include "tuner/checkpoints/checkpoint_storage.h"
#include "tuner/model/checkpoint_budget.h"
#include "tuner/model/retention.h"
#include "tuner/plain/plain_program.h"
#include "tuner/run/checkpoints/evictions.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/event_committer.h"
#include "tuner/run/commit/workers.h"

namespace tune {

/// One save, from the request to the record.
struct Save {
  TrialId trial{};
  int attempt = 0;
  std::filesystem::path directory;  ///< aside, until the trainable has answered
  std::filesystem::path origin;     ///< where what a function handed over lay; empty: nowhere
  Checkpoint checkpoint;       ///< index, iteration, times, score, save_s; the rest comes at commit
  std::string metrics = "{}";  ///< of the result that it belongs to
  std::vector<RankPart> parts = {};       ///< of several ranks
  std::vector<ResultAhead> results = {};  ///< that it contains, and the trial has not reported yet
  std::vector<std::string> counts = {};   ///< see ManifestHeader
};

class CheckpointManager {
 public:
  /// All parts outlive it. `replicator`: where checkpoints go besides; null: nowhere.
  CheckpointManager(EventCommitter& committer, Workers& pool, CheckpointStorage& store,
                    CallbackList& callbacks, const CheckpointConfig& config,
                    CheckpointReplicator* replicator = nullptr);

  /// Reserves the index of the trial's next save.
  int take_index(TrialId trial);

  /// That index was taken by an earlier driver, for a save that is under way.
  void note_index(TrialId trial, int index) { indices_[trial] = std::max(indices_[trial], index); }

  /// Makes the directory that a trainable is to write into; `then` gets it, or nothing if that
  /// failed, which has then been recorded as a failed save.
  void begin(TrialId trial, int attempt, int index,
             std::function<void(std::optional<std::filesystem::path>)> then);

  /// Takes over the directory that a function trainable reports as its checkpoint, before the
  /// function goes on; `then` gets the save to commit, or nothing if the directory was refused,
  /// which has then been recorded as a failed save. `reported`: its name; of several ranks the
  /// names of their parts.
  void adopt_checkpoint(Save save, std::vector<std::string> reported,
                        std::function<void(std::optional<Save>)> then);

  /// Copies the files that a program has saved by itself; `then` gets the save to commit. It gets
  /// nothing if copying failed (recorded as a failed save) or if the program was changing the files
  /// meanwhile (which counts as no save).
  void copy(Save save, CheckpointFiles files, std::function<void(std::optional<Save>)> then);

  /// Commits the save once the trial's earlier saves are committed, then applies retention; `then`
  /// gets whether it worked. In order: else a crash in between could leave the older one as the
  /// newest.
  void commit(Save save, std::function<void(bool)> then);

  /// The trainable could not write it: records the failed save, throws the directory away.
  void fail(const Save& save, const std::string& reason);

  /// Throws away what was written aside for a save that nobody waits for any more.
  void discard(CheckpointRef checkpoint, int attempt);
  /// The same for a directory that a function reported, if its name is reserved for that.
  void discard(TrialId trial, const std::string& reported);

  /// A pinned checkpoint is not dropped. Pins count.
  void pin(TrialId trial, int index);
  void unpin(TrialId trial, int index);

  /// Records that a trial which had ended runs again. From scratch: its checkpoints are deleted
  /// once that is on disk.
  void requeue(const TrialRequeued& requeued);

  /// Drops what retention no longer wants; called after each commit, unpin and end of a trial.
  void apply_retention(TrialId trial);

  /// Called each turn: passes on the replicator's notices, and drops checkpoints that only an
  /// upload still needed. Returns why the run must end; empty if it need not.
  std::string look_at_mirror();

  /// What a trial starts with.
  struct Source {
    CheckpointRef checkpoint;         ///< of the trial itself or its donor; index 0: there is none
    std::filesystem::path directory;  ///< where that can be read
    std::filesystem::path work;       ///< the working directory of its program
    PlainSource plain;                ///< of a program that saves by itself
    bool is_unmade = false;           ///< see NotMade
  };
  /// Before a launch: makes the trial's directories and finds the newest checkpoint that it may
  /// start from and that is whole; evicted ones are waited for, and so are damaged ones that the
  /// remote has; others that are damaged are recorded and set aside. `then` gets it, and why the
  /// directories cannot be made, which is empty if they can.
  struct Needs {
    /// It saves by itself: the files are put back to where it had them, others of the kind removed.
    std::optional<PlainCheckpoints> checkpoints;
    bool config_file = false;  ///< it reads its config from a file
  };
  void prepare(TrialId trial, const Needs& needs,
               std::function<void(Source, const std::string&)> then);

  /// Applies retention to a donor whose clone no longer needs its checkpoint; `before`: the clone's
  /// donor before the last event.
  void release(TrialId clone, const std::optional<DonorCheckpoint>& before);

 private:
  struct Commit {
    Save save;
    std::function<void(bool)> then;
  };
  using Prepare = std::function<void(Source, const std::string&)>;
  void look(TrialId trial, const Needs& needs, CheckpointRef wanted, Prepare then);
  void fetch(TrialId trial, const Needs& needs, Source source, Prepare then);
  PlainSource put_back(TrialId trial, const Source& source, const std::string& start,
                       const PlainCheckpoints& plain);
  void begin_commit(TrialId trial);
  void end_commit(Commit commit, const std::string& error);
  bool is_in_use(TrialId trial, int index) const;
  bool is_pinned(TrialId trial, int index) const;
  void keep_to_budget(TrialId changed);
  void remove_when_durable(TrialId trial, std::vector<int> indices);
  struct Damage {
    std::string reason;
    std::filesystem::path kept_as;  ///< empty: there is nothing to keep
    bool is_lost_there = false;     ///< it was evicted, and the remote does not have it any more
  };
  bool can_refetch(CheckpointRef checkpoint, const Damage& damage);
  void record_damage(TrialId trial, CheckpointRef source, const Damage& damage);
  std::uint64_t count_of(const std::string& reason);
  void record_failure(TrialId trial, int index, const std::string& reason);

  EventCommitter& committer_;
  Workers& pool_;
  CheckpointStorage& store_;
  CallbackList& callbacks_;
  CheckpointReplicator* const replicator_;
  Evictions evictions_;
  CheckpointConfig config_;
  std::unique_ptr<Retention> retention_;
  std::map<TrialId, int> indices_;  ///< the last one taken, for trials with saves under way
  std::map<TrialId, std::deque<Commit>> commits_;  ///< the first of each is under way
  std::map<TrialId, std::multiset<int>> pins_;
  std::set<CheckpointRef> refetched_;  ///< damaged here, and whole on the remote
  std::optional<CheckpointBudget> budget_;
  bool said_over_budget_ = false;
  /// Of saves, in this session, by kind: how many, and how many have to be for it to be said again.
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> failures_;
};

}  // namespace tune
