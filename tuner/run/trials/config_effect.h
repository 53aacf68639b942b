// Whether configs have an effect: trials that have different ones and come to the same, to the last
// digit, hint at a program that does not read its config.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "tuner/model/result.h"
#include "tuner/model/trial.h"
#include "tuner/spec/spec.h"

namespace tune {

/// Compares all trials with what the first one to come to an iteration had there, and is done at
/// the first difference: so it costs next to nothing in a search whose configs matter, and nothing
/// per trial.
class ConfigEffect {
 public:
  /// So many trials with different configs are no accident.
  static constexpr std::size_t least_trials = 3;
  /// What a curve must have been through: early on, or on few samples, many come to the same.
  static constexpr int least_changes = 2;
  /// Of programs with a shorter curve, such as a single result, so many trials with a result of so
  /// many digits: a share of few samples has fewer.
  static constexpr std::size_t least_short_trials = 5;
  static constexpr int least_digits = 8;
  /// With fewer digits, as accuracies in percent have, more trials: with some samples several
  /// configs may well come to the same.
  static constexpr std::size_t least_blunt_trials = 10;
  static constexpr int least_blunt_digits = 5;

  /// `spec` outlives it.
  explicit ConfigEffect(const ExperimentSpec& spec) : spec_(spec) {}

  /// `before`: the trial without the result.
  void on_result(const Trial& before, const Result& result);
  /// It has ended for good, and not by a failure. Once a sentence for the user: `least_trials`
  /// trials have ended (more where curves are short), each with another config, and
  /// all that any trial has reported is the same.
  /// Empty otherwise.
  std::string on_end(const Trial& trial);

 private:
  static constexpr std::size_t most_iterations = 10'000;  ///< that are compared
  /// What all trials have had in one iteration.
  struct Point {
    std::size_t digest = 0;
    std::vector<double> objectives;
    int changes = 0;  ///< of the objectives on the way here, between finite values
  };

  std::string sentence() const;

  const ExperimentSpec& spec_;
  std::unordered_map<std::int64_t, Point> course_;
  std::set<std::string> configs_;
  std::vector<TrialId> alike_;
  bool is_over_ = false;
};

}  // namespace tune
