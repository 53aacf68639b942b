// Whether configs have an effect: trials with different configs and results that are equal to the
// last digit hint at a program that does not read its config.
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

/// Compares each result with the first trial's result of that iteration, and stops at the first
/// difference: so it costs next to nothing where configs matter, and keeps nothing per trial.
class ConfigEffect {
 public:
  /// With so many different configs, equal results are no accident.
  static constexpr std::size_t least_trials = 3;
  /// How often the curve must have changed: early on, or with few samples, many configs give the
  /// same value.
  static constexpr int least_changes = 2;
  /// For a shorter curve, such as a single result: so many trials, whose results have so many
  /// digits. A share of few samples has fewer digits.
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

  /// Nothing will be said any more: results differ, or it has been.
  bool is_over() const { return is_over_; }
  /// The trials that the sentence names.
  const std::vector<TrialId>& alike() const { return alike_; }

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
