// The options of a resume beyond continuing unfinished trials, and the trials that they select.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tuner/model/experiment.h"
#include "tuner/policy/scheduler.h"
#include "tuner/policy/stopper.h"
#include "tuner/spec/spec.h"

namespace tune {

/// What becomes of trials that ended in ERROR.
enum class ErroredTrials {
  leave,
  go_on,    ///< from their latest checkpoints
  restart,  ///< from scratch: their checkpoints, results and metrics are gone
};

struct ResumeOptions {
  /// Applied to the recorded spec; see resume_changes.h for what may change.
  std::function<void(ExperimentSpec&)> change;
  ErroredTrials errored = ErroredTrials::leave;
  /// Trials that a stop rule has ended go on from their latest checkpoints if the present rule
  /// would not have ended them.
  bool finished = false;
  /// Only these run in this session, and no new ones are added; empty: all. One that ended in ERROR
  /// is taken up again; so is one that has finished, if it has a checkpoint and its stop rule would
  /// not end it where it is.
  std::vector<TrialId> trials;
  /// These go on in processes that an earlier driver has left, and lose nothing.
  std::set<TrialId> adopted = {};
};

struct ResumePlan {
  std::vector<TrialRequeued> requeued;
  std::vector<TrialHeld> released;  ///< named, and so no longer paused by hand
  std::vector<std::string> notices;
};

/// `rules`: a fresh instance of the stop rules from now on, null if there are none; a rule over
/// several results sees only a trial's last one, and lets it go on. If the rules have just been
/// changed, a notice says how many finished trials that could concern. `scheduler`: the one of the
/// new session. Error (user) for a trial that does not exist or cannot go on.
ResumePlan plan_resume(const Experiment& experiment, const ResumeOptions& options, Stopper* rules,
                       bool rules_changed, const Scheduler& scheduler);

}  // namespace tune
