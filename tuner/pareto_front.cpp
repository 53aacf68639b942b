// The front of an experiment's trials: who dominates whom by all digits, and how much they cover.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tuner/math/pareto.h"
#include "tuner/result_grid.h"

namespace tune {

std::vector<Scores> ResultGrid::exact_places(const std::vector<TrialId>& ids, Scope scope) const {
  std::vector<Scores> places(ids.size());
  for (const Objective& objective : spec_.objectives) {
    std::vector<ExactNumber> values;
    for (const TrialId id : ids) {
      const ExactNumber value = exact_value(experiment_.trial(id), objective, scope);
      values.push_back(objective.mode == Mode::max ? value : -value);
    }
    std::vector<ExactNumber> ascending = values;
    std::sort(ascending.begin(), ascending.end());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto place = std::lower_bound(ascending.begin(), ascending.end(), values[i]);
      places[i].push_back(static_cast<double>(place - ascending.begin()));
    }
  }
  return places;
}

ParetoFront ResultGrid::pareto_front(Scope scope) const {
  complete_summaries();
  const auto& objectives = spec_.objectives;
  std::vector<TrialId> ids;
  std::vector<Scores> points;
  Scores worst;
  for (const auto& trial : experiment_.trials()) {
    Scores point;
    for (const auto& [metric, mode] : objectives) {
      const double value = value_of(trial, metric, mode, scope);
      if (std::isfinite(value)) point.push_back(mode == Mode::max ? value : -value);
    }
    if (point.empty() || point.size() < objectives.size()) continue;
    if (trial.state == TrialState::terminated || trial.state == TrialState::error) {
      if (worst.empty()) worst = point;
      for (std::size_t j = 0; j < worst.size(); ++j) worst[j] = std::min(worst[j], point[j]);
    }
    if (!is_feasible(trial)) continue;
    ids.push_back(trial.id);
    points.push_back(std::move(point));
  }
  const std::vector<Scores> places = exact_places(ids, scope);
  const std::vector<std::size_t> ranks = domination_ranks(places, 1);
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] == 0) best.push_back(i);
  }
  std::stable_sort(best.begin(), best.end(),
                   [&](std::size_t a, std::size_t b) { return places[a] > places[b]; });
  ParetoFront front;
  std::vector<Scores> covering;
  for (const std::size_t i : best) {
    front.trials.push_back(ids[i]);
    // One that runs may be beyond the reference, and covers nothing then.
    bool is_within = !worst.empty();
    for (std::size_t j = 0; j < worst.size(); ++j) is_within &= points[i][j] >= worst[j];
    if (is_within) covering.push_back(points[i]);
  }
  front.hypervolume = hypervolume(std::move(covering), worst);
  for (std::size_t j = 0; j < worst.size(); ++j) {
    front.reference.push_back(objectives[j].mode == Mode::max ? worst[j] : -worst[j]);
  }
  return front;
}

}  // namespace tune
