// Plays a driver with a user's trainable and reports broken promises: a run that is saved, killed,
// restored, reset or left alone must give the same results as an undisturbed run.
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
  /// The hyperparameters that population based training changes; if given, the check changes only
  /// these.
  std::set<std::string> mutated;
  int iterations = 4;  ///< of a whole run; it is interrupted in its middle
  /// Relative difference up to which two values count as equal; 0: every bit must be equal.
  double tolerance = 0;
  Seconds answer_s = 300;           ///< for a step or a save
  std::filesystem::path directory;  ///< absolute, exists, empty: where it all happens
};

/// The outcome of one check.
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
