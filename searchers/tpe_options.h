// The options of the searcher tpe. Defaults are Optuna 5.0's; docs/searchers.md explains them.
#pragma once

#include <cstdint>
#include <optional>

namespace tune {

/// How densities are estimated.
struct ParzenRules {
  double prior_weight = 1;  ///< of the wide kernel, above 0; the newest config has 1
  bool magic_clip = true;   ///< no kernel is narrower than the range / min(100, 2 + configs)
  bool endpoints = false;   ///< the bounds count as neighbours of the outermost configs
};

struct TpeRules {
  std::int64_t n_ei_candidates = 24;
  /// One model of all hyperparameters that every config has, not one for each; none: with one
  /// objective.
  std::optional<bool> multivariate;
  bool group = false;         ///< and one for each set of hyperparameters that come together
  bool constant_liar = true;  ///< running trials count as bad ones
  double gamma = 0.1;         ///< the part of trials that is good
  std::optional<std::int64_t> gamma_cap;  ///< at most so many; none: 25 with one objective
  /// Goes where trials are unlikely to fail, by those that have; Optuna's leaves them out.
  bool avoid_failures = true;
  /// Trials that have not all trained as long are compared by what they said after equal training;
  /// Optuna's puts those before others that have trained longer. With one objective.
  bool equal_training = true;
  ParzenRules parzen;
};

struct TpeOptions {
  std::int64_t n_startup_trials = 10;  ///< trials to know before the model is asked
  TpeRules rules;
  std::uint64_t seed = 0;
};

}  // namespace tune
