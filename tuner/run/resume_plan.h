// What a resume is asked to do beyond going on with what is unfinished, and which trials follow
// from that.
#pragma once

#include <functional>
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
  /// Trials that a stop rule has ended go on from their latest checkpoints if the present one would
  /// not have.
  bool finished = false;
  /// Only these run in this session, and no new ones are added; empty: all. One that ended in ERROR
  /// is taken up again; so is one that has finished, if it has a checkpoint and its stop rule would
  /// not end it where it is.
  std::vector<TrialId> trials;
};

struct ResumePlan {
  std::vector<TrialRequeued> requeued;
  std::vector<TrialHeld> released;  ///< named, and so no longer paused by hand
  std::vector<std::string> notices;
};

/// `rules`: the stop rules from now on, null if there are none, fresh and used for nothing else;
/// one that looks at several results sees a trial's last one only, and lets it go on. If they have
/// just been changed, it is said how many finished trials that could concern. `scheduler`: made for
/// the session to come. Error (user) for a trial that does not exist or cannot go on.
ResumePlan plan_resume(const Experiment& experiment, const ResumeOptions& options, Stopper* rules,
                       bool rules_changed, const Scheduler& scheduler);

}  // namespace tune
