// The seam for searchers: which config to try next. Implementations: searchers/.
// The three laws of tuner/core/scheduler.h hold.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "tuner/core/result.h"
#include "tuner/core/trial.h"

namespace tune {

struct Suggestion {
  Json config;
  std::string tag;  ///< what was drawn, short
};
struct NothingNow {};  ///< ask again after the next result or end of a trial
struct Exhausted {};   ///< there will never be another

using Answer = std::variant<Suggestion, NothingNow, Exhausted>;

class Searcher {
 public:
  virtual ~Searcher() = default;

  /// The config of trial `id`. Only a Suggestion may change the searcher.
  virtual Answer suggest(TrialId id) = 0;

  /// Told after the scheduler, for each accepted result that does not end the trial.
  virtual void on_result(const Trial& trial, const Result& result) {
    (void)trial;
    (void)result;
  }

  /// The trial reached a final state; its last result is in `trial`. Told again, after further
  /// results, for a trial that the user queued again: the later end replaces the earlier.
  virtual void on_trial_end(const Trial& trial) { (void)trial; }

  /// How many trials the search will make in all, if that is known beforehand.
  virtual std::optional<std::uint64_t> total() const { return std::nullopt; }

  virtual Json save() const = 0;
  virtual void load(const Json& state) = 0;
};

}  // namespace tune
