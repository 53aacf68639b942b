// The interface of callbacks, which are told what has been committed. Implementations: callbacks/,
// plugins, users.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "tuner/model/constraint.h"
#include "tuner/model/experiment.h"
#include "tuner/model/objective.h"
#include "tuner/model/resources.h"

namespace tune {

/// Facts about the run, given once, before anything happens.
struct RunInfo {
  std::string name;
  std::filesystem::path directory;  ///< of the experiment, absolute
  std::vector<Objective> objectives;
  std::optional<std::uint64_t> total_trials;  ///< if known beforehand
  Resources resources;                        ///< totals
  Resources resources_per_trial;
  bool resumed = false;
  std::vector<Constraint> constraints = {};
  Json stop = {};  ///< the stop rules as the spec has them; null: none
  std::optional<Seconds> time_budget_s = {};
};

/// See `Callback::flush_durable`.
using DurableFlush = std::function<void(const std::stop_token&)>;

/// Runs on the loop's thread, so a hook must return quickly: hand slow work to a thread of your
/// own. `Trial::id` names the trial's directory below `RunInfo::directory`. An exception out of a
/// hook is reported with `name()`, the callback is dropped, and the run goes on.
class Callback {
 public:
  virtual ~Callback() = default;

  virtual std::string name() const = 0;

  virtual void setup(const RunInfo& info, const Experiment& experiment) {
    (void)info;
    (void)experiment;
  }
  /// Around every turn of the loop that did something.
  virtual void on_step_begin(const Experiment& experiment) { (void)experiment; }
  virtual void on_step_end(const Experiment& experiment) { (void)experiment; }
  virtual void on_trial_start(const Trial& trial) { (void)trial; }
  /// An attempt starts from `checkpoint` (null: from scratch although there were results before).
  /// Results of `trial` after its iteration no longer count and will be reported again.
  virtual void on_trial_restore(const Trial& trial, const Checkpoint* checkpoint) {
    (void)trial;
    (void)checkpoint;
  }
  /// Asked before the record is written; `trial` is as before the result. The only thing a callback
  /// can do to a run: set `result.should_checkpoint`. Every other change to `result` is ignored.
  virtual void on_trial_result(const Trial& trial, Result& result) {
    (void)trial;
    (void)result;
  }
  /// A result that an earlier driver accepted, told again at a resume, oldest first, so that a
  /// callback that keeps files can mend them. Most leave it empty.
  virtual void on_trial_replay(const Trial& trial, const Result& result) {
    (void)trial;
    (void)result;
  }
  /// The trainable was asked to save.
  virtual void on_trial_save(const Trial& trial) { (void)trial; }
  /// The checkpoint is committed and its record is on disk.
  virtual void on_checkpoint(const Trial& trial, const Checkpoint& checkpoint) {
    (void)trial;
    (void)checkpoint;
  }
  /// The trial goes on as a copy of another one, from now on with the config in `trial`.
  virtual void on_trial_exploit(const Trial& trial, const Cloning& cloning) {
    (void)trial;
    (void)cloning;
  }
  /// Events that are written, so that not even the driver's death undoes them; in order, each once.
  /// The trials may already be further.
  virtual void on_events(std::span<const Event> events) { (void)events; }
  /// Whether it wants `on_events`, for which events have to be kept. The answer must not change.
  virtual bool wants_events() const { return false; }
  virtual void on_trial_complete(const Trial& trial) { (void)trial; }
  /// A failed attempt that will be retried; what failed is in `trial.error`.
  virtual void on_trial_recover(const Trial& trial) { (void)trial; }
  /// A failed attempt, for good.
  virtual void on_trial_error(const Trial& trial) { (void)trial; }
  virtual void on_experiment_end(const Experiment& experiment) { (void)experiment; }

  /// The number of trials has changed; nothing: not known.
  virtual void on_total(std::optional<std::uint64_t> trials) { (void)trials; }

  /// What the run waits for to start one more trial, as a phrase; empty: for nothing, or only for a
  /// running trial to end. Told when it changes.
  virtual void on_waits(const std::string& what) { (void)what; }

  /// The trials whose step takes so long that it may never end; called when the list changes.
  virtual void on_hangs(const std::vector<TrialId>& trials) { (void)trials; }

  /// A warning or notice for the user, in one sentence.
  virtual void on_notice(const std::string& sentence) { (void)sentence; }

  /// Its state, an object, saved with each snapshot and when the driver ends in good order. At a
  /// resume `load` gets it before the later results are replayed.
  virtual Json save() const { return Json::object(); }
  virtual void load(const Json& state) { (void)state; }

  /// For callbacks that keep results in files of their own. Results told so far will not be
  /// replayed any more once a snapshot is in force, which waits for the work returned here: run on
  /// another thread, it returns when all of them are on disk, or throws, and the snapshot is tried
  /// again later. Told to stop, it may throw at once: the run is over, and its end waits. Empty:
  /// there is nothing to wait for. What it refers to lives as long as the callback.
  virtual DurableFlush flush_durable() { return {}; }
};

}  // namespace tune
