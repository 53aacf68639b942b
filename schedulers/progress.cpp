// Reads a trial's time and score out of a result, and compares scores with a cutoff.
#include "schedulers/progress.h"

#include <cmath>
#include <limits>
#include <utility>

namespace tune {

bool reaches(double score, double cutoff, double magnitude) {
  constexpr double rounding = 1e-12;
  if (score >= cutoff) return true;
  return std::isfinite(magnitude) && cutoff - score <= rounding * magnitude;
}

ObjectiveReader::ObjectiveReader(std::string time_attr, Objective objective)
    : time_attr_(std::move(time_attr)), objective_(std::move(objective)) {}

std::optional<TrialProgress> ObjectiveReader::of(const Result& result) const {
  return make(result.find(time_attr_), result.find(objective_.metric));
}

std::optional<TrialProgress> ObjectiveReader::of(const Trial& trial) const {
  return make(trial.last_value(time_attr_), trial.last_value(objective_.metric));
}

std::optional<TrialProgress> ObjectiveReader::make(std::optional<double> time,
                                                   std::optional<double> value) const {
  if (!time || std::isnan(*time)) return std::nullopt;
  return TrialProgress{*time, score_of(objective_.mode, value),
                       value.value_or(std::numeric_limits<double>::quiet_NaN())};
}

}  // namespace tune
