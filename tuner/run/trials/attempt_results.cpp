// Attempts: what worker groups come to, a result, and what follows from it. Stopper, scheduler,
// searcher and callbacks are asked, the record is committed, then the save and the decision are
// carried out.
#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/run/trials/attempts.h"
#include "tuner/run/trials/diagnosis.h"
#include "tuner/run/trials/make_result.h"

namespace tune {

namespace {

/// Whoever ends all processes of a job does not end them at one time.
constexpr Seconds outside_signal_s = 2;

bool saves_by_hooks(const CheckpointConfig& config) {
  return config.checkpoint_frequency > 0 || config.checkpoint_at_end;
}

constexpr std::string_view run_again = "it has saved and is run again (checkpoint_exit_code)";

}  // namespace

void Attempts::look_at_deadlines() {
  while (WorkerGroup* const late = worker_groups_.late()) follow(*late, late->on_timeout());
  look_at_awaiting();
  look_at_logs();
  look_at_kept();
  look_for_hangs();
}

void Attempts::follow(WorkerGroup& worker_group, WorkerGroup::WorkerEvent heard) {
  Attempt* const attempt = worker_group.trial ? find(*worker_group.trial) : nullptr;
  if (attempt != nullptr) {
    std::visit([&](auto& what) { on(*attempt, what); }, heard);
  } else if (std::holds_alternative<WorkerGroup::AtEnd>(heard)) {
    worker_group.leave(WorkerGroup::StopLevel::request);
  } else if (!worker_group.has_processes() || worker_group.state() != WorkerGroup::State::idle) {
    std::erase(idle_, &worker_group);
    if (const auto waited_for = kept_.find(worker_group)) kept_.remove(*waited_for);
    if (!worker_group.has_processes()) put_away(worker_group);
  }
}

void Attempts::on(Attempt& attempt, const WorkerGroup::Started& started) {
  committer_.commit(
      ProcessStarted{attempt.trial, attempt.number, started.pid, started.start_ticks});
}

void Attempts::on(Attempt& attempt, const WorkerGroup::Ready&) {
  if (!attempt.worker_group->can_save() && saves_by_hooks(spec_.checkpoint_config)) {
    throw user_error(
        "checkpoint_frequency and checkpoint_at_end need a trainable with save and load hooks; "
        "this one is a function, which saves by giving a directory to report(): remove both from "
        "checkpoint_config");
  }
  advice_.on_ready(*attempt.worker_group);
  if (spec_.checkpoint_config.checkpoint_at_start && !attempt.worker_group->can_save_at_start()) {
    throw user_error(
        "checkpoint_at_start needs a trainable that can save before its first step; this one does "
        "not say can_save_at_start in its hello (docs/protocol.md): remove it from "
        "checkpoint_config");
  }
  if (attempt.life.state() == AttemptState::starting) set_out(attempt);
}

/// To its first step; of a trial that has nothing to go on from, by way of a checkpoint of that.
void Attempts::set_out(Attempt& attempt) {
  if (!spec_.checkpoint_config.checkpoint_at_start || attempt.source.checkpoint.index != 0) {
    step(attempt);
    return;
  }
  attempt.save.checkpoint = Checkpoint{};
  attempt.save.checkpoint.triggers.add(Trigger::at_start);
  begin_save(attempt);
}

void Attempts::on(Attempt& attempt, const WorkerGroup::Replaced&) {
  (void)attempt.life.accept(AttemptEvent::replaced);
  if (!attempt.save.directory.empty()) {
    checkpoint_manager_.discard({attempt.trial, attempt.save.checkpoint.index}, attempt.number);
    attempt.save.directory.clear();
  }
  if (shutdown_) end(attempt, Outcome::interrupted, shutdown_.why_attempts_end());
}

void Attempts::on(Attempt& attempt, WorkerGroup::Stepped& stepped) {
  note_step(attempt);
  Reported& reported = stepped.reported;
  if (!reported.metrics) {
    if (!reported.done) {
      end(attempt, Outcome::failed, "it reported neither metrics nor that it is done");
    } else if (trial(attempt.trial).iteration == 0) {
      end(attempt, Outcome::failed, "it ended before its first result");
    } else {
      on_returned(attempt, reported.can_save);
    }
    return;
  }
  if (attempt.life.is_draining()) advice_.on_ran_to_end(trial(attempt.trial));
  Result result;
  try {
    Seconds took_s = committer_.steady() - attempt.worker_group->told_at();
    // Unless the user wants it as a metric.
    if (spec_.plain && !find_objective(spec_.objectives, "time_this_iter_s") &&
        std::none_of(spec_.plain->metrics.begin(), spec_.plain->metrics.end(),
                     [](const PlainMetric& each) { return each.name == "time_this_iter_s"; })) {
      const auto said_s = take_time(*reported.metrics);
      if (said_s && *said_s > 0) took_s = *said_s;
    }
    result = make_result({spec_.objectives, constraints_}, trial(attempt.trial),
                         std::move(*reported.metrics), committer_.now(), took_s);
  } catch (const std::invalid_argument& bad_result) {
    circuit_breaker_.on_unfit_result();
    end(attempt, Outcome::failed, bad_result.what());
    return;
  }
  attempt.can_save = !attempt.worker_group->is_function() || reported.can_save;
  if (!attempt.has_result) {
    advice_.on_first_result(result.metrics, attempt.can_save);
  }
  result.done = reported.done;
  result.should_checkpoint = reported.should_checkpoint;
  result.iteration_is_guess = reported.iteration_is_guess;
  std::vector<std::string> handed_over;
  if (reported.checkpoint) {
    handed_over = std::move(reported.more_checkpoints);
    handed_over.insert(handed_over.begin(), *std::move(reported.checkpoint));
    std::set<std::string> seen;
    std::erase_if(handed_over, [&](const std::string& name) { return !seen.insert(name).second; });
  }
  process_result(attempt, std::move(result), std::move(handed_over));
}

/// Which report is its last one a function knows only when it has returned. It may be able to save
/// even then.
void Attempts::on_returned(Attempt& attempt, bool can_save) {
  attempt.ended_by = EndedBy::done;
  const bool is_saved = attempt.save.checkpoint.triggers.any() && !attempt.save_failed;
  const bool is_to_save =
      spec_.checkpoint_config.checkpoint_at_end && !spec_.plain && attempt.has_result && !is_saved;
  if (is_to_save && can_save) {
    if (!attempt.stop_asked) attempt.stop_asked = std::string(said_done);
    attempt.save.checkpoint.triggers.add(Trigger::at_end);
    begin_save(attempt);
    return;
  }
  if (is_to_save) advice_.on_returned_unsaved(attempt.trial);
  const bool is_donors = !attempt.has_result && attempt.source.checkpoint.index != 0 &&
                         attempt.source.checkpoint.trial != attempt.trial;
  end(attempt, Outcome::completed, is_donors ? nothing_left(attempt) : std::string(said_done));
}

void Attempts::on(Attempt& attempt, const WorkerGroup::Failed& failed) {
  end(attempt, Outcome::failed, failed.reason);
}

void Attempts::on(Attempt& attempt, const WorkerGroup::Overdue& overdue) {
  if (attempt.stop_asked) {
    attempt.worker_group->leave(WorkerGroup::StopLevel::sigterm);
    end(attempt, Outcome::completed, *attempt.stop_asked);
  } else {
    end(attempt, Outcome::failed, overdue.reason);
  }
}

void Attempts::on(Attempt& attempt, const WorkerGroup::Gone& gone) {
  const bool is_expected = attempt.life.accept(AttemptEvent::gone);
  if (attempt.life.is_ending()) {
    if (gone.how == WorkerGroup::Gone::How::lost) callbacks_.notice(gone.reason);
    advice_.on_not_stayed(attempt.trial, *attempt.worker_group);
    try_to_close(attempt);
    return;
  }
  if (is_expected) return;  // idle processes have gone: others are launched
  advice_.on_gone(attempt.trial, gone);
  if (is_machines_fault(gone, attempt.has_result)) {
    attempt.was_unfit_to_start = true;
    circuit_breaker_.on_launch_failed(attempt.trial, machines_fault(gone), committer_.steady());
  }
  Ending ending = ending_of(gone, attempt.has_result, attempt.failure);
  attempt.lost_node = gone.how == WorkerGroup::Gone::How::node_lost;
  if (has_left_to_go_on(attempt, gone)) ending = {Outcome::interrupted, std::string(run_again)};
  const bool has_refused = ending.outcome == Outcome::failed && gone.signal == 0 &&
                           gone.how == WorkerGroup::Gone::How::exited;
  if (has_refused && has_nothing_to_train(attempt)) {
    ending = {Outcome::completed, nothing_left(attempt) + "; " + ending.reason};
  }
  if (attempt.leaves_node && is_ended_from_outside(gone)) {
    ending = {Outcome::interrupted, std::string(node_ends)};
  } else if (shutdown_.kind == ShutdownState::Kind::interrupted &&
             ending.outcome == Outcome::completed) {
    // It may have been told to leave from outside, before its end; see end_record for failures.
    ending = {Outcome::interrupted, shutdown_.why_attempts_end()};
  } else if (!shutdown_ && is_ended_from_outside(gone)) {
    attempt.awaits_until = committer_.steady() + outside_signal_s;
    awaiting_.push_back(attempt.trial);
    return end(attempt, std::move(ending), AttemptEvent::signalled);
  }
  end(attempt, std::move(ending));
}

Triggers Attempts::triggers(const Attempt& attempt, const Result& result,
                            const Decision& decision) const {
  Triggers met;
  // Most functions save by themselves, at their reports only; what is about to be replaced is not
  // saved.
  if (!attempt.can_save) return met;
  if (decision.action == Action::exploit) return met;
  const CheckpointConfig& config = spec_.checkpoint_config;
  const bool is_end = decision.action == Action::stop || attempt.stop_asked;
  if (config.checkpoint_frequency > 0 &&
      result.training_iteration % config.checkpoint_frequency == 0) {
    met.add(Trigger::frequency);
  }
  if (is_end && config.checkpoint_at_end) met.add(Trigger::at_end);
  if (result.should_checkpoint) met.add(Trigger::result);
  if (decision.checkpoint) met.add(Trigger::scheduler);
  const bool fails_its_clones =
      attempt.save_failed && committer_.experiment().is_waited_for(attempt.trial);
  if (attempt.save_asked) met.add(Trigger::user);
  if (attempt.clone_waits || fails_its_clones) met.add(Trigger::clone);
  const bool is_held = trial(attempt.trial).held && !is_end;
  if (decision.action == Action::pause || is_held) met.add(Trigger::pause);
  if (!is_end && (shutdown_ || attempt.leaves_node)) met.add(Trigger::interrupt);
  return met;
}

/// Whether a callback wants a checkpoint of it, or the trainable does.
bool Attempts::tell_result(const Trial& before, const Result& result) {
  if (callbacks_.empty()) return result.should_checkpoint;
  told_result_ = result;
  callbacks_.call("on_trial_result",
                  [&](Callback& callback) { callback.on_trial_result(before, told_result_); });
  return told_result_.should_checkpoint;
}

void Attempts::process_result(Attempt& attempt, Result&& result,
                              std::vector<std::string> handed_over) {
  circuit_breaker_.on_result(attempt.began_at);
  lost_in_a_row_.erase(attempt.trial);
  if (const auto node = only_node(attempt)) node_health_.on_result(*node, attempt.began_at);
  const Trial& before = trial(attempt.trial);
  advice_.on_result(attempt, before, result);
  Decision decision = policies_.decide(committer_.experiment(), before, result);
  if (decision.action == Action::exploit) {
    require_possible(attempt.trial, decision.exploit.value_or(Exploit{attempt.trial, "", ""}));
  }
  Triggers met = triggers(attempt, result, decision);
  const bool is_wished_for = tell_result(before, result);
  const bool exploits = decision.action == Action::exploit;
  const bool can_save = attempt.can_save && !exploits;
  if (is_wished_for && !result.should_checkpoint && can_save) met.add(Trigger::callback);
  if (!handed_over.empty() && !exploits) met.add(Trigger::result);
  decision.checkpoint = met.any();

  Checkpoint& checkpoint = attempt.save.checkpoint;
  checkpoint = Checkpoint{};
  checkpoint.triggers = met;
  checkpoint.iteration = result.training_iteration;
  checkpoint.time_total_s = result.time_total_s;
  checkpoint.timesteps_total = result.timesteps_total;
  checkpoint.episodes_total = result.episodes_total;
  if (const auto& attribute = spec_.checkpoint_config.checkpoint_score_attribute) {
    checkpoint.score = result.find(*attribute).value_or(checkpoint.score);
  }
  attempt.next = decision.action;
  const auto donor = before.donor;
  committer_.commit(
      ResultReported{attempt.trial, attempt.number, std::move(result), std::move(decision)});
  if (exploits) after_exploit(attempt.trial, donor);
  advice_.on_recorded(trial(attempt.trial));

  if (exploits) {
    for (const std::string& each : std::exchange(handed_over, {})) {
      after_write_.add([this, id = attempt.trial, each] { checkpoint_manager_.discard(id, each); });
    }
  }
  if (!attempt.has_result && attempt.source.checkpoint.index != 0) {
    const auto [owner, index] = std::exchange(attempt.source.checkpoint, {});
    checkpoint_manager_.unpin(owner, index);
  }
  attempt.has_result = true;
  if (spec_.plain && spec_.plain->checkpoints) note_for_checkpoints(attempt);
  attempt.save_failed = false;
  attempt.save_asked = attempt.clone_waits = false;
  if (!handed_over.empty()) {
    adopt_checkpoint(attempt, std::move(handed_over));
  } else if (met.any()) {
    begin_save(attempt);
  } else {
    carry_out(attempt);
  }
}

/// What was decided with the last result, once its save is out of the trainable's hands.
void Attempts::carry_out(Attempt& attempt) {
  const bool is_held = trial(attempt.trial).held.has_value();
  if (attempt.next == Action::stop) {
    end(attempt, Outcome::completed, "");
  } else if (attempt.stop_asked) {
    end(attempt, Outcome::completed, *attempt.stop_asked);
  } else if (attempt.next == Action::exploit) {
    end(attempt, Outcome::exploiting, "");
  } else if (attempt.life.is_draining()) {
    step(attempt);
  } else if (shutdown_) {
    end(attempt, Outcome::interrupted, shutdown_.why_attempts_end());
  } else if ((attempt.next == Action::pause || is_held) && attempt.pending_work > 0 &&
             !spec_.plain) {
    attempt.life.apply(AttemptEvent::block);  // only what is committed can be gone back to
  } else if (attempt.next == Action::pause && !attempt.save_failed) {
    end(attempt, Outcome::paused, "");
  } else if (is_held && !attempt.save_failed &&
             (spec_.plain || attempt.save.checkpoint.triggers.any())) {
    end(attempt, Outcome::interrupted, std::string(paused_by_user));
  } else if (attempt.leaves_node && !attempt.save_failed &&
             (spec_.plain ? can_keep_state(spec_) : attempt.save.checkpoint.triggers.any())) {
    end(attempt, Outcome::interrupted, std::string(node_ends));
  } else {
    step(attempt);
  }
}

void Attempts::step(Attempt& attempt) {
  // Where the disk is slower than the training, training waits: saves must not pile up.
  constexpr int max_commits_under_way = 2;
  if (attempt.pending_work >= max_commits_under_way) {
    attempt.next = Action::proceed;
    attempt.life.apply(AttemptEvent::block);
    return;
  }
  attempt.life.apply(AttemptEvent::step);
  attempt.worker_group->step(trial(attempt.trial).iteration + 1);
}

}  // namespace tune
