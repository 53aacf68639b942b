// One accepted iteration of a trial, with the fields that the driver fills in itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tuner/base/clock.h"
#include "tuner/model/metrics.h"

namespace tune {

/// Whether tables show the driver's own value under this name, whatever a trainable reports. False
/// for the names that a trainable may count itself (training_iteration, time_this_iter_s, totals).
bool is_drivers_column(std::string_view name);

struct Result {
  std::int64_t training_iteration = 0;  ///< 1, 2, 3 ...; grows strictly within a trial
  Seconds timestamp = 0;                ///< Unix time at which the driver accepted it
  double time_this_iter_s = 0;
  double time_total_s = 0;  ///< over all attempts, rewound by a restore
  double time_since_restore = 0;
  std::int64_t iterations_since_restore = 0;
  std::optional<double> timesteps_total;  ///< sums of timesteps_this_iter, if ever reported
  std::optional<double> episodes_total;   ///< sums of episodes_this_iter
  bool done = false;                      ///< the trainable wants to end with this result
  bool should_checkpoint = false;         ///< the trainable wants a checkpoint of this iteration
  /// It is counted from a checkpoint that may be of a later iteration, and so may be of one itself.
  bool iteration_is_guess = false;
  Metrics metrics;

  /// Seconds that an iteration took: as reported, or `measured_s` if that is missing or cannot be
  /// (it is NaN, negative, or more than a billion), since all times are sums of these.
  static double iteration_time(const Metrics& metrics, double measured_s);

  /// A reported metric, or one of the numeric fields above by its name.
  std::optional<double> find(std::string_view name) const;
};

}  // namespace tune
