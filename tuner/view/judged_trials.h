// The trials for judging hyperparameters, made comparable: if some were stopped early, by their
// values after equally much training. Changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/space/search_space.h"
#include "tuner/view/experiment_view.h"

namespace tune {

struct JudgedTrials {
  std::vector<std::vector<double>> points;  ///< coordinates by leaf, a row for each trial
  /// Values by leaf, a row for each trial, see SearchSpace::leaf_values: a coordinate has not all
  /// digits of a long integer.
  std::vector<std::vector<Json>> settings;
  std::vector<double> values;  ///< of the metric
  std::size_t candidates = 0;  ///< trials that ended well or are paused, with a number
  /// The iteration after which all are compared; nothing: each by all that it has reported, since
  /// all were trained as long as they were to.
  std::optional<std::int64_t> iteration;
};

/// `iteration`: as the user asked; nothing: if a scheduler or the user has cut trials short, the
/// largest one that nine of ten candidates have reached.
JudgedTrials judge_trials(const ResultGrid& grid, const SearchSpace& space,
                          const Objective& objective, Scope scope,
                          std::optional<std::int64_t> iteration);

/// The param space for importances. Error (user) if nothing in it is drawn.
SearchSpace space_to_judge(const ResultGrid& grid);

/// "/model/lr" as the other commands write it: "model.lr".
std::string parameter_name(const std::string& pointer);

/// Whether the searcher learns, so that most configs depend on earlier results.
bool is_adaptive_search(const ExperimentSpec& spec);

}  // namespace tune
