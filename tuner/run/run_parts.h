// Joins the parts around a loop in the order in which they depend on each other: for real processes
// and for virtual time alike. The one place that knows that order.
// Knows no concrete policy, callback or executor.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tuner/base/clock.h"
#include "tuner/disk/liveness.h"
#include "tuner/policy/callback.h"
#include "tuner/run/checkpoints/checkpoint_manager.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/ledger.h"
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
struct Surroundings {
  Executor& executor;
  const Clock& clock;
  CheckpointKeeper& checkpoints;
  Workers::Threads threads = Workers::Threads::own;
  Doings* doings = nullptr;            ///< where the threads say what they are at; null: nowhere
  CheckpointMirror* mirror = nullptr;  ///< where checkpoints go besides; null: nowhere
};

class Drive {
 public:
  /// All that is referred to outlives it. `recorded`: the spec as snapshots keep it; `period_s`:
  /// from one snapshot to the next, see Snapshots.
  Drive(DrivenExperiment driven, Surroundings surroundings, Json recorded,
        std::optional<Seconds> period_s);
  Drive(const Drive&) = delete;
  Drive& operator=(const Drive&) = delete;

  Ledger& ledger() { return *ledger_; }
  Saver& saver() { return *saver_; }
  Snapshots& snapshots() { return *snapshots_; }
  Workers& workers() { return workers_; }

  /// Runs until nothing is left to do. Throws as Loop::run does. To be called once.
  LoopEnd run(LoopOptions options);

 private:
  const ExperimentSpec& spec_;
  Policies& policies_;
  CallbackList& callbacks_;
  Executor& executor_;
  // Last in, first out: the workers end before what their work refers to.
  std::optional<Snapshots> snapshots_;
  std::optional<Saver> saver_;
  std::optional<Ledger> ledger_;
  Workers workers_;
};

/// The first record of a driver on an experiment, and the end of what an earlier one left running.
/// `ran`: see SessionStarted.
void begin_session(Ledger& ledger, const LockOwner& driver, const std::string& version,
                   const std::string& ran = {});

/// Sets the callbacks up. `resources`: totals.
void set_up(CallbackList& callbacks, const ExperimentSpec& spec, const Experiment& experiment,
            const Policies& policies, const std::filesystem::path& directory, Resources resources);

}  // namespace tune
