// Marks the trial of each event as changed (dirty set).
#include "tuner/run/commit/trial_changes.h"

namespace tune {

void TrialChanges::note(const Event& event) {
  const auto trial = trial_of(event.body);
  if (!trial) return;
  if (std::holds_alternative<AttemptEnded>(event.body)) ended_.push_back(*trial);
  mark(*trial);
  const auto* const damaged = std::get_if<CheckpointDamaged>(&event.body);
  if (damaged != nullptr && damaged->clone) mark(*damaged->clone);
}

void TrialChanges::mark(TrialId trial) {
  if (index_of(trial) >= is_marked_.size()) is_marked_.resize(index_of(trial) + 1);
  if (is_marked_[index_of(trial)]) return;
  is_marked_[index_of(trial)] = true;
  changed_.push_back(trial);
}

}  // namespace tune
