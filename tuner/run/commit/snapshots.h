// Takes a snapshot of the whole state from time to time, so that a resume reads little and the
// journal does not grow for ever. The loop hands over what has changed; the rest is done beside it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "tuner/journal/experiment_store.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/event_committer.h"
#include "tuner/run/commit/policies.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/run/commit/workers.h"

namespace tune {

/// Takes one before the loop runs; returns when it is in force. Everything appended to `store` must
/// be written.
void take_snapshot(const Experiment& experiment, const Policies& policies, ExperimentStore& store,
                   CallbackList& callbacks, const Json& spec, TrialChanges& changes);

/// Policies, and the spec that they are made from.
struct UnderSpec {
  Policies& policies;
  const Json& spec;
};

/// Changes the spec before the loop runs: the policies of `after` load the state of those of
/// `before`. At every moment the newest snapshot says under which spec the journal after it was
/// written; `has_snapshot`: there is one already.
void change_spec(const Experiment& experiment, UnderSpec before, UnderSpec after,
                 ExperimentStore& store, CallbackList& callbacks, TrialChanges& changes,
                 bool has_snapshot);

class Snapshots {
 public:
  /// `period_s`: time from one snapshot to the next; none: at least `shortest_period_s`, and long
  /// enough that snapshots cost at most 1/20 of the time.
  Snapshots(EventCommitter& committer, Policies& policies, ExperimentStore& store, Workers& workers,
            CallbackList& callbacks, Json spec, std::optional<Seconds> period_s);

  static constexpr Seconds shortest_period_s = 10;
  static constexpr double cost_factor = 19;

  /// The loop's, each turn between its write and its sync.
  void turn();
  /// Steady time at which `turn` has something to do.
  Seconds deadline() const;
  /// No new one from now on. One under way is given up where it still waits for callbacks' files,
  /// thousands of them perhaps: the journal has all that it would save a resume to read.
  void stop() { stop_.request_stop(); }

  const StateCost& session_cost() const { return store_.cost(); }

 private:
  enum class Step {
    idle,
    preparing,   ///< the next journal is being made
    prepared,    ///< it waits for a turn in which it can take over
    publishing,  ///< the snapshot is on its way to the disk
  };
  struct Outcome;

  bool is_wanted() const;
  void add_trial(TrialId trial);
  void hand_lines_over();
  void prepare();
  void take();
  void publish();
  void take_note(Outcome& outcome);
  void finish(Outcome& outcome);
  void fail(const std::string& error);

  EventCommitter& committer_;
  Policies& policies_;
  ExperimentStore& store_;
  Workers& workers_;
  CallbackList& callbacks_;
  const Json spec_;
  const std::optional<Seconds> period_s_;

  Step step_ = Step::idle;
  std::stop_source stop_;
  Seconds started_ = 0;  ///< steady; of the one under way, or the last
  Seconds due_ = 0;      ///< steady
  Seconds loop_s_ = 0;   ///< what the one under way has cost the loop
  std::uint64_t last_event_;
  std::unique_ptr<Journal> next_;
  TrialLines lines_;  ///< for the next one
  /// Lines for the next one are on their way to the disk, ahead of it.
  bool is_handing_over_ = false;
  bool may_hand_over_ = true;  ///< not after that failed, until a snapshot has succeeded
  /// Taken, and waiting for the sync of what came before and for the searcher's state.
  SnapshotParts parts_;  ///< without the state, of which JSON is made when it is written
  SnapshotState state_;
  Json taken_under_;  ///< the spec
  bool is_durable_ = false;
  bool is_state_there_ = false;
  std::vector<DurableFlush> flushes_;
  int failures_ = 0;  ///< in a row
};

}  // namespace tune
