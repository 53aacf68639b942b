// Searcher, scheduler and stopper of one experiment, and the one way in which they learn anything.
// The loop and recovery call the same functions in the same order: that is what makes the policies
// a fold of the journal. Knows no process, file or clock.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "tuner/core/experiment.h"
#include "tuner/core/scheduler.h"
#include "tuner/core/stopper.h"
#include "tuner/suggester.h"

namespace tune {

struct Policies {
  Suggester searcher;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Stopper> stopper;  ///< null: nothing stops by rule

  /// What stoppers and scheduler answer to a result of `trial`, which is as before it: stopper,
  /// then scheduler, then searcher. While the whole experiment is stopping, every result ends its
  /// trial. `decision.checkpoint` is the scheduler's wish only.
  Decision decide(const Experiment& experiment, const Trial& trial, const Result& result);

  /// The state of all of them, and back into fresh ones that were made from the same spec. Error if
  /// it is not theirs.
  Json save() const;
  /// The same, as of now, given to `then` as soon as a searcher that works beside the loop has come
  /// so far.
  void save(std::function<void(Json)> then);
  void load(const Json& state);

  /// Tells the policies what `event` has made of `experiment`, which has just applied it.
  void learn(const Experiment& experiment, const Event& event);

 private:
  Json save_others() const;
  void learn_end(const Trial& trial);
};

/// Takes in a recorded event: asks the policies what they would have answered, applies the record,
/// tells the policies. Where their answer differs the record wins; the first difference is returned
/// as a sentence, so that the user can be warned that a policy or the spec has changed.
std::optional<std::string> replay(Policies& policies, Experiment& experiment, const Event& event);

}  // namespace tune
