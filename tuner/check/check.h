// Plays a driver with somebody's trainable and says what does not hold: whether a run that was
// saved, killed, restored, reset or left alone comes to what one comes to that never was.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "tuner/spec/spec.h"

namespace tune {

struct CheckOptions {
  Json config;                ///< of all trials
  std::optional<Json> other;  ///< another one of the same space, if there is any
  /// What population based training is to change; with any, nothing else is changed.
  std::set<std::string> mutated;
  int iterations = 4;  ///< of a whole run; it is interrupted in its middle
  /// By how much of the larger one two values may differ that are equal; 0: not by a bit.
  double tolerance = 0;
  Seconds answer_s = 300;           ///< for a step or a save
  std::filesystem::path directory;  ///< absolute, exists, empty: where it all happens
};

/// What one check has come to.
struct Verdict {
  enum class Kind {
    holds,
    fails,
    unknown,  ///< it cannot be told; `why` says what would be needed
  };
  Kind kind = Kind::holds;
  std::string claim;  ///< a sentence
  std::string why;    ///< one or more sentences; may be empty if it holds
  Seconds took_s = 0;
};

/// Checks the trainable of `spec` and tells each verdict as soon as there is one. Blocks for as
/// long as about twenty times `iterations` steps and a dozen launches. Error (machine) if this
/// machine cannot launch it, or its disk fails.
void check_trainable(const ExperimentSpec& spec, const CheckOptions& options,
                     const std::function<void(const Verdict&)>& tell);

}  // namespace tune
