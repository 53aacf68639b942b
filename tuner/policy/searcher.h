// The interface of searchers: which config to try next. Implementations: searchers/. The four laws
// of tuner/policy/scheduler.h hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tuner/model/trial.h"

namespace tune {

struct Suggestion {
  Json config;
  std::string tag;  ///< what was drawn, short
};
/// No new trial: this one, which waits (PENDING or PAUSED), goes on.
struct Resume {
  TrialId trial{};
};
struct NothingNow {};  ///< ask again after the next result, pause or end of a trial
struct Exhausted {};   ///< there will never be another, of either kind

using Answer = std::variant<Suggestion, Resume, NothingNow, Exhausted>;

/// How good a trial is at one point of its training.
struct Observation {
  std::int64_t iteration = 0;
  /// One for each objective of the experiment. Larger is better, whatever the mode; NaN: no number.
  std::vector<double> scores;
  /// One for each constraint of the experiment that needs metrics: fulfilled at 0 and below, and
  /// together by as much as `violation` says (tuner/model/constraint.h).
  std::vector<double> constraints = {};
};

enum class Ended {
  complete,  ///< trained as long as it was to
  stopped,   ///< by a scheduler or by hand, before that
  failed,    ///< for good, which its config explains as far as anybody knows
  lost,      ///< for good, by a fault of the machine: it says nothing about its config
};

/// How suggestions are asked for.
struct SuggestionLimits {
  int ahead = 0;  ///< so many before they are needed, if the searcher may take long
  /// Nothing new while so many of its trials have not ended.
  std::optional<std::int64_t> max_concurrent;
  bool batch = false;  ///< and then nothing until all of them have
};

class Searcher {
 public:
  virtual ~Searcher() = default;

  /// What runs next: a Suggestion is the config of the new trial `id`. Only that may change the
  /// searcher.
  ///
  /// Scheduler::choose comes first: this is asked where it has chosen no waiting trial, and it once
  /// more where this has nothing. Whether a Resume is carried out the scheduler is not asked: it
  /// hears of it as of each start (`on_trial_start`), like that of a trial which the user names. So
  /// a scheduler that pauses by a plan of its own (hyperband, pbt) is no partner for a searcher
  /// that resumes.
  ///
  /// A Resume of a trial that cannot go on by then (it runs, or has ended; the user has paused it;
  /// it waits for a retry, or for its donor's checkpoint) counts as NothingNow: the user, and a
  /// result in between, may be faster. One of a trial that there is not ends the run.
  virtual Answer suggest(TrialId id) = 0;

  /// The same where no new trial may come, as there are as many as were asked for: never a
  /// Suggestion. Changes nothing.
  virtual Answer suggest_waiting() { return Exhausted{}; }

  /// A Resume of this searcher's is carried out: an attempt of the trial begins.
  virtual void on_trial_resume(TrialId id) { (void)id; }

  /// The user has paused the trial, which nobody can have go on until it is `released`.
  virtual void on_trial_hold(TrialId id, bool released) {
    (void)id;
    (void)released;
  }

  /// The trial has this config (JSON text), suggested by this searcher or not. Called again when a
  /// scheduler has given the trial another config: later results are of that config.
  virtual void on_trial_add(TrialId id, const std::string& config) {
    (void)id;
    (void)config;
  }

  /// Told for each accepted result that does not end the trial.
  virtual void on_result(TrialId id, const Observation& result) {
    (void)id;
    (void)result;
  }

  /// The trial reached a final state; `last` is its last result, with iteration 0 if it has none.
  /// Told again, after further results, for a trial that the user queued again, or that went on
  /// after a pause: the later end replaces the earlier.
  virtual void on_trial_end(TrialId id, const Observation& last, Ended how) {
    (void)id;
    (void)last;
    (void)how;
  }

  /// A scheduler has paused the trial after `last`, perhaps for good: most of what asha_promotion
  /// pauses never goes on. If it does, its end, or its next pause, replaces this.
  virtual void on_trial_pause(TrialId id, const Observation& last) {
    (void)id;
    (void)last;
  }

  /// How many trials the search will make in all, if that is known beforehand.
  virtual std::optional<std::uint64_t> total() const { return std::nullopt; }

  /// Whether an answer may take longer than a turn of the loop may, 1 ms or so. Then every call
  /// comes from another thread than the loop's, one after the other in the order of the record.
  virtual bool may_take_long() const { return false; }

  virtual SuggestionLimits limits() const { return {}; }

  virtual Json save() const = 0;
  /// Error if `state` is not its own.
  virtual void load(const Json& state) = 0;
};

}  // namespace tune
