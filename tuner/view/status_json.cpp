// `tune status --json`.
#include <algorithm>

#include "tuner/view/running_trials.h"
#include "tuner/view/status.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

constexpr TrialState states[] = {TrialState::pending, TrialState::running, TrialState::paused,
                                 TrialState::terminated, TrialState::error};

/// null unless there are several metrics.
Json front_json(const ResultGrid& grid) {
  const auto& objectives = grid.spec().objectives;
  if (objectives.size() < 2) return nullptr;
  const ParetoFront front = grid.pareto_front();
  Json reference;
  for (std::size_t j = 0; j < front.reference.size(); ++j) {
    reference[objectives[j].metric] = front.reference[j];
  }
  return {{"trials", front.trials.size()},
          {"hypervolume", front.hypervolume},
          {"reference", reference}};
}

Json checkpoints_json(const ExperimentView& view) {
  const SaveStatistics& saves = view.grid.experiment().saves();
  return {{"committed", saves.committed},
          {"kept", view.kept_checkpoints},
          {"failed", saves.failed},
          {"last_failure", last_save_error(view.grid.experiment())},
          {"bytes", saves.bytes},
          {"save_s_mean", mean_of(saves.save_s, saves.committed)},
          {"save_s_max", saves.max_save_s},
          {"commit_s_mean", mean_of(saves.commit_s, saves.committed)},
          {"commit_s_max", saves.max_commit_s},
          {"slowest_rank", slowest_rank(saves) ? Json(slowest_rank(saves)->first) : Json()}};
}

Json state_cost_json(const StatusView& seen) {
  const StateCost cost = seen.experiment().cost();
  Json json = to_json(cost);
  json["share_of_running_time"] = share_of(cost, seen.running_s());
  return json;
}

Json ends_json(const Experiment& experiment) {
  Json counts;
  for (const TrialEnd end : trial_ends) counts[to_string(end)] = experiment.count(end);
  return counts;
}

/// null unless it is a copy of one that goes on elsewhere.
Json copy_json(const ExperimentView& view) {
  if (!view.copy) return nullptr;
  return {{"of", view.copy->of}, {"time", view.copy->time}};
}

Json end_json(const std::optional<EndEstimate>& end) {
  if (!end) return nullptr;
  return {{"remaining_s", end->remaining_s ? Json(*end->remaining_s) : Json()},
          {"is_upper_bound", end->is_bound},
          {"reason", end->reason}};
}

Json budget_json(const StatusView& seen) {
  const auto& budget_s = seen.grid().spec().time_budget_s;
  if (!budget_s) return nullptr;
  return std::max(0.0, *budget_s - seen.running_s());
}

Json driver_json(const StatusView& seen) {
  const auto& driver = seen.view.driver;
  if (!driver) return nullptr;
  return {{"host", driver->host},           {"pid", driver->pid},
          {"since", driver->since},         {"seen", driver->is_seen},
          {"last_sign", driver->last_sign}, {"answers", seen.awaited.answers_json()}};
}

}  // namespace

Json status_json(const StatusView& seen) {
  const ExperimentView& view = seen.view;
  const Experiment& experiment = view.grid.experiment();
  Json counts = Json::object();
  for (const auto state : states) counts[to_string(state)] = experiment.count(state);
  const std::string given_up = why_given_up(experiment);
  const ControlAnswer awaited = seen.awaited.answer.value_or(ControlAnswer{});
  const auto how = experiment.session_ended();
  return {{"name", view.grid.spec().name},
          {"directory", view.grid.directory().string()},
          {"job", nullptr},  // who asks Slurm says it, and these
          {"jobs", Json::array()},
          {"trials", view.grid.size()},
          {"total_trials", seen.total ? Json(*seen.total) : Json()},
          {"states", counts},
          {"ends", ends_json(experiment)},
          {"ended_by", ends_of(experiment)},
          {"best", best_json(view.grid)},
          {"front", front_json(view.grid)},
          {"driver", driver_json(seen)},
          {"copy", copy_json(view)},
          {"waits_for", awaited.sentence.empty() ? Json() : Json(awaited.sentence)},
          {"hangs", awaited.notices},
          {"said", awaited.said},
          {"left_out", awaited.left_out},
          {"end_estimate", end_json(seen.end)},
          {"time_budget_left_s", budget_json(seen)},
          {"running", running_json(view, seen.now)},
          {"rungs", to_json(seen.rungs)},
          {"stop_reason", experiment.stop_reason()},
          {"given_up", given_up.empty() ? Json() : Json(given_up)},
          {"session_end", experiment.session_end()},
          {"session_ended", how ? Json(to_string(*how)) : Json()},
          {"started", experiment.started()},
          {"running_s", seen.running_s()},
          {"sessions", experiment.sessions()},
          {"results", experiment.results()},
          {"events", experiment.last_event()},
          {"state_bytes", state_bytes(view.grid.directory())},
          {"state_cost", state_cost_json(seen)},
          {"checkpoints", checkpoints_json(view)},
          {"remote", remote_json(view)},
          {"ran", experiment.ran().empty() ? Json() : Json::parse(experiment.ran())},
          {"notices", seen.notices()}};
}

}  // namespace tune
