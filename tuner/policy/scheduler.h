// The interface of schedulers: what to do with existing trials. Implementations: schedulers/.
//
// Four laws hold for every policy (scheduler, searcher, stopper) and make it replayable:
// - It is asked before the record is written: trial and experiment are as they were before.
// - An answer that is not recorded ("nothing", "continue later") must not change the policy: no
//   random number drawn, no counter moved. Otherwise a replay, which does not ask again, would
//   differ.
// - It may ask only for what is possible, of trials that exist: see Experiment::objection and
//   may_start. Anything else ends the run.
// - It is pure: reads no clock and no file, uses no process and no thread, owns its random
//   generator, and never depends on the order of a hash table or of addresses.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "tuner/model/decision.h"
#include "tuner/model/result.h"
#include "tuner/model/trial.h"
#include "tuner/policy/rungs_report.h"

namespace tune {

class Experiment;

/// A scheduler's request about a trial other than the one that has just reported.
struct Order {
  TrialId trial{};
  /// Carried out when the trial is PENDING or PAUSED; nothing: it is to stop.
  std::optional<Exploit> exploit;
  std::string reason;  ///< a sentence, for a stop
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// A trial is new, or had ended and was queued again by the user: then it has been told to
  /// `on_trial_end` before, and may have results already, or once more from the first on. It is
  /// PENDING.
  virtual void on_trial_add(const Trial& trial) { (void)trial; }

  /// An attempt of the trial begins: it is RUNNING, and `trial.iteration` is that of what it is
  /// restored from, which may be less than what it has reported before.
  virtual void on_trial_start(const Trial& trial) { (void)trial; }

  /// An attempt has ended and the trial has not: it is PENDING (interrupted, to be retried, or
  /// exploiting) or PAUSED.
  virtual void on_trial_wait(const Trial& trial) { (void)trial; }

  /// Asked for each accepted result that no stopper has ended. `trial` is as before the result.
  virtual Decision on_result(const Trial& trial, const Result& result) = 0;

  /// The trial reached a final state: TERMINATED or ERROR (see `trial.state`), for whatever reason.
  virtual void on_trial_end(const Trial& trial) { (void)trial; }

  /// Whether the trial has trained as long as the scheduler lets any trial train.
  virtual bool is_at_max(const Trial& trial) const { return trial.at_max; }

  /// Requests about trials other than the one that has just reported, one at a time; asked again
  /// until there are none. A stop comes back as `on_trial_end` (of a running trial: when its
  /// attempt has ended), an exploit as `on_order`.
  virtual std::optional<Order> order() const { return std::nullopt; }
  /// The order was carried out: a stop is recorded, an exploit has changed `trial`.
  virtual void on_order(const Trial& trial) { (void)trial; }

  /// Which PENDING or PAUSED trial should run next, given that resources are free at `now` (Unix
  /// time); nothing if none should. Only one that `Experiment::may_start`. With `more`, a new trial
  /// can perhaps be had instead: if nothing is chosen the searcher is asked for one, or for a
  /// waiting one to go on, and if it has none, this is asked again without. The default is first
  /// come first served: PENDING before new ones before PAUSED.
  virtual std::optional<TrialId> choose(const Experiment& experiment, Seconds now, bool more) const;

  /// For people: why trials are left waiting at the end, if not for results of new trials.
  virtual std::string why_left(const Experiment& experiment) const {
    (void)experiment;
    return "";
  }

  /// For people: the state of each rung. Nothing from a scheduler without rungs.
  virtual std::optional<RungsReport> rungs() const { return std::nullopt; }

  /// Everything needed so that a fresh object after `load` gives the same answers to the same
  /// future. `load` throws Error if `state` is not its own.
  virtual Json save() const { return Json::object(); }
  /// One with the same state, for a snapshot to call `save` of it on another thread while this one
  /// goes on; null: it is called on the loop, which then stands still for as long as that takes.
  /// Must be fast (below 5 ms), however many trials there are: schedulers/copy_on_write.h helps.
  virtual std::unique_ptr<Scheduler> copy() const { return nullptr; }
  virtual void load(const Json& state) { (void)state; }
};

}  // namespace tune
