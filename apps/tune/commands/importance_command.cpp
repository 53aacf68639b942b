// `tune importance`: which hyperparameters mattered, by two measures, and how the metric is along
// one of them. Changes nothing.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "apps/tune/answers.h"
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/slice.h"
#include "callbacks/terminal.h"
#include "searchers/importance.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/judged_trials.h"

namespace tune {

namespace {

/// With fewer trials nothing can be told: two parts of the space have less than two each.
constexpr std::size_t fewest_trials = 4;
/// With fewer trials among the best, importances change with each of them.
constexpr std::ptrdiff_t few_best = 5;
/// With fewer trials, a forest knows little.
constexpr std::size_t few_trials = 20;
/// Of as many hyperparameters slices are taken at once.
constexpr std::ptrdiff_t most_slices = 40;
constexpr const char* fanova = "fanova";

std::string bar_of(double share, double largest) {
  constexpr double width = 40;
  const bool has_blocks = !stdout_is_terminal() || locale_is_utf8();
  const auto length = static_cast<int>(std::lround(largest > 0 ? width * share / largest : 0));
  std::string bar;
  for (int i = 0; i < length; ++i) bar += has_blocks ? "\u2588" : "#";
  return bar;
}

/// What a method has found.
struct Found {
  std::vector<Importance> importances;  ///< the most important first
  std::optional<double> together;       ///< the part that none of them explains alone
  std::optional<std::size_t> best;      ///< how many trials were the best ones
  std::string measure;                  ///< what the numbers are, as a sentence
  std::vector<std::string> notices;     ///< what they cannot say, a sentence each
};

void print_importances(const Found& found) {
  std::vector<std::vector<std::string>> rows;
  const double largest = found.importances.front().share;
  const auto add = [&](const std::string& name, double share, const std::string& trials) {
    char percent[32];
    std::snprintf(percent, sizeof percent, "%.1f %%", 100 * share);
    rows.push_back({name, percent, trials, bar_of(share, largest)});
  };
  for (const Importance& one : found.importances) {
    add(parameter_name(one.pointer), one.share, std::to_string(one.trials));
  }
  if (found.together && found.importances.size() > 1)
    add("(several together)", *found.together, "");
  print(found.measure + "\n");
  print_table({{"hyperparameter"}, {"importance", true}, {"trials", true}, {""}}, rows);
}

Found found_by_ped_anova(const ImportanceRequest& request, const SearchSpace& space,
                         const JudgedTrials& judged, const Objective& objective) {
  std::vector<double> scores;
  for (const double value : judged.values) {
    scores.push_back(objective.mode == Mode::max ? value : -value);
  }
  const std::vector<bool> is_best = best_part(scores, request.top);
  const auto best = std::count(is_best.begin(), is_best.end(), true);
  if (best == std::ssize(is_best)) {
    throw user_error("all " + std::to_string(best) + " trials are among the best " +
                     Json(request.top).dump() + ": nothing tells them from the others");
  }
  std::vector<std::string> notices;
  if (best < few_best) {
    notices.push_back("only " + std::to_string(best) + " of " + std::to_string(scores.size()) +
                      " trials are the best ones, which is little to judge by: more of them with a "
                      "larger --top");
  }
  return {importances(space, judged.points, is_best), std::nullopt, static_cast<std::size_t>(best),
          "what tells the best " + std::to_string(best) + " of " + std::to_string(scores.size()) +
              " trials from all of them (PED-ANOVA)",
          notices};
}

Found found_by_fanova(const ForestImportance& forest, const JudgedTrials& judged,
                      const Objective& objective) {
  if (forest.found().empty() && !forest.is_about_any()) {
    throw user_error(
        "no hyperparameter is in the config of every trial, as fanova needs it: "
        "--method ped_anova");
  }
  const auto [least, largest] = std::minmax_element(judged.values.begin(), judged.values.end());
  if (*least == *largest) {
    throw user_error(objective.metric + " is " + format_metric(*least) + " in all " +
                     count_of(judged.values.size(), "trial") +
                     ": nothing tells them from the others");
  }
  if (!forest.has_differences()) {
    throw user_error("the " + count_of(judged.values.size(), "trial") +
                     " do not tell which hyperparameter matters: they differ alike wherever they "
                     "are in the param space");
  }
  std::vector<std::string> notices;
  for (const std::string& pointer : forest.left_out()) {
    notices.push_back(parameter_name(pointer) +
                      " is left out, since not every trial has it: --method ped_anova takes it in");
  }
  if (judged.values.size() < few_trials) {
    notices.push_back("only " + count_of(judged.values.size(), "trial") +
                      ", which is little to judge by: " + std::to_string(few_trials) +
                      " are a beginning");
  }
  if (forest.drawn_in() > 0) {
    notices.push_back(count_of(forest.drawn_in(), "value") + " of " + objective.metric +
                      " far beyond all others " + (forest.drawn_in() == 1 ? "counts" : "count") +
                      " as no farther than four widths of the middle half: else nothing but " +
                      (forest.drawn_in() == 1 ? "it" : "they") + " would matter");
  }
  return {forest.found(), forest.together(), std::nullopt,
          "which part of the variance of " + objective.metric +
              " over the param space each explains alone (fANOVA, " +
              count_of(judged.values.size(), "trial") + ")",
          notices};
}

/// What the numbers cannot say for the trials that were judged, a sentence each.
std::vector<std::string> notices_about(const ImportanceRequest& request, const JudgedTrials& judged,
                                       const ResultGrid& grid) {
  const ExperimentSpec& spec = grid.spec();
  std::vector<std::string> notices;
  const Trials& trials = grid.experiment().trials();
  const auto changed = static_cast<std::size_t>(std::count_if(
      trials.begin(), trials.end(), [](const Trial& trial) { return !trial.lineage.empty(); }));
  if (changed > 0) {
    notices.push_back(count_of(changed, "trial") + " of " + std::to_string(trials.size()) +
                      " had other configs before: values count for the last one, under which only "
                      "the end was trained, so they say little. tune lineage has the others");
  }
  if (judged.iteration) {
    notices.push_back(
        (request.iteration ? std::string("compared")
                           : "trials were cut short, so that their last values do not "
                             "compare. Compared") +
        " are values at iteration " + std::to_string(*judged.iteration) + ", which " +
        std::to_string(judged.values.size()) + " of " + count_of(judged.candidates, "trial") +
        " have reached" + (request.iteration ? "" : "; --at N compares at another one"));
  }
  if (is_adaptive_search(spec)) {
    notices.push_back(
        "the searcher " + spec.searcher.value("type", std::string("?")) +
        " chose configs by what it had seen: where it seldom went, little is known" +
        (request.method == fanova
             ? ""
             : ", and trials are compared with where it went, not with the whole space"));
  }
  return notices;
}

std::size_t leaf_named(const SearchSpace& space, const std::string& name) {
  std::vector<std::string> names;
  for (std::size_t leaf = 0; leaf < space.leaves().size(); ++leaf) {
    names.push_back(parameter_name(space.leaves()[leaf].pointer));
    if (names.back() == name || "config." + names.back() == name) return leaf;
  }
  throw user_error(unknown_name("hyperparameter", name, names));
}

/// "last loss": of all results of a trial a slice shows none but the one that was compared.
std::string compared_text(const Objective& objective, Scope scope, const JudgedTrials& judged) {
  const bool is_one_result = scope == Scope::last && judged.iteration;
  const bool is_plain = is_one_result || scope == Scope::all;
  return (is_plain ? "" : std::string(to_string(scope)) + " ") + objective.metric +
         (judged.iteration ? (is_one_result ? " at" : " up to") + std::string(" iteration ") +
                                 std::to_string(*judged.iteration)
                           : "");
}

Json to_json(const Importance& one, bool has_variance) {
  return {{"name", parameter_name(one.pointer)},
          {"importance", one.share},
          {"variance", has_variance ? Json(one.variance) : Json()},
          {"trials", one.trials}};
}

Json answer_of(const JudgedTrials& judged, const Found& found, const std::optional<Slice>& slice,
               const Objective& objective, Scope scope, bool is_adaptive) {
  Json list = Json::array();
  for (const Importance& one : found.importances) {
    list.push_back(to_json(one, found.best.has_value()));
  }
  return {{"method", found.best ? "ped_anova" : fanova},
          {"metric", objective.metric},
          {"mode", to_string(objective.mode)},
          {"scope", to_string(scope)},
          {"iteration", judged.iteration ? Json(*judged.iteration) : Json()},
          {"trials", judged.values.size()},
          {"candidates", judged.candidates},
          {"searcher_is_adaptive", is_adaptive},
          {"best_trials", found.best ? Json(*found.best) : Json()},
          {"several_together", found.together ? Json(*found.together) : Json()},
          {"importances", std::move(list)},
          {"slice", slice ? to_json(*slice) : Json()}};
}

/// Error (user) if they are too few to tell.
JudgedTrials enough_trials(const ExperimentView& view, const SearchSpace& space,
                           const Objective& objective, Scope scope,
                           std::optional<std::int64_t> iteration) {
  JudgedTrials judged = judge_trials(view.grid, space, objective, scope, iteration);
  if (judged.values.size() >= fewest_trials) return judged;
  throw user_error("which hyperparameters matter cannot be known from fewer than " +
                   std::to_string(fewest_trials) + " trials that ended well with a number for '" +
                   objective.metric + "'" +
                   (iteration ? " at iteration " + std::to_string(*iteration) : "") + "; " +
                   view.grid.directory().string() + " has " + std::to_string(judged.values.size()));
}

}  // namespace

ImportanceAnswer importance_of_all(const ExperimentView& view, const Objective& objective) {
  const ImportanceRequest usual;
  const Scope scope = checked_scope(usual.scope);
  const SearchSpace space = space_to_judge(view.grid);
  const JudgedTrials judged = enough_trials(view, space, objective, scope, usual.iteration);
  const ForestImportance forest(space, judged.points, judged.values);
  const Found found = found_by_fanova(forest, judged, objective);
  ImportanceAnswer answer;
  answer.importance = answer_of(judged, found, std::nullopt, objective, scope,
                                is_adaptive_search(view.grid.spec()));
  answer.slices = Json::array();
  for (std::size_t leaf = 0; leaf < space.leaves().size(); ++leaf) {
    // Of a space with hundreds of them nobody looks at each.
    const auto end =
        found.importances.begin() + std::min(most_slices, std::ssize(found.importances));
    const bool is_wanted = std::any_of(found.importances.begin(), end, [&](const Importance& one) {
      return one.pointer == space.leaves()[leaf].pointer;
    });
    if (!is_wanted) continue;
    answer.slices.push_back(to_json(slice_along(space, leaf, judged, forest, objective.mode)));
  }
  answer.notices = found.notices;
  for (auto& notice : notices_about(usual, judged, view.grid)) {
    answer.notices.push_back(std::move(notice));
  }
  return answer;
}

int importance_command(const ImportanceRequest& request) {
  const auto scope = checked_scope(request.scope);
  const ExperimentView view = view_experiment(request.directory);
  const Objective objective = objective_for(view.grid, request.metric, request.mode);
  const SearchSpace space = space_to_judge(view.grid);
  const JudgedTrials judged = enough_trials(view, space, objective, scope, request.iteration);
  std::optional<std::size_t> leaf;
  if (!request.slice.empty()) leaf = leaf_named(space, request.slice);
  std::optional<ForestImportance> forest;
  if (leaf || request.method == fanova) forest.emplace(space, judged.points, judged.values);
  const Found found = forest ? found_by_fanova(*forest, judged, objective)
                             : found_by_ped_anova(request, space, judged, objective);
  print_each_notice(found.notices);
  print_each_notice(notices_about(request, judged, view.grid));
  std::optional<Slice> slice;
  if (leaf) {
    slice = slice_along(space, *leaf, judged, *forest, objective.mode);
  }
  if (request.json) {
    print_json(
        answer_of(judged, found, slice, objective, scope, is_adaptive_search(view.grid.spec())));
  } else if (slice) {
    print_slice(*slice, compared_text(objective, scope, judged));
  } else {
    print_importances(found);
  }
  return exit_ok;
}

}  // namespace tune
