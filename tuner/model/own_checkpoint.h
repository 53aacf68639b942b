// What a checkpoint is to its own trial.
#pragma once

#include "tuner/model/trial.h"

namespace tune {

/// And not of what the trial was before it became a clone: of that nothing counts.
inline bool is_of_present(const Trial& trial, const Checkpoint& own) {
  const Cloning* const cloning = trial.present_cloning();
  return cloning == nullptr || own.index > cloning->saves;
}

/// Whether `checkpoint` of `owner` has iterations that the trial has not come to, though they are
/// its own: it trained on while it was being paused. To be restored to it takes nothing back.
inline bool is_ahead_of(const Checkpoint& checkpoint, TrialId owner, const Trial& trial) {
  return owner == trial.id && checkpoint.iteration > trial.iteration &&
         is_of_present(trial, checkpoint);
}

}  // namespace tune
