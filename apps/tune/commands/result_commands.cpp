// `tune best` and `tune checkpoints`: what came out, and what of it is on disk.
// Changes nothing.
#include <algorithm>
#include <cmath>

#include "apps/tune/answers.h"
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/checkpoints/checkpoint_store.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/paths.h"
#include "tuner/model/trial_words.h"
#include "tuner/view/best.h"
#include "tuner/view/best_over_time.h"
#include "tuner/view/blob_list.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/trial_fields.h"

namespace tune {

namespace {

/// One checkpoint of one trial, and what looking at its files has found.
struct Listed {
  const Trial* trial = nullptr;
  const Checkpoint* checkpoint = nullptr;
  std::filesystem::path path;
  CheckpointPlace place = CheckpointPlace::here;
  std::size_t rank = 0;  ///< 1: the best of its trial; 0: of before it became a clone
  std::string verified;  ///< "ok" or what is wrong; empty: not looked at
  bool is_damaged = false;
  Json blobs = nullptr;  ///< null: not looked at, or they cannot be read
};

void list_trial(const ResultGrid& grid, const Trial& trial, std::vector<Listed>& listed) {
  const auto present = trial.present_checkpoints();
  const auto order = rank_checkpoints(present, grid.spec().checkpoint_config);
  const std::size_t before = trial.checkpoints.size() - present.size();
  std::vector<std::size_t> ranks(trial.checkpoints.size());
  for (std::size_t at = 0; at < order.size(); ++at) ranks[before + order[at]] = at + 1;
  for (std::size_t i = 0; i < trial.checkpoints.size(); ++i) {
    const auto place = paths::checkpoint(grid.directory(), {trial.id, trial.checkpoints[i].index});
    listed.push_back({&trial, &trial.checkpoints[i], place, checkpoint_place(place), ranks[i], "",
                      false, nullptr});
  }
}

void verify(const ExperimentView& view, std::vector<Listed>& listed) {
  const auto files = make_posix_file_system();
  CheckpointStore store(*files, view.grid.directory(), !view.grid.spec().remote.path.empty());
  for (auto& one : listed) {
    if (one.place == CheckpointPlace::remote) {
      one.verified = "not here";
      continue;
    }
    const auto damage = store.verify({one.trial->id, one.checkpoint->index});
    // A driver that runs may have deleted it since its journal was read.
    const bool is_gone = view.driver && !files->exists(one.path);
    one.is_damaged = damage && !is_gone;
    one.verified = is_gone ? "deleted meanwhile" : damage.value_or("ok");
  }
}

/// Says what cannot be read, and goes on.
void read_blobs(const ExperimentView& view, std::vector<Listed>& listed) {
  const auto files = make_posix_file_system();
  for (auto& one : listed) {
    if (const auto evicted = find_evicted(*files, one.path)) {
      complain(evicted_sentence(one.path, *evicted));
      continue;
    }
    try {
      one.blobs = blobs_json(one.path);
    } catch (const blobs::Error& error) {
      std::error_code ignored;
      const bool is_gone = view.driver && !std::filesystem::exists(one.path, ignored);
      if (is_gone) continue;
      one.is_damaged = true;
      complain(error.what());
    }
  }
}

void print_blobs(const std::vector<Listed>& listed) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : listed) {
    if (one.blobs.is_null()) continue;
    add_blob_rows({to_string(one.trial->id), one.path.filename().string()}, one.blobs, rows);
  }
  const bool is_all_read = std::all_of(listed.begin(), listed.end(), [](const Listed& one) {
    return one.place == CheckpointPlace::here && !one.is_damaged;
  });
  if (rows.empty()) {
    if (is_all_read) print("no tensors: no checkpoint has files *.safetensors\n");
    return;
  }
  print_table({{"trial"}, {"checkpoint"}, {"tensor"}, {"dtype"}, {"shape"}, {"bytes", true}}, rows);
}

Json to_json(const Listed& one, const CheckpointsRequest& request) {
  const Checkpoint& checkpoint = *one.checkpoint;
  Json json = {{"trial_id", to_string(one.trial->id)},
               {"index", checkpoint.index},
               {"training_iteration", checkpoint.iteration},
               {"score", std::isnan(checkpoint.score) ? Json() : Json(checkpoint.score)},
               {"rank", one.rank > 0 ? Json(one.rank) : Json()},
               {"is_latest", &checkpoint == one.trial->latest_checkpoint()},
               {"is_guess", one.checkpoint->is_guess},
               {"triggers", checkpoint.triggers.to_string()},
               {"bytes", checkpoint.bytes},
               {"save_s", checkpoint.save_s},
               {"commit_s", checkpoint.commit_s},
               {"slowest_rank", checkpoint.slowest_rank ? Json(*checkpoint.slowest_rank) : Json()},
               {"where", to_string(one.place)},
               {"path", one.path.string()}};
  if (request.verify) {
    json["is_damaged"] = one.is_damaged;
    json["verified"] = one.verified;
  }
  if (request.blobs) json["blobs"] = one.blobs;
  return json;
}

std::string of_rank(const Checkpoint& checkpoint) {
  return checkpoint.slowest_rank ? " (rank " + std::to_string(*checkpoint.slowest_rank) + ")" : "";
}

void print_checkpoints(const std::vector<Listed>& listed, bool was_verified) {
  std::vector<TableColumn> columns = {{"trial"},       {"checkpoint"},   {"iteration", true},
                                      {"score", true}, {"rank", true},   {"size", true},
                                      {"save", true},  {"commit", true}, {"why"}};
  const bool is_one_elsewhere = std::any_of(listed.begin(), listed.end(), [](const Listed& one) {
    return one.place != CheckpointPlace::here;
  });
  if (is_one_elsewhere) columns.push_back({"where"});
  if (was_verified) columns.push_back({"verified"});
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : listed) {
    const Checkpoint& checkpoint = *one.checkpoint;
    auto& row = rows.emplace_back(std::vector<std::string>{
        to_string(one.trial->id), one.path.filename().string(), iteration_text(checkpoint),
        std::isnan(checkpoint.score) ? "-" : format_metric(checkpoint.score),
        one.rank > 0 ? std::to_string(one.rank) : "-",
        format_bytes(static_cast<double>(checkpoint.bytes)),
        format_seconds(checkpoint.save_s) + of_rank(checkpoint),
        format_seconds(checkpoint.commit_s), checkpoint.triggers.to_string()});
    if (is_one_elsewhere) row.push_back(to_string(one.place));
    if (was_verified) row.push_back(one.verified);
  }
  print_table(columns, rows);
}

Json best_checkpoints_json(const TrialResult& result) {
  Json list = Json::array();
  for (const auto& checkpoint : result.best_checkpoints) {
    list.push_back({{"path", checkpoint.path.string()},
                    {"where", to_string(checkpoint_place(checkpoint.path))},
                    {"training_iteration", checkpoint.iteration},
                    {"is_guess", checkpoint.is_guess},
                    {"score", std::isnan(checkpoint.score) ? Json() : Json(checkpoint.score)}});
  }
  return list;
}

/// What is said of a trial that is among the best, by several metrics or by one.
Json to_json(const ResultGrid& grid, const Trial& trial, const TrialResult& result, Scope scope,
             const Notes& notes) {
  const Checkpoint* const latest = trial.latest_checkpoint();
  const std::string why = why_no_checkpoint(grid.spec(), trial);
  return {{"trial_id", result.trial_id},
          {"state", to_string(result.state)},
          {"end", result.end ? to_string(*result.end) : ""},
          {"why", why_of(trial)},
          {"scope", to_string(scope)},
          {"config", result.config},
          {"metrics", result.metrics},
          {"checkpoint", result.checkpoint ? Json(result.checkpoint->string()) : Json()},
          {"checkpoint_iteration", latest != nullptr ? Json(latest->iteration) : Json()},
          {"why_no_checkpoint", why.empty() ? Json() : Json(why)},
          {"best_checkpoints", best_checkpoints_json(result)},
          {"constraints", encode_numbers(result.constraints)},
          {"tags", notes.tags_json(trial.id)},
          {"notes", notes.notes_json(trial.id)},
          {"path", result.path.string()}};
}

int show_front(const ResultGrid& grid, Scope scope, bool as_json) {
  const std::vector<TrialId> front = grid.pareto_front(scope).trials;
  if (front.empty()) {
    if (const auto reason = grid.none_feasible()) throw user_error(*reason);
    throw user_error("no trial in " + grid.directory().string() +
                     " has reported numbers for all metrics");
  }
  Json list = Json::array();
  std::vector<TableColumn> columns = {{"trial"}, {"state"}};
  for (const auto& objective : grid.spec().objectives) columns.push_back({objective.metric, true});
  for (const auto& [text, value] : grid[index_of(front.front())].constraints) {
    columns.push_back({text, true});
  }
  columns.push_back({"config"});
  const Notes notes = Notes::read(grid.directory());
  print_each_notice(notes.notices());
  std::vector<std::vector<std::string>> rows;
  for (const TrialId id : front) {
    const Trial& trial = grid.experiment().trial(id);
    const TrialResult result = grid[index_of(id)];
    Json values;
    auto& row = rows.emplace_back(std::vector<std::string>{to_string(id), end_or_state(trial)});
    for (const Objective& objective : grid.spec().objectives) {
      const ExactNumber value = grid.exact_value(trial, objective, scope);
      values[objective.metric] = number_json(value);
      row.push_back(format_metric(value.value()));
    }
    for (const auto& [text, value] : result.constraints) row.push_back(format_metric(value));
    row.push_back(present_tag(trial));
    Json& one = list.emplace_back(to_json(grid, trial, result, scope, notes));
    one["values"] = std::move(values);
  }
  if (as_json) {
    print_json(list);
  } else {
    print_table(columns, rows);
  }
  return exit_ok;
}

/// The same with what it is best by.
Json to_json(const ResultGrid& grid, const TrialResult& result, const Objective& objective,
             Scope scope, const Notes& notes) {
  const Trial& trial = grid.experiment().trial(*parse_trial_id(result.trial_id));
  Json json = to_json(grid, trial, result, scope, notes);
  json["best_iteration"] = result.best_iteration ? Json(*result.best_iteration) : Json();
  json["best_iteration_is_guess"] = result.best_iteration && trial.is_guess(*result.best_iteration);
  json["best_metrics"] = result.best_metrics;
  const auto last_iteration = grid.last_iteration(trial, objective.metric);
  json["last_iteration"] = last_iteration ? Json(*last_iteration) : Json();
  json["metric"] = objective.metric;
  json["mode"] = to_string(objective.mode);
  json["value"] = number_json(grid.exact_value(trial, objective, scope));
  json["is_in_doubt"] = trial.summaries_in_doubt;
  if (json["why_no_checkpoint"].is_string()) {
    json["why_no_checkpoint"] = json["why_no_checkpoint"].get<std::string>() +
                                equal_with_checkpoint(grid, trial, objective, scope);
  }
  return json;
}

int show_best_trials(const ResultGrid& grid, const Objective& objective, Scope scope,
                     const BestRequest& request) {
  (void)grid.best_result(objective.metric, objective.mode, scope);  // why there is none, if so
  const auto wanted = static_cast<std::size_t>(*request.count);
  const Notes notes = Notes::read(grid.directory());
  print_each_notice(notes.notices());
  Json list = Json::array();
  std::vector<std::vector<std::string>> rows;
  const std::vector<TrialId> best = grid.best_trials(objective, scope, wanted);
  const auto last_of = [&](TrialId id) {
    const Trial& trial = grid.experiment().trial(id);
    return grid.last_iteration(trial, objective.metric).value_or(trial.iteration);
  };
  const bool has_earlier = std::any_of(best.begin(), best.end(), [&](TrialId id) {
    return last_of(id) != grid.experiment().trial(id).iteration;
  });
  for (const TrialId id : best) {
    TrialResult result = grid[index_of(id)];
    grid.add_best_row(result, objective);
    const Trial& trial = grid.experiment().trial(id);
    const auto value = [&](Scope of) {
      return format_metric(value_of(trial, objective.metric, objective.mode, of));
    };
    const auto& at = result.best_iteration;
    const std::string best_at = at ? iteration_text(*at, trial.is_guess(*at)) : "-";
    rows.push_back({result.trial_id, end_or_state(trial), value(scope), best_at, value(Scope::last),
                    iteration_text(trial.iteration, trial.is_at_guess()), present_tag(trial)});
    if (has_earlier) rows.back().insert(rows.back().end() - 2, std::to_string(last_of(id)));
    list.push_back(to_json(grid, result, objective, scope, notes));
  }
  print_each_notice(grid.left_out());
  if (request.json) {
    print_json(list);
    return exit_ok;
  }
  const std::string of_scope = std::string(" (") + to_string(scope) + ")";
  std::vector<TableColumn> columns = {
      {"trial"},         {"state"},      {objective.metric + of_scope, true},
      {"best at", true}, {"last", true}, {"iterations", true},
      {"config"}};
  if (has_earlier) columns.insert(columns.end() - 2, {"last at", true});
  print_table(columns, rows);
  return exit_ok;
}

int show_over_time(const ResultGrid& grid, const Objective& objective, bool as_json) {
  const std::vector<Improvement> improvements = improvements_of(grid, objective);
  std::vector<std::vector<std::string>> rows;
  for (const Improvement& each : improvements) {
    rows.push_back({format_duration(each.running_s), iso_time(each.time),
                    std::to_string(each.trials), std::to_string(each.results),
                    to_string(each.trial), iteration_text(each.iteration, each.is_guess),
                    format_metric(each.value.value())});
  }
  if (as_json) {
    print_json(over_time_json(improvements, objective));
  } else {
    print_table({{"running", true},
                 {"date"},
                 {"trials", true},
                 {"results", true},
                 {"trial"},
                 {"iteration", true},
                 {"best " + objective.metric, true}},
                rows);
  }
  return exit_ok;
}

}  // namespace

Json over_time_json(const std::vector<Improvement>& improvements, const Objective& objective) {
  Json list = Json::array();
  for (const Improvement& each : improvements) {
    list.push_back({{"time", each.time},
                    {"running_s", each.running_s},
                    {"trials", each.trials},
                    {"results", each.results},
                    {"trial_id", to_string(each.trial)},
                    {"training_iteration", each.iteration},
                    {"iteration_is_guess", each.is_guess},
                    {"value", number_json(each.value)}});
  }
  return {{"metric", objective.metric},
          {"mode", to_string(objective.mode)},
          {"improvements", std::move(list)}};
}

Json checkpoints_json(const ResultGrid& grid) {
  std::vector<Listed> listed;
  for (const auto& trial : grid.experiment().trials()) list_trial(grid, trial, listed);
  Json list = Json::array();
  for (const auto& one : listed) list.push_back(to_json(one, CheckpointsRequest()));
  return list;
}

int best_command(const BestRequest& request) {
  const bool is_scope_told = !request.scope.empty();
  Scope scope = is_scope_told ? checked_scope(request.scope) : Scope::all;
  const ExperimentView view = view_experiment(request.directory);
  const ResultGrid& grid = view.grid;
  const bool is_one_asked_for = !request.metric.empty() || !request.mode.empty();
  if (grid.spec().objectives.size() > 1 && !is_one_asked_for) {
    if (request.count || request.over_time) {
      throw user_error(std::string(request.count ? "-n" : "--over-time") +
                       " needs one metric to rank trials by: --metric NAME");
    }
    // Each metric's best may be of another result: no trial has ever been there.
    return show_front(grid, is_scope_told ? scope : Scope::last, request.json);
  }
  const Objective objective = objective_for(grid, request.metric, request.mode);
  if (is_last_value_only(objective.metric)) {
    if (is_scope_told && scope != Scope::last) {
      throw user_error(as_quoted(objective.metric) +
                       " is counted by the driver, and of a trial its last value alone is known: "
                       "--scope last");
    }
    scope = Scope::last;
  }
  if (request.over_time) {
    if (scope != Scope::all) {
      throw user_error(is_scope_told ? "--over-time is of all results: leave --scope out"
                                     : "--over-time needs a metric that the trials report");
    }
    return show_over_time(grid, objective, request.json);
  }
  if (request.count) return show_best_trials(grid, objective, scope, request);
  TrialResult best = grid.best_result(objective.metric, objective.mode, scope);
  grid.add_best_row(best, objective);
  const Trial& trial = grid.experiment().trial(*parse_trial_id(best.trial_id));
  const double value = value_of(trial, objective.metric, objective.mode, scope);
  const auto last_iteration = grid.last_iteration(trial, objective.metric);
  const bool is_earlier =
      scope == Scope::last && last_iteration && *last_iteration != trial.iteration;
  const Notes notes = Notes::read(grid.directory());
  print_each_notice(notes.notices());
  print_each_notice(grid.left_out());
  if (request.json) {
    print_json(to_json(grid, best, objective, scope, notes));
    return exit_ok;
  }
  std::vector<std::pair<std::string, std::string>> lines = {
      {"trial", best.trial_id + ", " + (best.end ? to_string(*best.end) : to_string(best.state))},
      {objective.metric,
       format_metric(value) + " (" + to_string(objective.mode) + ", " + to_string(scope) +
           (is_earlier ? " at iteration " +
                             iteration_text(*last_iteration, trial.is_guess(*last_iteration))
                       : "") +
           ")"},
      {"iterations", iteration_text(trial.iteration, trial.is_at_guess())},
  };
  if (const std::string lost = taken_back(trial); !lost.empty()) {
    lines.back().second += ": " + lost;
  }
  if (const std::string before = before_change_text(grid, trial, objective); !before.empty()) {
    lines.emplace_back("before", before + " (tune lineage)");
  }
  add_notes(notes, trial.id, lines);
  add_config(best.config, lines);
  if (trial.failed_saves > 0 && trial.latest_checkpoint() != nullptr) {
    const std::string why = clean_text(headline(*trial.save_error));
    lines.emplace_back("saves failed", std::to_string(trial.failed_saves) + " of " +
                                           std::to_string(trial.saves) +
                                           (why.empty() ? "" : ", the last one: " + why));
  }
  const bool is_last = best.best_iteration == trial.iteration;
  if (!is_last) {
    lines.emplace_back("best result", best.best_metrics.is_null()
                                          ? "not known: its result.json is not there"
                                          : best.best_metrics.dump());
  }
  lines.emplace_back(is_last ? "best result, the last" : "last result",
                     (is_last ? best.best_metrics : best.metrics).dump());
  if (trial.summaries_in_doubt) {
    lines.emplace_back("in doubt",
                       "it went back to a checkpoint, and without its result.json it "
                       "is not known which results were taken back");
  }
  const auto present = trial.present_checkpoints();
  const auto order = rank_checkpoints(present, grid.spec().checkpoint_config);
  const Checkpoint* const latest = trial.latest_checkpoint();
  const Checkpoint* const kept = order.empty() ? latest : &present[order.front()];
  lines.emplace_back("checkpoint", checkpoint_text(grid, trial, kept, objective, scope));
  if (kept != latest) {
    lines.emplace_back("latest one", checkpoint_text(grid, trial, latest, objective, scope));
  }
  for (const auto& [text, excess] : best.constraints) {
    lines.insert(lines.begin() + 2, {"constraint", text + ": " + format_metric(excess)});
  }
  for (const auto& checkpoint : best.best_checkpoints) {
    const bool is_first = &checkpoint == &best.best_checkpoints.front();
    lines.emplace_back(
        is_first ? "best ones" : "",
        checkpoint.path.string() + ", iteration " + std::to_string(checkpoint.iteration) +
            (checkpoint.is_guess ? " or later" : "") +
            (std::isnan(checkpoint.score) ? "" : ", score " + format_metric(checkpoint.score)) +
            place_remark(checkpoint.path));
  }
  lines.emplace_back("directory", best.path.string());
  print_pairs(lines);
  return exit_ok;
}

int checkpoints_command(const CheckpointsRequest& request) {
  const ExperimentView view = view_experiment(request.directory);
  std::vector<Listed> listed;
  if (request.trial.empty()) {
    for (const auto& trial : view.grid.experiment().trials()) list_trial(view.grid, trial, listed);
  } else {
    list_trial(view.grid, find_trial(view.grid, request.trial), listed);
  }
  if (request.verify) verify(view, listed);
  if (request.blobs) read_blobs(view, listed);
  if (request.json) {
    Json list = Json::array();
    for (const auto& one : listed) list.push_back(to_json(one, request));
    print_json(list);
  } else if (listed.empty()) {
    print("no checkpoints\n");
  } else {
    if (request.verify || !request.blobs) print_checkpoints(listed, request.verify);
    if (request.blobs) print_blobs(listed);
  }
  const bool is_damaged =
      std::any_of(listed.begin(), listed.end(), [](const Listed& one) { return one.is_damaged; });
  return is_damaged ? exit_damaged : exit_ok;
}

}  // namespace tune
