// What a checkpoint is to its own trial.
#pragma once

#include <algorithm>

#include "tuner/model/trial.h"

namespace tune {

/// Whether the trial saved `own` after its last cloning: what it saved before counts no more.
inline bool is_of_present(const Trial& trial, const Checkpoint& own) {
  const Cloning* const cloning = trial.present_cloning();
  return cloning == nullptr || own.index > cloning->saves;
}

/// Whether `checkpoint`, which is the trial's own, is of a later iteration than the trial's last
/// result: the program trained on while it was being paused. A restore to it takes nothing back.
inline bool is_ahead_of(const Checkpoint& checkpoint, TrialId owner, const Trial& trial) {
  return owner == trial.id && checkpoint.iteration > trial.iteration &&
         is_of_present(trial, checkpoint);
}

/// Whether what goes on from it may be at a later iteration than it says: nothing proved which
/// result it has, or that result's number is a guess.
inline bool goes_on_from_guess(const Checkpoint& checkpoint, const Trial& owner) {
  return checkpoint.is_guess || owner.is_guess(std::min(checkpoint.iteration, owner.iteration));
}

}  // namespace tune
