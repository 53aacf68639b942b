// Joins the parts around a loop in the order in which they depend on each other: for real processes
// and for virtual time alike. The one place that knows that order.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>

#include "tuner/base/clock.h"
#include "tuner/disk/liveness.h"
#include "tuner/policy/callback.h"
#include "tuner/run/checkpoints/checkpoint_manager.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/event_committer.h"
#include "tuner/run/commit/policies.h"
#include "tuner/run/commit/snapshots.h"
#include "tuner/run/commit/workers.h"
#include "tuner/run/loop.h"

namespace tune {

/// An experiment, who decides in it and who is told of it.
struct DrivenExperiment {
  const ExperimentSpec& spec;
  Experiment& experiment;
  Policies& policies;
  ExperimentStore& store;
  CallbackList& callbacks;
  TrialChanges changes = {};  ///< trials that no snapshot has yet
};

/// What its trials run in.
struct RunEnvironment {
  Executor& executor;
  Reactor& reactor;
  const Clock& clock;
  CheckpointStorage& checkpoints;
  Workers::Threads threads = Workers::Threads::own;
  ActivityTracker* activities = nullptr;  ///< where the threads say what they are at; null: nowhere
  CheckpointReplicator* replicator = nullptr;  ///< copies checkpoints to a remote; null: none
};

class RunParts {
 public:
  /// All that is referred to outlives it. `recorded`: the spec as snapshots keep it; `period_s`:
  /// from one snapshot to the next, see Snapshots.
  RunParts(DrivenExperiment driven, RunEnvironment environment, Json recorded,
           std::optional<Seconds> period_s);
  RunParts(const RunParts&) = delete;
  RunParts& operator=(const RunParts&) = delete;

  EventCommitter& committer() { return *committer_; }
  CheckpointManager& checkpoint_manager() { return *checkpoint_manager_; }
  Snapshots& snapshots() { return *snapshots_; }
  Workers& workers() { return workers_; }

  /// Runs until nothing is left to do. Throws as Loop::run does. To be called once.
  LoopEnd run(LoopOptions options);

 private:
  const ExperimentSpec& spec_;
  Policies& policies_;
  CallbackList& callbacks_;
  Executor& executor_;
  Reactor& reactor_;
  // Last in, first out: the workers end before what their work refers to.
  std::optional<Snapshots> snapshots_;
  std::optional<CheckpointManager> checkpoint_manager_;
  std::optional<EventCommitter> committer_;
  Workers workers_;
};

/// Records the start of a session, and the end of the attempts that an earlier driver left running,
/// but for those of the trials that go on in their processes. `ran`: see SessionStarted.
void begin_session(EventCommitter& committer, const LockOwner& driver, const std::string& version,
                   const std::string& ran = {}, const std::set<TrialId>& adopted = {});

/// Sets the callbacks up. `resources`: totals.
void set_up(CallbackList& callbacks, const ExperimentSpec& spec, const Experiment& experiment,
            const Policies& policies, const std::filesystem::path& directory, Resources resources);

}  // namespace tune
