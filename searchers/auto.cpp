// Which searcher fits a search. The reasons, with figures: docs/searchers.md, "auto".
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "searchers/coordinates.h"
#include "searchers/searchers.h"
#include "tuner/space/search_space.h"

namespace tune {

namespace {

constexpr std::int64_t few_trials = 10;  ///< of which no model is made anyway
constexpr std::int64_t gp_trials = 200;
constexpr std::int64_t nsga2_trials = 1000;  ///< more than tpe is quick with
constexpr std::size_t gp_metrics = 2;        ///< of three it is behind tpe on one task of two
constexpr std::int64_t gp_axes = 20;
constexpr std::int64_t gp_concurrency = 16;
constexpr std::array<std::string_view, 4> early_stoppers = {"asha", "asha_promotion", "hyperband",
                                                            "median_stopping"};

/// How many trials run at one time, as far as the spec says; 1 if it does not.
double concurrency(const PolicyContext& context) {
  constexpr double unknown = std::numeric_limits<double>::infinity();
  double most =
      context.max_concurrent_trials ? static_cast<double>(*context.max_concurrent_trials) : unknown;
  for (const auto& [name, amount] : context.resources_per_trial) {
    const auto total = context.resources.find(name);
    const bool limits = total != context.resources.end() && amount > 0;
    if (limits) most = std::min(most, std::floor(total->second / amount));
  }
  return most == unknown ? 1 : most;
}

}  // namespace

const Json* find_freeze_thaw(const Json& scheduler) {
  if (scheduler == "freeze_thaw") return &scheduler;
  if (!scheduler.is_object()) return nullptr;
  const auto type = scheduler.find("type");
  if (type != scheduler.end() && *type == "freeze_thaw") return &scheduler;
  const auto base = scheduler.find("base_scheduler");
  return base != scheduler.end() ? find_freeze_thaw(*base) : nullptr;
}

SearcherChoice choose_searcher(const PolicyContext& context) {
  // Before all else: nobody else has its paused trials go on.
  if (find_freeze_thaw(context.scheduler) != nullptr) {
    return {"freeze_thaw", "the scheduler is freeze_thaw, which waits for it"};
  }
  if (context.objectives.empty()) return {"random", ""};  // nobody expects another one
  if (context.space.has_grid()) return {"random", "the param space has a grid to go through"};
  const std::int64_t trials = context.num_samples;
  if (trials >= 0 && trials <= few_trials && !context.knows_trials) {
    if (trials == 1) {
      return {"sobol",
              "1 trial is too few for a model; --num-samples N, in a spec num_samples, runs more"};
    }
    return {"sobol", std::to_string(trials) +
                         " trials are too few for a model: a sequence that fills the space"};
  }
  const std::size_t metrics = context.objectives.size();
  if (metrics > 1 && trials > nsga2_trials) {
    return {"nsga2", "there are several metrics and many trials to come"};
  }
  if (metrics > gp_metrics || (metrics > 1 && (trials < 0 || trials > gp_trials))) {
    return {"tpe", "there are several metrics"};
  }
  const std::string scheduler = context.scheduler.value("type", std::string());
  if (scheduler == "bohb" && metrics == 1)
    return {"bohb", "the scheduler is bohb, which is made for it"};
  if (std::ranges::count(early_stoppers, scheduler) > 0) {
    return {"tpe", "the scheduler " + scheduler + " lets few trials train to their end"};
  }
  const auto& leaves = context.space.leaves();
  const auto axes = std::count_if(leaves.begin(), leaves.end(), [](const SpaceLeaf& leaf) {
    return axis_of(leaf.domain).is_modelled();
  });
  if (axes > gp_axes) return {"tpe", "there are more than 20 hyperparameters"};
  if (concurrency(context) > gp_concurrency) {
    return {"tpe", "many trials run at the same time"};
  }
  if (trials < 0 || trials > gp_trials) {
    return {"stages", "gp makes the most of the first trials, and many are to come"};
  }
  return {"gp", "there are few trials, of few hyperparameters"};
}

}  // namespace tune
