// Looks a name up among the driver's fields first, then among the metrics.
#include "tuner/model/result.h"

namespace tune {

bool is_drivers_column(std::string_view name) {
  return name == "trial_id" || name == "timestamp" || name == "date" || name == "done" ||
         name == "time_total_s" || name == "time_since_restore" ||
         name == "iterations_since_restore";
}

double Result::iteration_time(const Metrics& metrics, double measured_s) {
  constexpr double longest_s = 1e9;
  const auto reported = metrics.find("time_this_iter_s");
  return reported && *reported >= 0 && *reported <= longest_s ? *reported : measured_s;
}

std::optional<double> Result::find(std::string_view name) const {
  if (name == "training_iteration") return static_cast<double>(training_iteration);
  if (name == "time_total_s") return time_total_s;
  if (name == "time_this_iter_s") return time_this_iter_s;
  if (name == "timestamp") return timestamp;
  if (name == "time_since_restore") return time_since_restore;
  if (name == "iterations_since_restore") return static_cast<double>(iterations_since_restore);
  if (name == "timesteps_total") return timesteps_total;
  if (name == "episodes_total") return episodes_total;
  return metrics.find(name);
}

}  // namespace tune
