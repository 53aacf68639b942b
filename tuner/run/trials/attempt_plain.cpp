// Attempts: programs that know nothing of the driver. What they save by themselves, and what it
// means that they end by themselves.
#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tuner/model/paths.h"
#include "tuner/run/trials/attempts.h"

namespace tune {

/// It has trained to its end: to start it again would train nothing, whatever was decided with the
/// result that it was to wait with. From now on a pause does not hold it.
void Attempts::on(Attempt& attempt, const WorkerGroup::AtEnd&) {
  const bool was_to_wait = attempt.ending && (attempt.ending->outcome == Outcome::paused ||
                                              (trial(attempt.trial).held && !shutdown_));
  if (!was_to_wait || trial(attempt.trial).stopping ||
      !attempt.life.accept(AttemptEvent::ran_to_end)) {
    attempt.worker_group->leave(WorkerGroup::StopLevel::request);
    return;
  }
  attempt.ending.reset();
  step(attempt);
}

/// It is a copy that begins where its donor's training had ended: what it refuses then is to train
/// nothing. Of any other refusal that is not known.
bool Attempts::has_nothing_to_train(const Attempt& attempt) const {
  const auto [owner, index] = attempt.source.checkpoint;
  if (!spec_.plain || attempt.has_result || index == 0 || owner == attempt.trial) return false;
  const Trial& donor = trial(owner);
  const Checkpoint* const from = donor.checkpoint(index);
  return from != nullptr && donor.end() == TrialEnd::completed &&
         from->iteration >= donor.iteration;
}

/// Of one that was restored, and has no new result.
std::string Attempts::nothing_left(const Attempt& attempt) const {
  const TrialId owner = attempt.source.checkpoint.trial;
  const Trial& restored = trial(attempt.trial);
  return "nothing was left to train after iteration " +
         iteration_text(restored.iteration, restored.is_at_guess()) +
         (owner == attempt.trial ? "" : " of " + to_string(owner) + ", whose copy it is");
}

/// It has said by its exit code that it has saved, and is to be run again. Of one that comes to
/// nothing between that is no end.
bool Attempts::has_left_to_go_on(const Attempt& attempt, const WorkerGroup::Gone& gone) const {
  if (!spec_.plain || !spec_.plain->checkpoints) return false;
  const auto& code = spec_.plain->checkpoints->exit_code;
  return gone.how == WorkerGroup::Gone::How::exited && gone.signal == 0 && code &&
         gone.exit_code == *code && (attempt.has_result || attempt.has_checkpoint_of_own);
}

/// What a checkpoint would say of this result, if the program turns out to have made one.
void Attempts::note_for_checkpoints(Attempt& attempt) {
  constexpr std::size_t most_results = 256;
  if (attempt.results.size() >= most_results) attempt.results.pop_front();
  Save& save = attempt.results.emplace_back(attempt.save);
  save.metrics = trial(attempt.trial).last_metrics.text();
}

/// A program may save anew what it was restored from, before its next result: that has the same
/// one. A clone has no result of its own yet.
void Attempts::note_restored(Attempt& attempt) const {
  const auto [owner, index] = attempt.source.checkpoint;
  const bool is_own = index != 0 && owner == attempt.trial;
  const Checkpoint* const from = is_own ? trial(owner).checkpoint(index) : nullptr;
  if (from == nullptr || from->is_guess || !attempt.source.plain.ahead.empty()) return;
  Save& save = attempt.results.emplace_back(attempt.save);
  save.checkpoint.iteration = from->iteration;
  save.checkpoint.time_total_s = from->time_total_s;
  save.checkpoint.timesteps_total = from->timesteps_total;
  save.checkpoint.episodes_total = from->episodes_total;
  save.checkpoint.score = from->score;
  save.metrics = attempt.source.plain.metrics.text;
}

Save Attempts::save_of(const Attempt& attempt, std::int64_t iteration) const {
  const auto is_it = [iteration](const Save& save) {
    return save.checkpoint.iteration == iteration;
  };
  const auto found = std::find_if(attempt.results.rbegin(), attempt.results.rend(), is_it);
  Save save = attempt.save;
  if (found != attempt.results.rend()) {
    save = *found;
  } else {
    save.metrics = "{}";
    save.checkpoint = {};
    save.checkpoint.iteration = iteration;
    save.checkpoint.time_total_s = trial(attempt.trial).restored_time_s;
  }
  save.directory.clear();
  save.checkpoint.triggers = {};
  save.checkpoint.triggers.add(Trigger::result);
  return save;
}

/// What it prints and saves behind its last result is of use to who comes back for it. A trial that
/// was stopped has no iterations behind that, and neither has one that becomes another's clone.
bool Attempts::goes_on_later(const Attempt& attempt) const {
  if (!attempt.ending || trial(attempt.trial).stopping) return false;
  const Outcome outcome = attempt.ending->outcome;
  return outcome == Outcome::paused || outcome == Outcome::interrupted;
}

void Attempts::on(CheckpointFound& wakeup) {
  const WorkerGroup* const saving = worker_groups_.of(wakeup.launch);
  Attempt* const attempt = saving != nullptr && saving->trial ? find(*saving->trial) : nullptr;
  if (attempt == nullptr || attempt->life.state() == AttemptState::preparing) return;
  if (!wakeup.ahead.empty() && !goes_on_later(*attempt)) return;
  note_found(*attempt, std::move(wakeup));
  copy_found(*attempt);
}

void Attempts::on(LaunchAdvisory& wakeup) {
  const WorkerGroup* const of = worker_groups_.of(wakeup.launch);
  const Attempt* const attempt = of != nullptr && of->trial ? find(*of->trial) : nullptr;
  if (attempt == nullptr) return;
  if (wakeup.what == LaunchAdvisory::What::too_late && !goes_on_later(*attempt)) return;
  advice_.on_launch_advisory(attempt->trial, wakeup);
}

/// What is saved anew under its name replaces what was there. Where the disk is slower than the
/// saving, the oldest ones are left out: its end waits for all that are not.
void Attempts::note_found(Attempt& attempt, CheckpointFound found) {
  constexpr std::size_t most_waiting = 16;
  std::erase_if(attempt.found, [&](const CheckpointFound& waiting) {
    return waiting.files.name == found.files.name;
  });
  if (attempt.found.size() >= most_waiting) attempt.found.pop_front();
  attempt.found.push_back(std::move(found));
}

void Attempts::copy_found(Attempt& attempt) {
  const auto is_clone = [](const Attempt& of) {
    return of.next == Action::exploit || (of.ending && of.ending->outcome == Outcome::exploiting);
  };
  if (is_clone(attempt)) attempt.found.clear();
  if (attempt.found.empty() || attempt.pending_work > 0) return;
  CheckpointFound found = std::move(attempt.found.front());
  attempt.found.pop_front();
  attempt.has_checkpoint_of_own = true;
  Save save = found.ahead.empty() ? save_of(attempt, found.iteration)
                                  : save_ahead(attempt, std::move(found.ahead));
  save.checkpoint.index = checkpoint_manager_.take_index(attempt.trial);
  save.checkpoint.is_guess = found.is_guess;
  save.checkpoint.order = found.order;
  save.checkpoint.kind = found.kind;
  save.counts = std::move(found.counts);
  ++attempt.pending_work;
  checkpoint_manager_.copy(
      std::move(save), std::move(found.files),
      [this, is_clone, id = attempt.trial](std::optional<Save> copied) {
        Attempt& saved = must_find(id);
        --saved.pending_work;
        if (copied && is_clone(saved)) {
          checkpoint_manager_.discard({id, copied->checkpoint.index}, copied->attempt);
        } else if (copied) {
          return commit_save(saved, *std::move(copied));
        }
        copy_found(saved);
        saved.life.is_blocked() ? carry_out(saved) : try_to_close(saved);
      });
}

/// Of results that the trial has not come to.
Save Attempts::save_ahead(const Attempt& attempt, std::vector<PrintedResult> ahead) const {
  Save save = save_of(attempt, trial(attempt.trial).iteration);
  const PrintedResult& last = ahead.back();
  save.checkpoint.iteration = last.iteration;
  save.metrics = last.metrics.text;
  if (const auto& attribute = spec_.checkpoint_config.checkpoint_score_attribute) {
    save.checkpoint.score =
        last.metrics.find(*attribute).value_or(std::numeric_limits<double>::quiet_NaN());
  }
  for (const PrintedResult& result : ahead) {
    save.checkpoint.time_total_s += Result::iteration_time(result.metrics, result.took_s);
    save.results.push_back({result.iteration, text_with_time(result)});
  }
  return save;
}

}  // namespace tune
