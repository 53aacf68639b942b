// What schedulers look at: how far a trial is, and how good.
#pragma once

#include <optional>
#include <string>

#include "tuner/model/objective.h"
#include "tuner/model/result.h"
#include "tuner/model/trial.h"

namespace tune {

/// Where a trial stands after a result.
struct TrialProgress {
  double time = 0;   ///< in units of the time attribute; never NaN
  double score = 0;  ///< larger is better, whatever the mode; NaN, worse than all: no finite number
  double value = 0;  ///< of the metric itself, to be shown; NaN, too, if it is missing
};

/// Whether a score is at least a cutoff that was calculated from scores of up to this magnitude,
/// which rounds: what is equal but for that is. Never for NaN.
bool reaches(double score, double cutoff, double magnitude);

/// Reads standings.
class ObjectiveReader {
 public:
  /// `time_attr`: "training_iteration", "time_total_s", "timesteps_total", or any metric.
  ObjectiveReader(std::string time_attr, Objective objective);

  /// Nothing if the result lacks the time attribute, or it is NaN. A metric that is missing is NaN.
  std::optional<TrialProgress> of(const Result& result) const;
  /// After the trial's last result; nothing, too, if it has none.
  std::optional<TrialProgress> of(const Trial& trial) const;

  /// What a score is of the metric itself.
  const std::string& time_attr() const { return time_attr_; }
  const std::string& metric() const { return objective_.metric; }
  double value_of(double score) const { return objective_.mode == Mode::max ? score : -score; }

 private:
  std::optional<TrialProgress> make(std::optional<double> time, std::optional<double> value) const;

  std::string time_attr_;
  Objective objective_;
};

}  // namespace tune
