// How an experiment is opened: made, or recovered after its driver has ended or died.
#pragma once

#include <filesystem>
#include <set>

#include "tuner/disk/lease.h"
#include "tuner/engine.h"
#include "tuner/run/resume_plan.h"

namespace tune {

/// Its directory is locked by this driver, its agents have joined, and callbacks are set up.
struct OpenedExperiment {
  ExperimentStore store;
  ResumePlan plan = {};         ///< to be recorded when the session has started
  std::set<TrialId> only = {};  ///< these alone run; empty: all
};

/// Waits for the lease of an earlier driver whose life cannot be seen, before anything is read that
/// it might still change.
void wait_for_lease(FileSystem& files, const std::filesystem::path& directory, LeaseWatch& watch,
                    const RunOptions& options);

/// Makes the experiment. Error (user) if the directory holds one already.
OpenedExperiment create_experiment(Engine& engine);

/// The specs of an experiment that is to be resumed.
struct ResumedSpec {
  ExperimentSpec recorded;   ///< under which the record begins, after the snapshot if there is one
  ExperimentSpec left;       ///< in force when the last driver ended
  ExperimentSpec now;        ///< with what the resume changes
  bool has_changes = false;  ///< between the first two
  bool has_snapshot = false;
};

/// Error (user) if the resume changes what cannot be changed.
ResumedSpec read_spec(const std::filesystem::path& directory, const Catalogue& catalogue,
                      const ResumeOptions& resume);

/// Recovers it, with an engine of `specs.now`. Error (user) if `resume` asks for something
/// impossible; nothing is changed then. `watch`: that of `wait_for_lease`.
OpenedExperiment reopen_experiment(Engine& engine, const ResumedSpec& specs,
                                   const ResumeOptions& resume, LeaseWatch& watch);

}  // namespace tune
