// Searcher, scheduler and stopper of one experiment, and the one way in which they learn anything.
// The loop and recovery call the same functions in the same order: that is what makes the policies
// a fold of the journal. Pure: reads no clock and no file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/base/error.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/scheduler.h"
#include "tuner/policy/stopper.h"
#include "tuner/run/commit/suggester.h"
#include "tuner/space/search_space.h"

namespace tune {

/// The state of all policies at one moment, of which JSON is made later, on whatever thread.
struct PolicyStates {
  Json searcher;                         ///< what Suggester::save gives
  std::unique_ptr<Scheduler> scheduler;  ///< a copy; null: it is in `scheduler_state`
  Json scheduler_state;
  Json stopper;

  Json save() const;
};

struct Policies {
  Suggester searcher;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Stopper> stopper;  ///< null: nothing stops by rule
  /// The param space whose expressions are evaluated again in the configs of clones; null: none.
  const SearchSpace* space = nullptr;
  /// Makes fresh policies for the spec with these fields changed (SpecChanged). Empty: the spec
  /// never changes.
  std::function<Policies(const Json& fields)> remade = {};

  /// How many trials there will be, if the search has an end: with those added by hand, and never
  /// fewer than there are.
  std::optional<std::uint64_t> total_trials(const Experiment& experiment) const;

  /// What stoppers and scheduler answer to a result of `trial`, whose state is that before the
  /// result: stopper first, then scheduler, then searcher. While the whole experiment is stopping,
  /// every result ends its trial. `decision.checkpoint` is only what the scheduler asks for.
  Decision decide(const Experiment& experiment, const Trial& trial, const Result& result);

  /// What the scheduler wants of trials that have not reported just now.
  std::optional<Order> order() const;

  /// The state of all of them, and back into fresh ones that were made from the same spec. Error if
  /// it is not theirs.
  PolicyStates states() const;
  Json save() const { return states().save(); }
  /// Without that of the searcher, which may come later: see Suggester::save.
  PolicyStates states_of_others() const;
  void load(const Json& state);

  /// Tells the policies about `event`, which `experiment` has just applied.
  void learn(const Experiment& experiment, const Event& event);

 private:
  void evaluate(std::optional<Exploit>& exploit) const;
  void learn_end(const Trial& trial, bool is_of_machine = false);
  void learn_wait(const Trial& trial);
  void change(const Json& fields);
};

/// That a scheduler has asked for what is not possible.
Error scheduler_fault(const std::string& what);

/// The config that was suggested for the trial, as it is recorded and as trainables get it. Error
/// (user), naming the trial, if it could not be read again or sent.
std::string config_of(TrialId trial, Json suggested);

/// Replays a recorded event: asks the policies what they would have answered, applies the event,
/// tells the policies. Where their answer differs the record wins; the difference is returned as a
/// sentence, so that the user can be warned that a policy or the spec has changed.
std::optional<std::string> replay(Policies& policies, Experiment& experiment, const Event& event);

}  // namespace tune
