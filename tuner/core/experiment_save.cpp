// Experiment::save: the whole state as JSON.
#include "tuner/core/experiment.h"

namespace tune {

namespace {

Json number_or_null(const std::optional<double>& value) {
  return value ? encode_number(*value) : Json();
}

Json save(const Checkpoint& checkpoint) {
  return {{"index", checkpoint.index},
          {"iteration", checkpoint.iteration},
          {"time_total_s", checkpoint.time_total_s},
          {"timesteps_total", number_or_null(checkpoint.timesteps_total)},
          {"episodes_total", number_or_null(checkpoint.episodes_total)},
          {"score", encode_number(checkpoint.score)},
          {"triggers", checkpoint.triggers.to_string()},
          {"bytes", checkpoint.bytes},
          {"save_s", checkpoint.save_s},
          {"commit_s", checkpoint.commit_s}};
}

Json save(const MetricSummary& summary) {
  Json recent = Json::array();
  for (const double value : summary.recent) recent.push_back(encode_number(value));
  return {{"name", summary.name},
          {"last", encode_number(summary.last)},
          {"min", encode_number(summary.min)},
          {"max", encode_number(summary.max)},
          {"sum", encode_number(summary.sum)},
          {"count", summary.count},
          {"recent", std::move(recent)},
          {"seen", summary.seen}};
}

Json save(const Trial& trial) {
  Json checkpoints = Json::array();
  for (const auto& checkpoint : trial.checkpoints) checkpoints.push_back(save(checkpoint));
  Json summaries = Json::array();
  for (const auto& summary : trial.summaries) summaries.push_back(save(summary));
  return {{"state", to_string(trial.state)},
          {"config", trial.config},
          {"tag", trial.tag},
          {"attempt", trial.attempt},
          {"failures", trial.failures},
          {"error", trial.error},
          {"not_before", trial.not_before},
          {"stopping", trial.stopping},
          {"stopped_by_rule", trial.stopped_by_rule},
          {"last_save_due", trial.last_save_due},
          {"iteration", trial.iteration},
          {"restored_iteration", trial.restored_iteration},
          {"time_total_s", trial.time_total_s},
          {"restored_time_s", trial.restored_time_s},
          {"timesteps_total", number_or_null(trial.timesteps_total)},
          {"episodes_total", number_or_null(trial.episodes_total)},
          {"started", trial.started},
          {"ended", trial.ended},
          {"last_metrics", trial.last_metrics},
          {"summaries", std::move(summaries)},
          {"checkpoints", std::move(checkpoints)},
          {"saves", trial.saves},
          {"failed_saves", trial.failed_saves},
          {"failed_saves_in_a_row", trial.failed_saves_in_a_row},
          {"start_checkpoint", trial.start_checkpoint}};
}

Json save(const std::set<std::pair<std::uint64_t, TrialId>>& queue) {
  Json saved = Json::array();
  for (const auto& [place, trial] : queue) saved.push_back({place, index_of(trial)});
  return saved;
}

}  // namespace

Json Experiment::save() const {
  Json trials = Json::array();
  for (const auto& trial : trials_) trials.push_back(tune::save(trial));
  Json processes = Json::array();
  for (const auto& [trial, process] : processes_) {
    processes.push_back({index_of(trial), process.attempt, process.pid, process.start_ticks});
  }
  return {{"trials", std::move(trials)},
          {"pending", tune::save(pending_)},
          {"paused", tune::save(paused_)},
          {"processes", std::move(processes)},
          {"last_event", last_event_},
          {"results", results_},
          {"stop_reason", stop_reason_},
          {"started", started_},
          {"session_started", session_started_},
          {"earlier_sessions_s", earlier_sessions_s_},
          {"last_time", last_time_},
          {"sessions", sessions_},
          {"host", host_},
          {"session_end", session_end_}};
}

}  // namespace tune
