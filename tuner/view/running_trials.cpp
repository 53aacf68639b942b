// Rows for running trials: host, pid, place and age, as JSON and as text.
#include "tuner/view/running_trials.h"

#include <algorithm>

#include "tuner/ask_session.h"
#include "tuner/base/quoted.h"
#include "tuner/model/ancestry.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

constexpr std::size_t most_shown = 20;

/// One trial that runs; what somebody else runs has neither a process nor a place that is known.
struct Running {
  const Trial* trial = nullptr;
  RunningAttempt attempt;
  std::optional<std::int64_t> pid;
};

std::vector<Running> running_in(const ExperimentView& view) {
  std::vector<Running> all;
  const Experiment& experiment = view.grid.experiment();
  // Where the record breaks off, nothing runs, whatever it says.
  if (!view.driver && !is_told(view.grid.spec())) return all;
  for (const TrialId id : experiment.running()) {
    Running& one = all.emplace_back();
    one.trial = &experiment.trial(id);
    const auto attempt = experiment.attempts().find(id);
    if (attempt != experiment.attempts().end()) one.attempt = attempt->second;
    const auto process = experiment.processes().find(id);
    if (process != experiment.processes().end()) one.pid = process->second.pid;
  }
  return all;
}

Json time_json(Seconds time) { return time > 0 ? Json(time) : Json(); }
Json age_json(Seconds time, Seconds now) {
  return time > 0 ? Json(std::max(0.0, now - time)) : Json();
}

std::string age_text(Seconds time, Seconds now) {
  return time > 0 ? rough_duration(std::max(0.0, now - time)) : "-";
}

}  // namespace

Json running_json(const ExperimentView& view, Seconds now) {
  Json list = Json::array();
  for (const auto& [trial, attempt, pid] : running_in(view)) {
    list.push_back({{"trial_id", to_string(trial->id)},
                    {"node", view.driver ? node_json(*trial) : Json()},
                    {"pid", pid ? Json(*pid) : Json()},
                    {"gpus", gpus_json(*trial)},
                    {"attempt", trial->attempt},
                    {"training_iteration", trial->iteration},
                    {"since", time_json(attempt.since)},
                    {"running_s", age_json(attempt.since, now)},
                    {"last_result", time_json(attempt.last_result)},
                    {"last_result_age_s", age_json(attempt.last_result, now)},
                    {"tag", present_tag(*trial)}});
  }
  return list;
}

std::string running_text(const ExperimentView& view, Seconds now) {
  const std::vector<Running> all = running_in(view);
  if (all.empty()) return "";
  const bool has_gpus = std::any_of(all.begin(), all.end(),
                                    [](const Running& one) { return !one.trial->gpus.empty(); });
  const bool has_nodes = std::any_of(all.begin(), all.end(), [&](const Running& one) {
    return view.driver && std::string_view(one.trial->host) != view.driver->host;
  });
  std::vector<TableColumn> columns = {
      {"trial"}, {"iteration", true}, {"for", true}, {"last result", true}, {"pid", true}};
  if (has_nodes) columns.push_back({"node"});
  if (has_gpus) columns.push_back({"gpu"});
  columns.push_back({"config"});
  std::vector<std::vector<std::string>> rows;
  for (const auto& [trial, attempt, pid] : all) {
    if (rows.size() == most_shown) break;
    const std::string last = age_text(attempt.last_result, now);
    auto& row = rows.emplace_back();
    row = {to_string(trial->id), iteration_text(trial->iteration, trial->is_at_guess()),
           age_text(attempt.since, now), last == "-" ? last : last + " ago",
           pid ? std::to_string(*pid) : "-"};
    if (has_nodes) row.emplace_back(std::string_view(trial->host));
    if (has_gpus) row.push_back(trial->gpus.empty() ? "-" : *trial->gpus);
    row.push_back(present_tag(*trial));
  }
  std::string text = table_text(columns, rows);
  if (all.size() > most_shown) {
    text += "\nand " + std::to_string(all.size() - most_shown) + " more: tune ls " +
            shell_word(view.grid.directory()) + " --state RUNNING";
  }
  return text;
}

}  // namespace tune
