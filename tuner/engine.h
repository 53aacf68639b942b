// The parts of one run, from before the experiment is opened until its summary is made.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/host/policy_programs.h"
#include "tuner/model/paths.h"
#include "tuner/process/orphans.h"
#include "tuner/process/system_clock.h"
#include "tuner/process/watchdog.h"
#include "tuner/remote/replicator.h"
#include "tuner/run.h"
#include "tuner/run/commit/recovery.h"
#include "tuner/run/run_parts.h"
#include "tuner/run/trials/adoption.h"
#include "tuner/start_cluster.h"

namespace tune {

/// In the order in which they depend on each other.
struct Engine {
  /// Changes nothing on disk. What it is given outlives it. Error (user) if the spec cannot be run
  /// on this machine.
  Engine(const ExperimentSpec& the_spec, const Catalogue& the_catalogue, RunOptions& the_options,
         std::filesystem::path the_directory);

  /// From before the experiment is locked: who is interrupted while it is read leaves in good order
  /// once it runs.
  void listen_to_signals();
  bool is_interrupted() const;
  std::unique_ptr<AsioReactor> make_reactor() const;
  /// What comes before the run, or after it, is told at once.
  void tell(const std::string& sentence);

  /// On all nodes together, or on this machine.
  Resources totals() const;
  /// This driver, as the lock names it.
  LockOwner owner() const;
  /// Once the experiment has started.
  SessionMark session_mark(const LockOwner& self) const;
  /// Trials that go on in processes of an earlier driver.
  std::set<TrialId> adopted() const;
  /// Error if what is only on a remote would be out of reach.
  std::vector<Replicator::Known> known_on_remote();

  const ExperimentSpec& spec;
  const Catalogue& catalogue;
  RunOptions& options;
  std::filesystem::path directory;
  PolicyPrograms programs{
      .log = [this](const std::string& kind) { return paths::policy_log(directory, kind); },
      .session_mark = [this] { return to_text(session_mark(this_process(clock->now()))); }};
  /// First: it watches over the end of all others. None where signals are somebody else's.
  std::unique_ptr<Watchdog> watchdog;
  const std::optional<Seconds> period_s;  ///< of snapshots
  DetectedResources detected;
  std::vector<Problem> problems;
  SearchSpace space;
  /// Of a resume, those under which what is recorded was decided: policies may go on with them.
  std::optional<ExperimentSpec> replayed_spec;
  std::optional<SearchSpace> replayed_space;
  Policies policies;
  CallbackList callbacks;
  TrialChanges changes;  ///< that no snapshot has yet
  std::unique_ptr<FileSystem> files = make_posix_file_system();
  /// For what the store keeps: the spec holds the environment of trials, and so perhaps keys.
  std::unique_ptr<FileSystem> own_files = make_posix_file_system(Access::owner);
  CheckpointStore checkpoints{*files, directory, !spec.remote.path.empty()};
  std::unique_ptr<Replicator> replicator;  ///< none where the spec names no remote
  std::unique_ptr<Clock> clock = make_system_clock();
  Experiment experiment;
  std::optional<StartedCluster> cluster;  ///< none: trials run on this machine
  AdoptionPlan adoption;                  ///< until the run has begun
  bool is_running = false;                ///< the run, which has what is started of the cluster
};

}  // namespace tune
