// Trials of other experiments as points that a new one need not evaluate.
// Changes nothing in these experiments.
#pragma once

#include <string>
#include <vector>

#include "tuner/policy/catalogue.h"
#include "tuner/result_grid.h"
#include "tuner/space/search_space.h"
#include "tuner/spec/spec.h"

namespace tune {

/// What one experiment gives to another's searcher.
struct KnownPoints {
  std::vector<Json> configs;  ///< whole ones of the new space
  /// One for each, with a number for each objective.
  std::vector<std::vector<double>> values;
  /// One for each: the iteration at which it was stopped before its time; null: it was not.
  std::vector<Json> stopped_at;
  /// One for each, with the value of each constraint that needs metrics.
  std::vector<std::vector<double>> constraints;
  std::vector<std::string> notices;  ///< what did not match, a sentence each
};

/// Trials that ended well, with their last values. What the space does not have is left out of
/// their configs.
KnownPoints known_points(const ResultGrid& from, const SearchSpace& space,
                         const std::vector<Objective>& objectives,
                         const std::vector<Constraint>& constraints);

/// The same, for a search that begins with trials of the experiments in `directories`: "auto"
/// becomes a searcher that learns from them.
Catalogue warmed(Catalogue catalogue, const std::vector<std::string>& directories);

/// Puts the trials of the experiments in `directories` before the searcher's `points_to_evaluate`,
/// with their `evaluated_rewards`, `evaluated_iterations` and `evaluated_constraints`: so the
/// recorded spec has all that a resume needs. Notices go to standard error. Error (user) if the
/// spec has no metric, if its searcher does not learn, or if there is no experiment in a directory.
void warm_start(ExperimentSpec& spec, const std::vector<std::string>& directories);

/// Both without what `warm_start` can add: whether they are the same otherwise.
bool is_same_but_warmer(const ExperimentSpec& recorded, const ExperimentSpec& given);

}  // namespace tune
