// What some commands print with --json, for others that show the same: one truth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/view/best_over_time.h"
#include "tuner/view/experiment_view.h"

namespace tune {

/// As `tune best --over-time --json` has it.
Json over_time_json(const std::vector<Improvement>& improvements, const Objective& objective);

/// As `tune checkpoints --json` has it, of all trials.
Json checkpoints_json(const ResultGrid& grid);

/// As `tune lineage --json` has it, with the schedule of the best trial.
Json lineage_json(const ResultGrid& grid);

/// Which hyperparameters matter, and how the metric is along each of them.
struct ImportanceAnswer {
  Json importance;  ///< as `tune importance --json` has it, with a null slice
  Json slices;      ///< what is `slice` there of the 40 most important, in the order of the space
  std::vector<std::string> notices;  ///< what the numbers cannot say, a sentence each
};
/// By fANOVA. Error (user) where it cannot be known.
ImportanceAnswer importance_of_all(const ExperimentView& view, const Objective& objective);

}  // namespace tune
