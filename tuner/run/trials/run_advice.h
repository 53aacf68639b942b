// What a user will not expect of a run: a program that ignores its config or its checkpoint, trials
// that overwrite each other's files, a setting without effect. Each is said once, of the first
// trial that shows it: of a hundred trials of one program it would be the same. It changes nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/execution/executor.h"
#include "tuner/plain/shared_outputs.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/event_committer.h"
#include "tuner/run/commit/workers.h"
#include "tuner/run/trials/attempt.h"
#include "tuner/run/trials/config_effect.h"
#include "tuner/run/trials/repeated_start.h"
#include "tuner/run/workers/worker_group.h"
#include "tuner/spec/spec.h"
#include "tuner/spec/spec_warnings.h"

namespace tune {

class RunAdvice {
 public:
  /// All parts outlive it.
  RunAdvice(const ExperimentSpec& spec, const std::filesystem::path& experiment_dir,
            EventCommitter& committer, Workers& workers, CallbackList& callbacks);

  /// A trial is about to start: from `restored`, or from scratch.
  void on_start(const Trial& trial, const Checkpoint* restored);
  void on_launch_advisory(TrialId trial, const LaunchAdvisory& advisory);
  void on_ready(const WorkerGroup& worker_group);
  /// The first of an attempt. `can_save`: the trainable can save after it.
  void on_first_result(const Metrics& metrics, bool can_save);
  /// Before it is recorded. `before`: the trial without it.
  void on_result(Attempt& attempt, const Trial& before, const Result& result);
  /// With its last result recorded.
  void on_recorded(const Trial& trial) { look_for_awaited(trial, false); }
  /// It was to be paused, and had run to its end.
  void on_ran_to_end(const Trial& trial);
  /// A function has returned, and cannot save any more what it was to save at its end.
  void on_returned_unsaved(TrialId trial);
  /// Its processes have gone, and nobody had asked them to.
  void on_gone(TrialId trial, const WorkerGroup::Gone& gone);
  /// Its processes are gone that might have stayed for another trial.
  void on_not_stayed(TrialId trial, const WorkerGroup& worker_group);
  /// An attempt with a result has ended, which began then (steady).
  void on_close(TrialId trial, Seconds began_at);
  /// That end is recorded.
  void on_end(TrialId trial, Outcome outcome);
  /// The trial has ended for good, and has not failed.
  void on_complete(const Trial& trial);

 private:
  enum class Topic {
    reserved_name,
    reuse,
    saves,
    protocol,
    lost_work,
    ran_to_end,
    repeated_start,
    unsaved_donor,
    shared_outputs,
  };
  /// True the first time.
  bool is_new(Topic topic) { return said_.insert(topic).second; }
  void look_for_awaited(const Trial& trial, bool has_ended);
  const Trial& trial(TrialId id) const { return committer_.experiment().trial(id); }

  const ExperimentSpec& spec_;
  const std::filesystem::path& experiment_dir_;
  EventCommitter& committer_;
  Workers& workers_;
  CallbackList& callbacks_;

  std::set<Topic> said_;
  std::set<LaunchAdvisory::What> said_of_launches_;
  /// See metrics_awaited; those that nobody has reported so far. Empty once that was said.
  std::vector<AwaitedMetric> awaited_;
  std::map<TrialId, std::int64_t> results_;  ///< in this session, while something is awaited
  ConfigEffect config_effect_;
  RepeatedStart repeated_start_;
  SharedOutputs shared_outputs_;
  bool is_looking_at_outputs_ = false;
  Seconds next_look_at_outputs_ = -never_s;  ///< steady; not before
};

}  // namespace tune
