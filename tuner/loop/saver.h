// Checkpoints on their way: a directory aside, the commit beside the loop, the record, retention
// with pins, deletion after the record is on disk.
// Knows no process: who writes the directory is the loop's business.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/core/checkpoint_budget.h"
#include "tuner/core/retention.h"
#include "tuner/loop/callback_list.h"
#include "tuner/loop/ledger.h"
#include "tuner/loop/workers.h"
#include "tuner/store/checkpoint_keeper.h"
#include "tuner/store/file_system.h"

namespace tune {

/// One save, from the wish to the record.
struct Save {
  TrialId trial{};
  int attempt = 0;
  std::filesystem::path directory;  ///< aside, or the one that a function trainable handed over
  bool handed_over = false;
  Checkpoint checkpoint;       ///< index, iteration, times, score, save_s; the rest comes at commit
  std::string metrics = "{}";  ///< of the result that it belongs to
};

class Saver {
 public:
  /// All parts outlive it.
  Saver(Ledger& ledger, Workers& pool, FileSystem& files, CheckpointKeeper& store,
        CallbackList& callbacks, std::filesystem::path experiment_dir,
        const CheckpointConfig& config);

  /// The index of the trial's next save, and from now on used.
  int take_index(TrialId trial);

  /// Makes the directory that a trainable is to write into; `then` gets it, or nothing if that
  /// failed, which has then been recorded as a failed save.
  void begin(TrialId trial, int attempt, int index,
             std::function<void(std::optional<std::filesystem::path>)> then);

  /// Makes it a checkpoint, records that and what retention drops; `then` gets whether it worked.
  void commit(Save save, std::function<void(bool)> then);

  /// The trainable could not write it: records the failed save, throws the directory away.
  void fail(const Save& save, const std::string& reason);

  /// Throws away what was written aside for a save that nobody waits for any more.
  void discard(const std::filesystem::path& directory);

  /// A pinned checkpoint is not dropped. Pins count.
  void pin(TrialId trial, int index);
  void unpin(TrialId trial, int index);

  /// Records that a trial which had ended runs again. From scratch: its checkpoints are deleted
  /// once that is on disk.
  void requeue(const TrialRequeued& requeued);

  /// Drops what retention no longer wants; called after each commit, unpin and end of a trial.
  void apply_retention(TrialId trial);

  /// What a trial is restored from.
  struct Source {
    TrialId owner{};  ///< the trial itself, or its donor
    int index = 0;    ///< 0: there is no checkpoint
  };
  /// Before a launch: makes the trial's directory and finds the newest checkpoint that it may start
  /// from and that is whole; damaged ones are recorded and set aside. `then` gets it, and why the
  /// directory cannot be made, which is empty if it can.
  void prepare(TrialId trial, std::function<void(Source, const std::string&)> then);

  /// Applies retention to a donor whose clone no longer needs it; `before` is what the clone had
  /// for a donor before its last record.
  void release(TrialId clone, const std::optional<DonorCheckpoint>& before);

 private:
  std::filesystem::path trial_dir(TrialId trial) const;
  bool is_pinned(TrialId trial, int index) const;
  void keep_to_budget(TrialId changed);
  void remove_when_durable(TrialId trial, std::vector<int> indices);
  void record_damage(TrialId trial, Source source, const std::string& damage);
  void record_failure(TrialId trial, int index, const std::string& reason);

  Ledger& ledger_;
  Workers& pool_;
  FileSystem& files_;
  CheckpointKeeper& store_;
  CallbackList& callbacks_;
  std::filesystem::path experiment_dir_;
  CheckpointConfig config_;
  std::unique_ptr<Retention> retention_;
  std::map<TrialId, int> indices_;  ///< the last one taken, for trials with saves under way
  std::map<TrialId, std::multiset<int>> pins_;
  std::optional<CheckpointBudget> budget_;
  bool said_over_budget_ = false;
};

}  // namespace tune
