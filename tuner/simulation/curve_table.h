// Recorded learning curves: the metrics of each config, iteration by iteration, and the time that
// each took. The format is described in docs/file_formats.md.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune {

struct Curve {
  Json config;
  std::string tag;              ///< the values in it, short, for tables
  std::vector<double> seconds;  ///< that each iteration took, from the first
  std::vector<double> values;   ///< of all metrics in the first iteration, then in the second ...

  std::size_t iterations() const { return seconds.size(); }
};

struct CurveTable {
  std::vector<std::string> metrics;
  std::vector<Curve> curves;  ///< in the order of the files and of their first lines

  std::size_t longest() const;  ///< in iterations
};

/// The curves of all files, which must have the same metrics. Curves that end before the longest of
/// them are an Error, unless `allow_short`: then their training is over there. Error (user) with
/// file and line for whatever is wrong.
CurveTable read_curves(std::span<const std::filesystem::path> files, bool allow_short = false);

// The columns that are neither hyperparameters nor metrics.
inline constexpr const char* curve_id_column = "trial_id";
inline constexpr const char* curve_iteration_column = "training_iteration";
inline constexpr const char* curve_total_column = "time_total_s";
inline constexpr const char* curve_step_column = "time_this_iter_s";
inline constexpr const char* curve_guess_column = "iteration_is_guess";  ///< only for who reads it
inline constexpr const char* curve_config_prefix = "config/";

}  // namespace tune
