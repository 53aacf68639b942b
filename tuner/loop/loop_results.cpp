// Loop: a result and what follows from it. Stopper, scheduler, searcher and callbacks are asked,
// the record is committed, then the save and the decision are carried out.
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tuner/loop/loop.h"

namespace tune {

namespace {

/// A sum that starts when it is first reported; a total that the user reports wins.
std::optional<double> total(const Metrics& metrics, const char* total_name, const char* this_name,
                            std::optional<double> before) {
  if (const auto given = metrics.find(total_name)) return given;
  const auto more = metrics.find(this_name);
  return more ? before.value_or(0) + *more : before;
}

std::string names_of(const Metrics& metrics) {
  std::string names;
  for (const auto& metric : metrics.numbers) {
    if (!names.empty()) names += ", ";
    names += metric.name;
  }
  return names.empty() ? "none" : names;
}

}  // namespace

/// The driver's fields around the reported metrics. Throws std::invalid_argument for a result that
/// cannot be taken in.
Result Loop::make_result(const Attempt& attempt, Reported& reported) const {
  const Trial& before = trial(attempt.trial);
  Result result;
  result.metrics = std::move(*reported.metrics);
  result.done = reported.done;
  result.should_checkpoint = reported.should_checkpoint;
  result.training_iteration = before.iteration + 1;
  if (const auto given = result.metrics.find("training_iteration")) {
    if (!(*given > static_cast<double>(before.iteration)) || std::floor(*given) != *given ||
        *given > 9e15) {
      throw std::invalid_argument("it reported training_iteration " + std::to_string(*given) +
                                  " after " + std::to_string(before.iteration) +
                                  ": expected a larger whole number");
    }
    result.training_iteration = static_cast<std::int64_t>(*given);
  }
  for (const auto& [metric, mode] : spec_.objectives) {
    if (result.find(metric)) continue;
    throw std::invalid_argument("the result of iteration " +
                                std::to_string(result.training_iteration) + " lacks the metric '" +
                                metric + "'; it has: " + names_of(result.metrics));
  }
  result.timestamp = ledger_.now();
  result.time_this_iter_s =
      Result::iteration_time(result.metrics, ledger_.steady() - attempt.told_at);
  result.time_total_s = before.time_total_s + result.time_this_iter_s;
  result.time_since_restore = result.time_total_s - before.restored_time_s;
  result.iterations_since_restore = result.training_iteration - before.restored_iteration;
  result.timesteps_total =
      total(result.metrics, "timesteps_total", "timesteps_this_iter", before.timesteps_total);
  result.episodes_total =
      total(result.metrics, "episodes_total", "episodes_this_iter", before.episodes_total);
  if (const auto lacking = lacking_metric(constraints_, result)) {
    throw std::invalid_argument("the result of iteration " +
                                std::to_string(result.training_iteration) + " lacks the metric " +
                                *lacking + "; it has: " + names_of(result.metrics));
  }
  return result;
}

Triggers Loop::triggers(const Attempt& attempt, const Result& result,
                        const Decision& decision) const {
  Triggers met;
  // A function saves by itself, at its reports only; what is about to be replaced is not saved.
  if (processes_.at(*attempt.process).is_function) return met;
  if (decision.action == Action::exploit) return met;
  const CheckpointConfig& config = spec_.checkpoint_config;
  const bool is_end =
      decision.action == Action::stop || attempt.stop_asked || winding_ == Winding::stopping;
  if (config.checkpoint_frequency > 0 &&
      result.training_iteration % config.checkpoint_frequency == 0) {
    met.add(Trigger::frequency);
  }
  if (is_end && config.checkpoint_at_end) met.add(Trigger::at_end);
  if (result.should_checkpoint) met.add(Trigger::result);
  if (decision.checkpoint) met.add(Trigger::scheduler);
  const bool fails_its_clones =
      attempt.save_failed && ledger_.experiment().is_waited_for(attempt.trial);
  if (attempt.save_asked || fails_its_clones) met.add(Trigger::user);
  if (decision.action == Action::pause) met.add(Trigger::pause);
  if (!is_end && winding_ == Winding::interrupted) met.add(Trigger::interrupt);
  return met;
}

void Loop::take_in(Attempt& attempt, Result result, std::optional<std::string> handed_over) {
  const Trial& before = trial(attempt.trial);
  Decision decision = policies_.decide(ledger_.experiment(), before, result);
  if (decision.action == Action::exploit) {
    require_possible(attempt.trial, decision.exploit.value_or(Exploit{attempt.trial, "", ""}));
  }
  Triggers met = triggers(attempt, result, decision);
  told_result_ = result;
  callbacks_.call("on_trial_result",
                  [&](Callback& callback) { callback.on_trial_result(before, told_result_); });
  const bool exploits = decision.action == Action::exploit;
  const bool can_save = !processes_.at(*attempt.process).is_function && !exploits;
  if (told_result_.should_checkpoint && !result.should_checkpoint && can_save) {
    met.add(Trigger::callback);
  }
  if (handed_over && !exploits) met.add(Trigger::result);
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
  ledger_.commit(
      ResultReported{attempt.trial, attempt.number, std::move(result), std::move(decision)});
  if (exploits) after_exploit(attempt.trial, donor);
  if (exploits && handed_over) {
    after_write([this, id = attempt.trial, handed_over] { saver_.discard(id, *handed_over); });
    handed_over.reset();
  }

  if (!attempt.has_result && attempt.source.checkpoint.index != 0) {
    const auto [owner, index] = std::exchange(attempt.source.checkpoint, {});
    saver_.unpin(owner, index);
  }
  attempt.has_result = true;
  attempt.save_failed = false;
  attempt.save_asked = false;
  if (handed_over) {
    take_over(attempt, std::move(*handed_over));
  } else if (met.any()) {
    begin_save(attempt);
  } else {
    carry_out(attempt);
  }
}

/// The function goes on once its directory is out of its hands: it may use the name again.
void Loop::take_over(Attempt& attempt, std::string reported) {
  attempt.phase = Attempt::Phase::saving;
  Save save = attempt.save;
  save.checkpoint.index = saver_.take_index(attempt.trial);
  ++attempt.pending_work;
  saver_.take_over(std::move(save), std::move(reported),
                   [this, id = attempt.trial](std::optional<Save> taken) {
                     Attempt& reporting = *find_attempt(id);  // it cannot end before this
                     --reporting.pending_work;
                     reporting.save_failed = !taken;
                     if (taken) commit_save(reporting, std::move(*taken));
                     if (reporting.phase == Attempt::Phase::saving) {
                       carry_out(reporting);
                     } else {
                       try_to_close(reporting);
                     }
                   });
}

void Loop::begin_save(Attempt& attempt) {
  attempt.phase = Attempt::Phase::saving;
  attempt.save.checkpoint.index = saver_.take_index(attempt.trial);
  const TrialId id = attempt.trial;
  tell("on_trial_save", [this, id](Callback& callback) { callback.on_trial_save(trial(id)); });
  saver_.begin(
      id, attempt.number, attempt.save.checkpoint.index,
      [this, id, number = attempt.number,
       index = attempt.save.checkpoint.index](std::optional<std::filesystem::path> directory) {
        Attempt* const saving = find_attempt(id);
        if (saving == nullptr || saving->number != number || saving->ending) {
          if (directory) saver_.discard({id, index}, number);
          return;
        }
        if (!directory) {
          saving->save_failed = true;
          carry_out(*saving);
          return;
        }
        saving->save.directory = *directory;
        send(*saving->process, protocol::Save{directory->string()});
        saving->told_at = ledger_.steady();
        if (spec_.trial_timeout_s) {
          set_deadline(*find_process(*saving->process), saving->told_at + *spec_.trial_timeout_s);
        }
      });
}

void Loop::commit_save(Attempt& attempt, Save save) {
  save.metrics = trial(attempt.trial).last_metrics.text();
  ++attempt.pending_work;
  saver_.commit(std::move(save), [this, id = attempt.trial](bool committed) {
    Attempt& saved = *find_attempt(id);  // it cannot end before its commits
    --saved.pending_work;
    if (!committed) saved.save_failed = true;
    if (saved.phase == Attempt::Phase::waiting) {
      carry_out(saved);
    } else {
      try_to_close(saved);
    }
  });
}

/// What was decided with the last result, once its save is out of the trainable's hands.
void Loop::carry_out(Attempt& attempt) {
  if (attempt.next == Action::stop) {
    end(attempt, Outcome::completed, "");
  } else if (attempt.stop_asked) {
    end(attempt, Outcome::completed, *attempt.stop_asked);
  } else if (attempt.next == Action::exploit && winding_ != Winding::stopping) {
    end(attempt, Outcome::exploiting, "");
  } else if (winding_ == Winding::interrupted) {
    end(attempt, Outcome::interrupted, "interrupted");
  } else if (winding_ == Winding::stopping) {
    end(attempt, Outcome::completed, ledger_.experiment().stop_reason());
  } else if (attempt.next == Action::pause && attempt.pending_work > 0) {
    attempt.phase = Attempt::Phase::waiting;  // only what is committed can be gone back to
  } else if (attempt.next == Action::pause && !attempt.save_failed) {
    end(attempt, Outcome::paused, "");
  } else {
    step(attempt);
  }
}

void Loop::step(Attempt& attempt) {
  // Where the disk is slower than the training, training waits: saves must not pile up.
  constexpr int max_commits_under_way = 2;
  if (attempt.pending_work >= max_commits_under_way) {
    attempt.next = Action::proceed;
    attempt.phase = Attempt::Phase::waiting;
    return;
  }
  send(*attempt.process, protocol::Step{});
  attempt.phase = Attempt::Phase::training;
  attempt.told_at = ledger_.steady();
  TrialProcess& process = *find_process(*attempt.process);
  set_deadline(process, spec_.trial_timeout_s ? attempt.told_at + *spec_.trial_timeout_s : never_s);
}

}  // namespace tune
