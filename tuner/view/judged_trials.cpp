// Cuts all trials to a common iteration where early stopping would bias the comparison.
#include "tuner/view/judged_trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "searchers/coordinates.h"
#include "tuner/base/error.h"
#include "tuner/base/wide_sum.h"
#include "tuner/model/ancestry.h"

namespace tune {

namespace {

/// A grid's values are chosen like those of a choice, as far as importance goes.
Json with_choices(Json space) {
  if (space.is_object() && space.size() == 1) {
    if (space.contains("value")) return space;
    if (space.contains("grid_search")) {
      Json values = std::move(space["grid_search"]);
      space = {{"choice", std::move(values)}};
    }
  }
  if (space.is_structured()) {
    for (Json& part : space) part = with_choices(std::move(part));
  }
  return space;
}

/// Nobody knows what would have come of it.
bool was_cut_short(const Trial& trial) {
  return trial.state == TrialState::paused || trial.ended_by == EndedBy::scheduler ||
         trial.ended_by == EndedBy::user || trial.ended_by == EndedBy::run;
}

/// What value_of says of a trial, as if it had ended with that iteration; NaN if it has not come so
/// far.
double value_at(const ResultGrid& grid, const Trial& trial, const Objective& objective, Scope scope,
                std::int64_t iteration) {
  if (trial.iteration < iteration) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> values;
  grid.each_row(trial, [&](const Metrics& row) {
    const auto at = row.find("training_iteration");
    const auto value = row.find(objective.metric);
    if (at && value && *at <= static_cast<double>(iteration)) values.push_back(*value);
  });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (scope == Scope::last) return values.back();
  const std::size_t last = scope == Scope::last_5_avg    ? 5
                           : scope == Scope::last_10_avg ? 10
                                                         : values.size();
  values.erase(values.begin(),
               values.end() - static_cast<std::ptrdiff_t>(std::min(last, values.size())));
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  if (scope == Scope::all) {
    return *std::min_element(values.begin(), values.end(),
                             [&](double a, double b) { return better(objective.mode, a, b); });
  }
  return average_of(values);
}

/// The largest iteration that nine of ten have reached; nothing if nobody was cut short.
std::optional<std::int64_t> common_iteration(const std::vector<const Trial*>& trials) {
  std::vector<std::int64_t> reached;
  for (const Trial* const trial : trials) reached.push_back(trial->iteration);
  std::sort(reached.begin(), reached.end());
  const bool is_cut = std::any_of(trials.begin(), trials.end(), [&](const Trial* trial) {
    return was_cut_short(*trial) && trial->iteration < reached.back();
  });
  return is_cut ? std::optional(reached[reached.size() / 10]) : std::nullopt;
}

}  // namespace

JudgedTrials judge_trials(const ResultGrid& grid, const SearchSpace& space,
                          const Objective& objective, Scope scope,
                          std::optional<std::int64_t> iteration) {
  const std::vector<Axis> axes = axes_of(space);
  grid.complete_summaries();
  std::vector<const Trial*> candidates;
  for (const Trial& trial : grid.experiment().trials()) {
    if (trial.state != TrialState::terminated && trial.state != TrialState::paused) continue;
    // Of a trial that went astray later, what it came to by then is to be compared all the same.
    const double best = value_of(trial, objective.metric, objective.mode, Scope::all);
    if (std::isfinite(best)) candidates.push_back(&trial);
  }
  JudgedTrials judged;
  judged.candidates = candidates.size();
  judged.iteration = iteration || candidates.empty() ? iteration : common_iteration(candidates);
  for (const Trial* const trial : candidates) {
    const double value = judged.iteration
                             ? value_at(grid, *trial, objective, scope, *judged.iteration)
                             : value_of(*trial, objective.metric, objective.mode, scope);
    if (!std::isfinite(value)) continue;
    const Json config = Json::parse(present_config(*trial));
    judged.points.push_back(coordinates_of(space, axes, config));
    judged.settings.push_back(space.leaf_values(config));
    judged.values.push_back(value);
  }
  return judged;
}

SearchSpace space_to_judge(const ResultGrid& grid) {
  std::vector<Problem> problems;
  SearchSpace space =
      SearchSpace::parse(with_choices(grid.spec().param_space), "/param_space", problems);
  if (!problems.empty()) {
    throw user_error(problems[0].pointer + ": " + problems[0].sentence);
  }
  if (space.leaves().empty()) {
    throw user_error("the param space of " + grid.directory().string() +
                     " has nothing that is drawn: no hyperparameter can be important");
  }
  return space;
}

std::string parameter_name(const std::string& pointer) {
  std::string name;
  for (std::size_t i = 1; i < pointer.size(); ++i) {
    if (pointer[i] == '~' && i + 1 < pointer.size()) {
      name += pointer[++i] == '1' ? '/' : '~';
    } else {
      name += pointer[i] == '/' ? '.' : pointer[i];
    }
  }
  return name;
}

bool is_adaptive_search(const ExperimentSpec& spec) {
  static constexpr std::array blind = {"random", "sobol", "latin_hypercube", "variants"};
  const std::string type = spec.searcher.value("type", "");
  return std::find(blind.begin(), blind.end(), type) == blind.end();
}

}  // namespace tune
