// The seam for schedulers: what to do with trials that exist. Implementations: schedulers/.
//
// Three laws hold for every policy (scheduler, searcher, stopper) and make it replayable:
// - It is asked before the record is written: trial and experiment are as they were before.
// - An answer that is not recorded ("nothing", "continue later") must leave no trace in who gave
//   it: no random number drawn, no counter moved.
// - It knows no clock, process, file or thread, owns its random generator, and never depends on the
//   order of a hash table or of addresses.
#pragma once

#include <optional>

#include "tuner/core/result.h"
#include "tuner/core/trial.h"

namespace tune {

class Experiment;

/// What follows from a result. Stop beats exploit beats pause beats continue.
enum class Action { proceed, pause, stop };

struct Decision {
  Action action = Action::proceed;
  bool checkpoint = false;  ///< save at this iteration, whatever else is due
  bool by_rule = false;     ///< it is a stop rule that ends the trial; not the scheduler's to say
  bool operator==(const Decision&) const = default;
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// A trial is new, or had ended and was queued again by the user: then it has been told to
  /// `on_trial_end` before, and may have results already, or once more from the first on.
  virtual void on_trial_add(const Trial& trial) { (void)trial; }

  /// Asked for each accepted result that no stopper has ended. `trial` is as before the result.
  virtual Decision on_result(const Trial& trial, const Result& result) = 0;

  /// The trial reached a final state: TERMINATED or ERROR (see `trial.state`), for whatever reason.
  virtual void on_trial_end(const Trial& trial) { (void)trial; }

  /// Which PENDING or PAUSED trial should run next, given that resources are free at `now` (Unix
  /// time); nothing if none should. Never one whose `not_before` lies ahead. The default is first
  /// come first served: PENDING before PAUSED.
  virtual std::optional<TrialId> choose(const Experiment& experiment, Seconds now) const;

  /// Everything needed so that a fresh object after `load` gives the same answers to the same
  /// future. `load` throws Error if `state` is not its own.
  virtual Json save() const { return Json::object(); }
  virtual void load(const Json& state) { (void)state; }
};

}  // namespace tune
