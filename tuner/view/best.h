// Sentences about the best trial: how it ended, and how far its checkpoint is from its best result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tuner/result_grid.h"

namespace tune {

/// "trial_00003"; "trial_00003, pruned" if it is not completed.
std::string named_with_state(const Trial& trial);

/// Why there is no best trial of an experiment that is judged by this metric: nothing has been
/// reported, or no number, or nothing that fulfils the constraints.
std::string no_best_text(const ResultGrid& grid, const Objective& objective);

/// "0.25 at its best (iteration 7), 0.31 at the last iteration, 12".
std::string best_and_last_text(const ResultGrid& grid, const Trial& trial,
                               const Objective& objective);
/// Of a trial that went on with another config from a checkpoint of its own: that what it had
/// reported before does not count, and how good that was. Else empty.
std::string before_change_text(const ResultGrid& grid, const Trial& trial,
                               const Objective& objective);

/// Its path with its iteration and score, and of which iteration the best result is if that is
/// another one, with the name of a lower-ranked checkpoint that is as good. Null: "none", and why,
/// and which trial has one that is as good by `scope`.
std::string checkpoint_text(const ResultGrid& grid, const Trial& trial,
                            const Checkpoint* checkpoint, const Objective& objective, Scope scope);

/// "trial_00003: why its last save that failed did", of the last trial of which one has; empty:
/// none has, or nobody has recorded why.
std::string last_save_error(const Experiment& experiment);

/// Why the trial has no checkpoint, and what would have kept one; empty if it has one.
std::string why_no_checkpoint(const ExperimentSpec& spec, const Trial& trial);

/// "; trial_00004 is as good and has one" of the first other trial that is; empty if none is, or if
/// the trial has one itself. The best trial is the first one all the same, for whoever asks.
std::string equal_with_checkpoint(const ResultGrid& grid, const Trial& trial,
                                  const Objective& objective, Scope scope);

}  // namespace tune
