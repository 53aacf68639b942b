// `tune ls` of a folder: its experiments.
#include "apps/tune/experiment_list.h"

#include <algorithm>
#include <string_view>

#include "apps/tune/output.h"
#include "apps/tune/trial_table.h"
#include "tuner/base/error.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

/// A line for each experiment of a folder.
Json experiment_json(const std::filesystem::path& directory) {
  Json json = {{"experiment", directory.filename().string()}, {"directory", directory.string()}};
  for (const char* const name : {"trials", "pending", "running", "paused", "ended", "failed",
                                 "metric", "best", "started", "driver"}) {
    json[name] = nullptr;
  }
  try {
    const ExperimentView view = view_experiment(directory);
    const Experiment& experiment = view.grid.experiment();
    const Objective* const objective = sole(view.grid.spec().objectives);
    const auto best = objective ? view.grid.best_trial(*objective, Scope::all) : std::nullopt;
    json["trials"] = experiment.trials().size();
    json["pending"] = experiment.count(TrialState::pending);
    json["running"] = experiment.count(TrialState::running);
    json["paused"] = experiment.count(TrialState::paused);
    json["ended"] = experiment.count(TrialState::terminated);
    json["failed"] = experiment.count(TrialState::error);
    json["metric"] = objective ? Json(objective->metric) : Json();
    json["best"] =
        best ? number_json(view.grid.exact_value(experiment.trial(*best), *objective, Scope::all))
             : Json();
    json["started"] = experiment.started() > 0 ? Json(experiment.started()) : Json();
    json["driver"] = view.driver ? name_of(*view.driver) : "";
    json["problem"] = "";
  } catch (const Error& error) {
    json["problem"] = error.what();
  }
  return json;
}

}  // namespace

void list_experiments_as_csv(const std::vector<std::filesystem::path>& all) {
  std::vector<TrialFields::Field> columns;
  for (const char* const name :
       {"experiment", "directory", "trials", "pending", "running", "paused", "ended", "failed",
        "metric", "best", "started", "driver", "problem"}) {
    const bool is_time = std::string_view(name) == "started";
    columns.push_back({name, TrialFields::Field::Source::own, name, is_time});
  }
  TableRows rows;
  for (const auto& directory : all) {
    const Json json = experiment_json(directory);
    auto& row = rows.emplace_back();
    for (const auto& column : columns) row.push_back(json.at(column.name));
  }
  print_as_csv(columns, rows);
}

void list_experiments(const std::vector<std::filesystem::path>& all, bool as_json) {
  if (as_json) {
    Json list = Json::array();
    for (const auto& directory : all) list.push_back(experiment_json(directory));
    print_json(list);
    return;
  }
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> problems;
  for (const auto& directory : all) {
    const Json json = experiment_json(directory);
    auto& row = rows.emplace_back();
    for (const char* const name : {"experiment", "trials", "pending", "running", "paused", "ended",
                                   "failed", "metric", "best", "started", "driver"}) {
      const Json value = json.value(name, Json());
      row.push_back(std::string_view(name) == "started" && value.is_number()
                        ? format_time(value.get<double>())
                        : cell_text(value));
    }
    problems.push_back(json.value("problem", ""));
  }
  std::vector<TableColumn> columns = {{"experiment"},    {"trials", true}, {"pending", true},
                                      {"running", true}, {"paused", true}, {"ended", true},
                                      {"failed", true},  {"metric"},       {"best", true},
                                      {"started"},       {"driver"}};
  const bool has_problem = std::any_of(problems.begin(), problems.end(),
                                       [](const std::string& problem) { return !problem.empty(); });
  if (has_problem) columns.push_back({"cannot be read"});
  for (std::size_t i = 0; has_problem && i < rows.size(); ++i) rows[i].push_back(problems[i]);
  print_table(columns, rows);
}

}  // namespace tune
