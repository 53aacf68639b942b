// Attempts: saves, from the directory that is asked for to the commit, and directories that a
// function hands over.
#include <algorithm>
#include <utility>

#include "tuner/run/trials/attempts.h"

namespace tune {

namespace {

std::optional<int> slowest_rank(const std::vector<RankPart>& parts) {
  if (parts.empty()) return std::nullopt;
  return std::max_element(parts.begin(), parts.end(),
                          [](const RankPart& a, const RankPart& b) { return a.save_s < b.save_s; })
      ->rank;
}

}  // namespace

void Attempts::begin_save(Attempt& attempt) {
  const int index = checkpoint_manager_.take_index(attempt.trial);
  attempt.save.checkpoint.index = index;
  attempt.life.apply(AttemptEvent::open_save);
  const TrialId id = attempt.trial;
  tell("on_trial_save", [this, id](Callback& callback) { callback.on_trial_save(trial(id)); });
  checkpoint_manager_.begin(
      id, attempt.number, index,
      [this, id, number = attempt.number, index](std::optional<std::filesystem::path> directory) {
        Attempt* const saving = find(id);
        const bool is_wanted = saving != nullptr && saving->number == number &&
                               saving->save.checkpoint.index == index &&
                               saving->life.state() == AttemptState::opening_save;
        if (!is_wanted) {
          if (directory) checkpoint_manager_.discard({id, index}, number);
        } else if (!directory) {
          saving->save_failed = true;
          carry_out(*saving);
        } else {
          saving->life.apply(AttemptEvent::save);
          saving->save.directory = *directory;
          saving->worker_group->save(*directory, trial(id).iteration);
        }
      });
}

void Attempts::on(Attempt& attempt, const WorkerGroup::Saved& saved) {
  Save& save = attempt.save;
  save.checkpoint.save_s = committer_.steady() - attempt.worker_group->told_at();
  if (saved.error) {
    attempt.save_failed = true;
    checkpoint_manager_.fail(save, *saved.error);
  } else {
    save.metrics = attempt.has_result ? trial(attempt.trial).last_metrics.text() : "{}";
    save.parts = saved.parts;
    save.checkpoint.slowest_rank = slowest_rank(saved.parts);
    commit_save(attempt, save);
    save.parts.clear();
  }
  save.directory.clear();
  carry_out(attempt);
}

/// The function goes on once its directory is out of its hands: it may use the name again.
void Attempts::adopt_checkpoint(Attempt& attempt, std::vector<std::string> reported) {
  Save save = attempt.save;
  save.checkpoint.index = checkpoint_manager_.take_index(attempt.trial);
  attempt.life.apply(AttemptEvent::hand_over);
  ++attempt.pending_work;
  checkpoint_manager_.adopt_checkpoint(
      std::move(save), std::move(reported), [this, id = attempt.trial](std::optional<Save> taken) {
        Attempt& reporting = must_find(id);
        --reporting.pending_work;
        reporting.save_failed = !taken;
        if (taken) {
          taken->metrics = trial(id).last_metrics.text();
          commit_save(reporting, std::move(*taken));
        }
        reporting.life.is_ending() ? try_to_close(reporting) : carry_out(reporting);
      });
}

void Attempts::commit_save(Attempt& attempt, Save save) {
  ++attempt.pending_work;
  checkpoint_manager_.commit(std::move(save), [this, id = attempt.trial](bool committed) {
    Attempt& saved = must_find(id);
    --saved.pending_work;
    if (!committed) saved.save_failed = true;
    copy_found(saved);
    if (saved.life.is_blocked()) {
      carry_out(saved);
    } else {
      try_to_close(saved);
    }
  });
}

}  // namespace tune
