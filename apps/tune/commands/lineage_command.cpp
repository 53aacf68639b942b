// `tune lineage`: who went on as a copy of whom, and with which configs the best model was trained.
#include <algorithm>
#include <map>
#include <set>

#include "apps/tune/answers.h"
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/count_of.h"
#include "tuner/model/ancestry.h"
#include "tuner/space/config_changes.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

/// One stretch of a trial, and those that went on from a checkpoint of it.
struct Kin {
  Stretch stretch;
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool from_is_guess = false;
  bool to_is_guess = false;
  std::optional<std::size_t> origin;  ///< position among all
  std::vector<std::size_t> children;
  bool is_present = false;  ///< the trial is this now
  bool lives_on = false;    ///< it, or what has become of it, is a trial's present
};

/// All stretches that have begun, those that others came from before these.
std::vector<Kin> kin_of(const Experiment& experiment) {
  std::vector<Kin> all;
  std::map<std::pair<TrialId, std::size_t>, std::size_t> places;
  const auto add = [&](const Stretch& stretch) {
    Kin kin{stretch, first_iteration(experiment, stretch), last_iteration(experiment, stretch),
            first_is_guess(experiment, stretch), last_is_guess(experiment, stretch)};
    kin.is_present = stretch == present_stretch(experiment.trial(stretch.trial));
    if (const auto origin = origin_of(experiment, stretch)) {
      kin.origin = places.at({origin->trial, origin->number});
      all[*kin.origin].children.push_back(all.size());
    }
    places[{stretch.trial, stretch.number}] = all.size();
    all.push_back(std::move(kin));
  };
  for (const Trial& trial : experiment.trials()) {
    if (trial.attempt > 0) add({trial.id, 0});
  }
  for (const Stretch& stretch : started_clonings(experiment)) add(stretch);
  for (std::size_t i = all.size(); i-- > 0;) {
    all[i].lives_on = all[i].lives_on || all[i].is_present;
    if (all[i].origin && all[i].lives_on) all[*all[i].origin].lives_on = true;
  }
  return all;
}

Json config_json(const Experiment& experiment, const Stretch& stretch) {
  return Json::parse(config_of(experiment, stretch));
}

std::string values_text(const Json& config) {
  std::string text;
  for (const auto& value : changes_between(Json::object(), config)) {
    text += (text.empty() ? "" : ", ") + value.name + '=' + short_value(value.after);
  }
  return text;
}

std::string metric_text(const Experiment& experiment, const Kin& kin, const std::string& metric) {
  const MetricSummary* const summary =
      kin.is_present ? experiment.trial(kin.stretch.trial).summary(metric) : nullptr;
  return summary != nullptr ? format_metric(summary->last) : "";
}

void print_tree(const ResultGrid& grid, const std::vector<Kin>& all, bool also_extinct) {
  const Experiment& experiment = grid.experiment();
  std::vector<TableColumn> columns = {{"trial"}, {"from", true}, {"to", true}};
  for (const auto& [metric, mode] : grid.spec().objectives) columns.push_back({metric, true});
  columns.push_back({"config"});
  std::vector<std::vector<std::string>> rows;
  // Depth first, without recursion: a line of descent may be long.
  std::vector<std::pair<std::size_t, std::size_t>> left;  // place and depth, the next one last
  const auto put_off = [&](const std::vector<std::size_t>& places, std::size_t depth) {
    for (auto place = places.rbegin(); place != places.rend(); ++place) {
      if (also_extinct || all[*place].lives_on) left.emplace_back(*place, depth);
    }
  };
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].origin) roots.push_back(i);
  }
  put_off(roots, 0);
  while (!left.empty()) {
    const auto [place, depth] = left.back();
    left.pop_back();
    const Kin& kin = all[place];
    const Json config = config_json(experiment, kin.stretch);
    std::vector<std::string> row = {std::string(2 * depth, ' ') + to_string(kin.stretch.trial),
                                    iteration_text(kin.from, kin.from_is_guess),
                                    iteration_text(kin.to, kin.to_is_guess)};
    for (const auto& [metric, mode] : grid.spec().objectives) {
      row.push_back(metric_text(experiment, kin, metric));
    }
    row.push_back(kin.origin
                      ? changes_text(config_json(experiment, all[*kin.origin].stretch), config)
                      : values_text(config));
    rows.push_back(std::move(row));
    put_off(kin.children, depth + 1);
  }
  print_table(columns, rows);
  const std::size_t left_out = all.size() - rows.size();
  if (left_out == 0) return;
  print("and " + count_of(left_out, "stretch", "stretches") +
        " of which nothing is left: --all shows them too\n");
}

/// A column for each hyperparameter that changes on the way; what does not stands below.
void print_schedule(const Experiment& experiment, const std::vector<ScheduleStep>& steps) {
  const Json present = config_json(experiment, steps.back().stretch);
  std::set<std::string> changing;
  for (const auto& step : steps) {
    // Named as in the whole config: what is short in one step may be ambiguous in the next.
    const Json config = config_json(experiment, step.stretch);
    const auto flat = config.flatten();
    const auto flat_present = present.flatten();
    for (const auto& [place, value] : flat.items()) {
      if (flat_present.value(place, Json()) != value) changing.insert(place);
    }
    for (const auto& [place, value] : flat_present.items()) {
      if (flat.value(place, Json()) != value) changing.insert(place);
    }
  }
  std::vector<TableColumn> columns = {{"from", true}, {"to", true}, {"as"}};
  for (const auto& place : changing) columns.push_back({place.substr(1)});
  std::vector<std::vector<std::string>> rows;
  for (const auto& step : steps) {
    const Json flat = config_json(experiment, step.stretch).flatten();
    std::vector<std::string> row = {iteration_text(step.from, step.from_is_guess),
                                    iteration_text(step.to, step.to_is_guess),
                                    to_string(step.stretch.trial)};
    for (const auto& place : changing) {
      row.push_back(flat.contains(place) ? short_value(flat[place]) : "-");
    }
    rows.push_back(std::move(row));
  }
  print_table(columns, rows);
  Json same = present.flatten();
  for (const auto& place : changing) same.erase(place);
  if (!same.empty()) print("the same all the way: " + values_text(same.unflatten()) + "\n");
}

Json clonings_json(const Experiment& experiment) {
  std::map<std::uint64_t, Json> by_event;
  for (const Trial& trial : experiment.trials()) {
    for (std::size_t i = 0; i < trial.lineage.size(); ++i) {
      const Cloning& cloning = trial.lineage[i];
      const bool has_started = cloning.started != 0;
      by_event[cloning.event] = {
          {"trial_id", to_string(trial.id)},
          {"event", cloning.event},
          {"time", cloning.time},
          {"training_iteration", cloning.iteration},
          {"iteration_is_guess", cloning.iteration_is_guess},
          {"donor", to_string(cloning.donor)},
          {"donor_iteration", has_started ? Json(cloning.donor_iteration) : Json()},
          {"donor_iteration_is_guess", cloning.donor_iteration_is_guess},
          {"old_config", Json::parse(cloning.old_config.text())},
          {"new_config", config_json(experiment, {trial.id, i + 1})}};
    }
  }
  Json list = Json::array();
  for (auto& [event, json] : by_event) list.push_back(std::move(json));
  return list;
}

Json tree_json(const Experiment& experiment, const std::vector<Kin>& all) {
  Json list = Json::array();
  for (const Kin& kin : all) {
    list.push_back({{"trial_id", to_string(kin.stretch.trial)},
                    {"from", kin.from},
                    {"to", kin.to},
                    {"from_is_guess", kin.from_is_guess},
                    {"to_is_guess", kin.to_is_guess},
                    {"origin", kin.origin ? Json(*kin.origin) : Json()},
                    {"is_present", kin.is_present},
                    {"config", config_json(experiment, kin.stretch)}});
  }
  return list;
}

Json schedule_json(const Experiment& experiment, TrialId id) {
  Json steps = Json::array();
  for (const auto& step : schedule_of(experiment, id)) {
    steps.push_back({{"from", step.from},
                     {"to", step.to},
                     {"from_is_guess", step.from_is_guess},
                     {"to_is_guess", step.to_is_guess},
                     {"trial_id", to_string(step.stretch.trial)},
                     {"config", config_json(experiment, step.stretch)}});
  }
  return {{"trial_id", to_string(id)}, {"steps", std::move(steps)}};
}

Json to_json(const ResultGrid& grid, const std::vector<Kin>& all, std::optional<TrialId> shown) {
  const Experiment& experiment = grid.experiment();
  return {{"trials", grid.size()},
          {"clonings", clonings_json(experiment)},
          {"stretches", tree_json(experiment, all)},
          {"schedule", shown ? schedule_json(experiment, *shown) : Json()}};
}

/// What a trial once was does not count: its model is the one that it has now.
std::optional<TrialId> best_now(const ResultGrid& grid) {
  const Objective* const objective = sole(grid.spec().objectives);
  return objective ? grid.best_trial(*objective, Scope::last) : std::nullopt;
}

}  // namespace

Json lineage_json(const ResultGrid& grid) {
  return to_json(grid, kin_of(grid.experiment()), best_now(grid));
}

int lineage_command(const LineageRequest& request) {
  const ExperimentView view = view_experiment(request.directory);
  const ResultGrid& grid = view.grid;
  const Experiment& experiment = grid.experiment();
  const Objective* const objective = sole(grid.spec().objectives);
  const std::optional<TrialId> shown =
      request.trial.empty() ? best_now(grid) : find_trial(grid, request.trial).id;
  const std::vector<Kin> all = kin_of(experiment);
  if (request.json) {
    print_json(to_json(grid, all, shown));
    return exit_ok;
  }
  std::uint64_t clonings = 0, changes = 0, clones = 0;
  for (const Kin& kin : all) {
    const Trial& trial = experiment.trial(kin.stretch.trial);
    // Who is its own donor goes on as itself, with another config.
    const bool is_begun = kin.stretch.number > 0;
    const bool is_copy = is_begun && trial.lineage.at(kin.stretch.number - 1).donor != trial.id;
    if (is_begun) ++(is_copy ? clonings : changes);
    if (kin.is_present && (is_copy || last_donated_iteration(experiment, trial.id) > 0)) ++clones;
  }
  if (clonings + changes == 0) {
    print("no trial of " + grid.directory().string() +
          " has gone on as a copy of another one or with another config\n");
    return exit_ok;
  }
  const std::string changed =
      count_of(changes, "change of a trial's config", "changes of a trial's config");
  print((clonings == 0  ? changed
         : changes == 0 ? count_of(clonings, "cloning")
                        : count_of(clonings, "cloning") + ", " + changed) +
        "; " + std::to_string(clones) + " of " + count_of(grid.size(), "trial") +
        " are clones now\n\n");
  print_tree(grid, all, request.all);
  if (!shown) return exit_ok;
  const std::string what =
      request.trial.empty() ? ", the best by its last " + objective->metric : "";
  print("\nthe schedule of " + to_string(*shown) + what + ":\n");
  print_schedule(experiment, schedule_of(experiment, *shown));
  return exit_ok;
}

}  // namespace tune
