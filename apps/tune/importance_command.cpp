// `tune importance`: which hyperparameters decided whether a trial is among the best.
// Changes nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/tune/commands.h"
#include "apps/tune/look.h"
#include "apps/tune/output.h"
#include "callbacks/terminal.h"
#include "searchers/importance.h"
#include "tuner/core/error.h"

namespace tune {

namespace {

/// With fewer trials among the best, importances change with each of them.
constexpr std::ptrdiff_t few_trials = 5;

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

/// "/model/lr" as the other commands write it: "model.lr".
std::string name_of(const std::string& pointer) {
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

/// The trials that count: ended well, or paused as not yet good enough to go on, with a number.
struct Judged {
  std::vector<std::vector<double>> points;
  std::vector<double> scores;  ///< larger is better
};

Judged judge(const ResultGrid& grid, const SearchSpace& space, const Objective& objective,
             Scope scope) {
  const std::vector<Axis> axes = axes_of(space);
  grid.settle();
  Judged judged;
  for (const Trial& trial : grid.experiment().trials()) {
    if (trial.state != TrialState::terminated && trial.state != TrialState::paused) continue;
    const double value = value_of(trial, objective.metric, objective.mode, scope);
    if (!std::isfinite(value)) continue;
    judged.points.push_back(coordinates_of(space, axes, Json::parse(trial.config.text())));
    judged.scores.push_back(objective.mode == Mode::max ? value : -value);
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

std::string bar_of(double share, double largest) {
  constexpr double width = 40;
  const bool has_blocks = !stdout_is_terminal() || locale_is_utf8();
  const auto length = static_cast<int>(std::lround(largest > 0 ? width * share / largest : 0));
  std::string bar;
  for (int i = 0; i < length; ++i) bar += has_blocks ? "\u2588" : "#";
  return bar;
}

void print_importances(const std::vector<Importance>& found) {
  std::vector<std::vector<std::string>> rows;
  for (const Importance& one : found) {
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.1f %%", 100 * one.share);
    rows.push_back({name_of(one.pointer), percent, std::to_string(one.trials),
                    bar_of(one.share, found.front().share)});
  }
  print_table({{"hyperparameter"}, {"importance", true}, {"trials", true}, {""}}, rows);
}

Json to_json(const Importance& one) {
  return {{"name", name_of(one.pointer)},
          {"importance", one.share},
          {"variance", one.variance},
          {"trials", one.trials}};
}

}  // namespace

int importance_command(const ImportanceRequest& request) {
  const auto scope = checked_scope(request.scope);
  const Look look = look_at(request.directory);
  const Objective objective = objective_for(look.grid, request.metric, request.mode);
  const SearchSpace space = space_to_judge(look.grid);
  const Judged judged = judge(look.grid, space, objective, scope);
  if (judged.scores.size() < 2) {
    throw user_error("importances need at least 2 trials that ended well with a number for '" +
                     objective.metric + "'; " + look.grid.directory().string() + " has " +
                     std::to_string(judged.scores.size()));
  }
  const std::vector<bool> is_best = best_part(judged.scores, request.top);
  const auto best = std::count(is_best.begin(), is_best.end(), true);
  if (best == std::ssize(is_best)) {
    throw user_error("all " + std::to_string(best) + " trials are among the best " +
                     Json(request.top).dump() + ": nothing tells them from the others");
  }
  if (best < few_trials) {
    print_notice("only " + std::to_string(best) + " of " + std::to_string(judged.scores.size()) +
                 " trials are the best ones, which is little to judge by: more of them with a "
                 "larger --top");
  }
  const auto found = importances(space, judged.points, is_best);
  if (!request.json) {
    print_importances(found);
    return exit_ok;
  }
  Json list = Json::array();
  for (const Importance& one : found) list.push_back(to_json(one));
  print_json({{"metric", objective.metric},
              {"mode", to_string(objective.mode)},
              {"scope", to_string(scope)},
              {"trials", judged.scores.size()},
              {"best_trials", best},
              {"importances", list}});
  return exit_ok;
}

}  // namespace tune
