// Chooses which ended trials are requeued, and explains why others cannot be.
#include "tuner/run/resume_plan.h"

#include <algorithm>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"

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

/// Its own, or that of the trial whose copy it has become.
bool has_checkpoint(const Experiment& experiment, const Trial& trial) {
  return trial.donor || experiment.restore_point(trial.id).second != nullptr;
}

/// Why `trial`, which has finished, cannot go on; empty if it can.
std::string obstacle(const Experiment& experiment, const Trial& trial, Stopper* rules,
                     const Scheduler& scheduler) {
  if (scheduler.is_at_max(trial)) {
    return "it has reached max_t of its scheduler, at iteration " +
           std::to_string(trial.iteration) + ", which lets no trial train longer";
  }
  if (would_stop(rules, trial)) {
    return "its stop rule ends it at iteration " + std::to_string(trial.iteration) +
           ": give a longer one with --stop";
  }
  if (!has_checkpoint(experiment, trial)) return "it has no checkpoint to go on from";
  return "";
}

TrialRequeued requeue_named(const Experiment& experiment, TrialId id, const ResumeOptions& options,
                            Stopper* rules, const Scheduler& scheduler) {
  const Trial& trial = experiment.trial(id);
  if (trial.state == TrialState::error) return {id, options.errored == ErroredTrials::restart};
  const std::string reason = obstacle(experiment, trial, rules, scheduler);
  if (!reason.empty()) {
    throw user_error(to_string(id) + " has finished and cannot go on: " + reason);
  }
  return {id, false};
}

void plan_errored(const Experiment& experiment, const ResumeOptions& options, ResumePlan& plan) {
  if (options.errored == ErroredTrials::leave) return;
  const bool restart = options.errored == ErroredTrials::restart;
  std::size_t going_on = 0;
  std::size_t beginning = 0;
  for (const auto& trial : experiment.trials()) {
    if (trial.state != TrialState::error) continue;
    plan.requeued.push_back({trial.id, restart});
    ++(!restart && has_checkpoint(experiment, trial) ? going_on : beginning);
  }
  if (going_on + beginning == 0) {
    plan.notices.emplace_back("no trial has failed: there is none to take up again");
  }
  if (going_on > 0) {
    plan.notices.push_back(count_of(going_on, "failed trial goes on from its latest checkpoint",
                                    "failed trials go on from their latest checkpoints"));
  }
  if (beginning > 0) {
    plan.notices.push_back(count_of(beginning, "failed trial starts from the beginning",
                                    "failed trials start from the beginning"));
  }
}

void plan_finished(const Experiment& experiment, const ResumeOptions& options, Stopper* rules,
                   bool rules_changed, const Scheduler& scheduler, ResumePlan& plan) {
  std::size_t could_go_on = 0;
  std::size_t without_checkpoint = 0;
  std::size_t ended_by_rule = 0;
  std::size_t at_max = 0;
  for (const auto& trial : experiment.trials()) {
    // What a scheduler or the program itself has ended stays so, also with a longer rule.
    if (trial.state != TrialState::terminated || !trial.stopped_by_rule) continue;
    if (would_stop(rules, trial)) {
      ++ended_by_rule;
      continue;
    }
    if (scheduler.is_at_max(trial)) {
      ++at_max;
      continue;
    }
    if (!has_checkpoint(experiment, trial)) {
      ++without_checkpoint;
      continue;
    }
    ++could_go_on;
    if (options.finished) plan.requeued.push_back({trial.id, false});
  }
  if (!options.finished && (!rules_changed || could_go_on + without_checkpoint == 0)) return;
  if (could_go_on + without_checkpoint + ended_by_rule + at_max == 0) {
    plan.notices.emplace_back(
        "no trial has been ended by a stop rule, so none goes on under this one");
    return;
  }
  std::string text =
      could_go_on == 0 ? "no finished trial goes on under this stop rule"
      : options.finished
          ? count_of(could_go_on, "finished trial goes on under this stop rule",
                     "finished trials go on under this stop rule")
          : count_of(could_go_on,
                     "finished trial would go on under this stop rule and is left alone; "
                     "--finished takes it up again",
                     "finished trials would go on under this stop rule and are left alone; "
                     "--finished takes them up again");
  if (without_checkpoint > 0) {
    text += "; " + count_of(without_checkpoint, "cannot: it has no checkpoint to go on from",
                            "cannot: they have no checkpoint to go on from");
  }
  if (ended_by_rule > 0) {
    text += "; " + count_of(ended_by_rule, "is already where this stop rule ends it",
                            "are already where this stop rule ends them");
  }
  if (at_max > 0) {
    text += "; " + count_of(at_max, "has", "have") +
            " reached max_t of the scheduler, which lets no trial train longer";
  }
  plan.notices.push_back(std::move(text));
}

/// Says how many of the trials that run in this session have results and nothing to go on from.
/// Those that start from the beginning by wish are not among them.
void note_lost_work(const Experiment& experiment, const std::vector<TrialId>& named,
                    const std::set<TrialId>& adopted, const Stopper* rules, ResumePlan& plan) {
  const Seconds running_s = experiment.running_s(experiment.last_time());
  if (rules != nullptr && rules->should_stop_all(running_s)) return;  // nothing is started
  std::uint64_t count = 0;
  std::int64_t iterations = 0;
  const auto add = [&](const Trial& trial) {
    if (trial.iteration == 0 || has_checkpoint(experiment, trial)) return;
    ++count;
    iterations += trial.iteration;
  };
  for (const auto& trial : experiment.trials()) {
    const bool is_named = named.empty() || std::binary_search(named.begin(), named.end(), trial.id);
    const bool will_run = trial.state == TrialState::pending || trial.state == TrialState::running;
    const bool is_over = trial.stopping && !trial.last_save_due;
    if (is_named && will_run && !is_over && !adopted.contains(trial.id)) add(trial);
  }
  for (const auto& [id, from_scratch] : plan.requeued) {
    if (!from_scratch) add(experiment.trial(id));
  }
  if (count == 0) return;
  plan.notices.push_back(count_of(count, "trial has no checkpoint and begins anew",
                                  "trials have no checkpoint and begin anew") +
                         ": " +
                         count_of(static_cast<std::uint64_t>(iterations),
                                  "iteration of work is lost", "iterations of work are lost"));
}

}  // namespace

ResumePlan plan_resume(const Experiment& experiment, const ResumeOptions& options, Stopper* rules,
                       bool rules_changed, const Scheduler& scheduler) {
  ResumePlan plan;
  if (options.trials.empty()) {
    plan_errored(experiment, options, plan);
    plan_finished(experiment, options, rules, rules_changed, scheduler, plan);
    note_lost_work(experiment, {}, options.adopted, rules, plan);
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
                                   : count_of(count, "trial") + ", the last is " +
                                         to_string(experiment.trials().back().id)));
    }
    if (experiment.trial(id).held) plan.released.push_back({id, true});
    if (!is_final(experiment.trial(id).state)) continue;
    plan.requeued.push_back(requeue_named(experiment, id, options, rules, scheduler));
  }
  note_lost_work(experiment, named, options.adopted, rules, plan);
  return plan;
}

}  // namespace tune
