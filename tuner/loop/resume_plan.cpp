#include "tuner/loop/resume_plan.h"

#include <algorithm>

#include "tuner/core/error.h"

namespace tune {

namespace {

/// The trial's last result, as far as a stop rule can ask about it.
Result last_result(const Trial& trial) {
  Result result;
  result.training_iteration = trial.iteration;
  result.time_total_s = trial.time_total_s;
  result.timesteps_total = trial.timesteps_total;
  result.episodes_total = trial.episodes_total;
  if (!trial.last_metrics.empty()) result.metrics = read_metrics(trial.last_metrics.text());
  return result;
}

bool would_stop(Stopper* stopper, const Trial& trial) {
  return stopper != nullptr && stopper->should_stop(trial, last_result(trial));
}

std::string count_of_trials(std::size_t count, const std::string& adjective) {
  return std::to_string(count) + (adjective.empty() ? "" : " ") + adjective +
         (count == 1 ? " trial" : " trials");
}

/// Why `trial`, which has finished, cannot go on; empty if it can.
std::string obstacle(const Trial& trial, Stopper* rules) {
  if (would_stop(rules, trial)) {
    return "its stop rule ends it at iteration " + std::to_string(trial.iteration) +
           ": give a longer one with --stop";
  }
  if (trial.checkpoints.empty()) return "it has no checkpoint to go on from";
  return "";
}

TrialRequeued requeue_named(const Experiment& experiment, TrialId id, const ResumeOptions& options,
                            Stopper* rules) {
  const Trial& trial = experiment.trial(id);
  if (trial.state == TrialState::error) return {id, options.errored == ErroredTrials::restart};
  const std::string reason = obstacle(trial, rules);
  if (!reason.empty()) {
    throw user_error(to_string(id) + " has finished and cannot go on: " + reason);
  }
  return {id, false};
}

void plan_errored(const Experiment& experiment, const ResumeOptions& options, ResumePlan& plan) {
  if (options.errored == ErroredTrials::leave) return;
  const bool restart = options.errored == ErroredTrials::restart;
  std::size_t count = 0;
  for (const auto& trial : experiment.trials()) {
    if (trial.state != TrialState::error) continue;
    plan.requeued.push_back({trial.id, restart});
    ++count;
  }
  plan.notices.push_back(
      count_of_trials(count, "failed") +
      (restart ? " start again from scratch" : " go on from their latest checkpoints"));
}

void plan_finished(const Experiment& experiment, const ResumeOptions& options, Stopper* rules,
                   bool rules_changed, ResumePlan& plan) {
  std::size_t could_go_on = 0;
  for (const auto& trial : experiment.trials()) {
    if (trial.state != TrialState::terminated || !trial.stopped_by_rule) continue;
    if (!obstacle(trial, rules).empty()) continue;
    ++could_go_on;
    if (options.finished) plan.requeued.push_back({trial.id, false});
  }
  if (options.finished) {
    plan.notices.push_back(count_of_trials(could_go_on, "finished") +
                           " go on under this stop rule");
  } else if (rules_changed && could_go_on > 0) {
    plan.notices.push_back(count_of_trials(could_go_on, "finished") +
                           " would go on under this stop rule and are left alone; "
                           "--finished takes them up again");
  }
}

}  // namespace

ResumePlan plan_resume(const Experiment& experiment, const ResumeOptions& options, Stopper* rules,
                       bool rules_changed) {
  ResumePlan plan;
  if (options.trials.empty()) {
    plan_errored(experiment, options, plan);
    plan_finished(experiment, options, rules, rules_changed, plan);
    return plan;
  }
  std::vector<TrialId> named = options.trials;
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  const std::size_t count = experiment.trials().size();
  for (const TrialId id : named) {
    if (index_of(id) >= count) {
      throw user_error("there is no " + to_string(id) + ": the experiment has " +
                       (count == 0 ? "no trials yet"
                                   : count_of_trials(count, "") + ", the last is " +
                                         to_string(experiment.trials().back().id)));
    }
    if (experiment.trial(id).held) plan.released.push_back({id, true});
    if (!is_final(experiment.trial(id).state)) continue;
    plan.requeued.push_back(requeue_named(experiment, id, options, rules));
  }
  return plan;
}

}  // namespace tune
