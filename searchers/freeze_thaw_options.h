// The options of the searcher freeze_thaw; docs/searchers.md explains them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tuner/model/constraint.h"
#include "tuner/policy/decision_epochs.h"

namespace tune {

struct FreezeThawSearchOptions {
  DecisionEpochs epochs;                    ///< the scheduler's
  std::optional<std::int64_t> max_total_t;  ///< iterations of all trials together; the scheduler's
  std::int64_t n_startup_trials = 5;        ///< configs drawn before the model is asked
  /// With this chance a decision is that of successive halving: who is among the best of a rung
  /// goes on, the farthest first, and if nobody is, a new trial starts. Where nearly all curves are
  /// flat, a model is sure of gains that are none, and would train the same few trials for ever.
  double promote_share = 0.5;
  /// Once no new trial may come, a waiting one goes on only if it is likelier than this to be
  /// better in the end than the best so far.
  double min_probability = 0.05;
  std::uint64_t seed = 0;
  std::vector<Json> only_configs = {};       ///< PolicyContext
  std::vector<Constraint> constraints = {};  ///< those about configs alone are kept to
};

}  // namespace tune
