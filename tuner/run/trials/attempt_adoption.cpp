// Attempts: trials that go on in processes which an earlier driver has launched.
#include <algorithm>
#include <utility>

#include "tuner/run/trials/attempts.h"

namespace tune {

namespace {

WorkerGroup::State state_of(Adoption::Stage stage) {
  switch (stage) {
    case Adoption::Stage::ready:
      return WorkerGroup::State::ready;
    case Adoption::Stage::stepping:
      return WorkerGroup::State::stepping;
    case Adoption::Stage::saving:
      return WorkerGroup::State::saving;
  }
  return WorkerGroup::State::ready;
}

WorkerGroup::Adopted as_adopted(const Adoption& adoption) {
  const KeptLaunch& told = adoption.told();
  WorkerGroup::Adopted adopted{.processes = {},
                               .state = state_of(adoption.stage),
                               .iteration = told.iteration,
                               .directory = told.directory,
                               .told_for_s = told.told_for_s};
  for (const KeptLaunch& each : adoption.processes) {
    Launched launched = each.started;
    launched.launch = each.launch;
    adopted.processes.push_back({launched, each.spec, each.hello.value_or(protocol::Hello()),
                                 adoption.is_told(each) || each.has_ended});
  }
  return adopted;
}

Action decided(const Trial& trial) {
  return trial.stopping ? Action::stop : trial.pausing ? Action::pause : Action::proceed;
}

}  // namespace

void Attempts::adopt(const AdoptionPlan& plan) {
  worker_groups_.begin_launches_after(plan.last_launch);
  for (const Adoption& adoption : plan.adopted) adopt(adoption);
  // What they have said meanwhile, once all have what they hold.
  for (const Adoption& adoption : plan.adopted) {
    const std::int64_t saved = [&] {
      const Checkpoint* const latest = trial(adoption.trial).latest_checkpoint();
      return latest != nullptr ? latest->iteration : 0;
    }();
    for (const KeptLaunch& process : adoption.processes) {
      for (CheckpointFound found : process.found) {
        if (found.iteration > saved) on(found);
      }
      const bool is_due = adoption.stage != Adoption::Stage::ready && adoption.is_told(process);
      for (LaunchEvent event : process.since) {
        // Of one that has not been told, or whose answer is recorded, only that it is gone is news.
        const bool is_end =
            std::holds_alternative<Exited>(event) || std::holds_alternative<Lost>(event) ||
            std::holds_alternative<Disconnected>(event) || std::holds_alternative<Faulted>(event);
        if (is_due || is_end) std::visit([this](auto& what) { on(what); }, event);
      }
    }
  }
}

void Attempts::adopt(const Adoption& adoption) {
  const TrialId id = adoption.trial;
  ensure(resources_.acquire_again(adoption.allocation), "what is adopted has what it holds");
  WorkerGroup& worker_group = worker_groups_.adopt(adoption.allocation, as_adopted(adoption));
  worker_group.trial = id;
  const Trial& of = trial(id);
  Attempt& attempt = attempts_[id];
  attempt.trial = id;
  attempt.number = of.attempt;
  attempt.worker_group = &worker_group;
  attempt.began_at = committer_.steady();
  attempt.clone_waits = committer_.experiment().is_waited_for(id);
  const auto recorded = committer_.experiment().attempts().find(id);
  attempt.has_result =
      recorded != committer_.experiment().attempts().end() && recorded->second.last_result != 0;
  attempt.can_save = worker_group.can_save();
  describe_save(attempt);
  if (!attempt.has_result) {
    // It may be loading that yet.
    const auto [owner, checkpoint] = committer_.experiment().restore_point(id);
    if (checkpoint != nullptr) {
      attempt.source.checkpoint = {owner, checkpoint->index};
      checkpoint_manager_.pin(owner, checkpoint->index);
    }
  } else if (spec_.plain && spec_.plain->checkpoints) {
    note_for_checkpoints(attempt);
  }
  if (of.stopping && adoption.stage == Adoption::Stage::stepping) attempt.stop_asked = of.why;
  tell("on_trial_start", [this, id](Callback& callback) { callback.on_trial_start(trial(id)); });
  attempt.life.apply(AttemptEvent::begin);
  switch (adoption.stage) {
    case Adoption::Stage::ready:
      decide_again(attempt, adoption);
      break;
    case Adoption::Stage::stepping:
      attempt.life.apply(AttemptEvent::step);
      break;
    case Adoption::Stage::saving: {
      attempt.life.apply(AttemptEvent::open_save);
      attempt.life.apply(AttemptEvent::save);
      attempt.next = decided(of);
      attempt.save.directory = adoption.told().directory;
      attempt.save.checkpoint.index = adoption.save_index;
      if (!attempt.save.checkpoint.triggers.any()) {
        attempt.save.checkpoint.triggers.add(Trigger::result);
      }
      checkpoint_manager_.note_index(id, adoption.save_index);
      if (adoption.told().is_done && !of.stopping) {
        // A function that has returned, which nothing was recorded of.
        attempt.stop_asked = std::string(said_done);
        attempt.ended_by = EndedBy::done;
      }
      break;
    }
  }
}

/// What was decided with its last result is carried out, of which nobody was told.
void Attempts::decide_again(Attempt& attempt, const Adoption& adoption) {
  const Trial& of = trial(attempt.trial);
  const KeptLaunch& told = adoption.told();
  attempt.next = decided(of);
  attempt.save_failed = of.failed_saves_in_a_row > 0;
  if (attempt.worker_group->is_function()) {
    attempt.can_save = std::any_of(told.since.begin(), told.since.end(), [](const auto& event) {
      const auto* const reported = std::get_if<Reported>(&event);
      return reported != nullptr && reported->can_save;
    });
  }
  const bool is_at_result = told.told == KeptLaunch::Told::step && told.iteration == of.iteration;
  const bool is_wanted = of.last_save_due || attempt.save.checkpoint.triggers.any();
  if (is_at_result && is_wanted && attempt.can_save && !spec_.plain) {
    begin_save(attempt);
  } else {
    carry_out(attempt);
  }
}

/// As a checkpoint of its last result would have it. Why it was to be saved is not recorded with
/// the result: what the spec says is a reason.
void Attempts::describe_save(Attempt& attempt) const {
  const Trial& of = trial(attempt.trial);
  attempt.save.trial = attempt.trial;
  attempt.save.attempt = attempt.number;
  Checkpoint& checkpoint = attempt.save.checkpoint;
  checkpoint.iteration = of.iteration;
  checkpoint.time_total_s = of.time_total_s;
  checkpoint.timesteps_total = of.timesteps_total;
  checkpoint.episodes_total = of.episodes_total;
  const CheckpointConfig& config = spec_.checkpoint_config;
  if (config.checkpoint_score_attribute && !of.last_metrics.empty()) {
    const Metrics metrics = read_metrics(of.last_metrics.text());
    checkpoint.score = metrics.find(*config.checkpoint_score_attribute).value_or(checkpoint.score);
  }
  Triggers& why = checkpoint.triggers;
  if (of.iteration == 0) why.add(Trigger::at_start);
  const bool is_due =
      config.checkpoint_frequency > 0 && of.iteration % config.checkpoint_frequency == 0;
  if (is_due && of.iteration > 0) why.add(Trigger::frequency);
  if (of.stopping && config.checkpoint_at_end) why.add(Trigger::at_end);
  if (of.pausing || of.held) why.add(Trigger::pause);
}

}  // namespace tune
