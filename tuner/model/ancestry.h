// Where a trial's model comes from: through whose hands it went, under which configs.
// Reads an experiment, changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/experiment.h"

namespace tune {

/// What a trial is between two of its clonings: one model under one config.
struct Stretch {
  TrialId trial{};
  std::size_t number = 0;  ///< 0: before the first; k: since `lineage[k - 1]`
  bool operator==(const Stretch&) const = default;
};

/// The one that the trial is in: a cloning that has not started has changed nothing yet.
Stretch present_stretch(const Trial& trial);

/// JSON text of the config under which it trained.
std::string config_of(const Experiment& experiment, const Stretch& stretch);

/// That of what the trial has reported: whoever shows both must take this one. `Trial::config` is
/// already that of a clone while its cloning has not started, or never does since the trial ends.
std::string present_config(const Trial& trial);

/// The iteration that it began after: 0, or that of the checkpoint it went on from.
std::int64_t first_iteration(const Experiment& experiment, const Stretch& stretch);
/// The last one that it came to, so far.
std::int64_t last_iteration(const Experiment& experiment, const Stretch& stretch);

/// Where the checkpoint was saved that it went on from; nothing if it began from scratch.
std::optional<Stretch> origin_of(const Experiment& experiment, const Stretch& stretch);

/// Iterations after `from` up to `to`, trained under one config.
struct ScheduleStep {
  Stretch stretch;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// How the trial's present model was trained, oldest first, over all whose copy it is. Stretches
/// of which it took over nothing are left out; the last one is its present one.
std::vector<ScheduleStep> schedule_of(const Experiment& experiment, TrialId id);

/// The clonings that have taken effect, of all trials, in the order in which they did: each is
/// named by the stretch that it began.
std::vector<Stretch> started_clonings(const Experiment& experiment);

}  // namespace tune
