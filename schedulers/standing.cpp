#include "schedulers/standing.h"

#include <cmath>
#include <limits>
#include <utility>

namespace tune {

namespace {

std::optional<double> last_value(const Trial& trial, const std::string& name) {
  if (name == "training_iteration") return static_cast<double>(trial.iteration);
  if (name == "time_total_s") return trial.time_total_s;
  if (name == "timesteps_total") return trial.timesteps_total;
  if (name == "episodes_total") return trial.episodes_total;
  const MetricSummary* const summary = trial.summary(name);
  return summary != nullptr ? std::optional(summary->last) : std::nullopt;
}

}  // namespace

Yardstick::Yardstick(std::string time_attr, Objective objective)
    : time_attr_(std::move(time_attr)), objective_(std::move(objective)) {}

std::optional<Standing> Yardstick::of(const Result& result) const {
  return make(result.find(time_attr_), result.find(objective_.metric));
}

std::optional<Standing> Yardstick::of(const Trial& trial) const {
  if (trial.last_metrics.empty()) return std::nullopt;
  return make(last_value(trial, time_attr_), last_value(trial, objective_.metric));
}

std::optional<Standing> Yardstick::make(std::optional<double> time,
                                        std::optional<double> value) const {
  if (!time || std::isnan(*time)) return std::nullopt;
  const double score = value.value_or(std::numeric_limits<double>::quiet_NaN());
  return Standing{*time, objective_.mode == Mode::max ? score : -score};
}

}  // namespace tune
