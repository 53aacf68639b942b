// Where a trial's model comes from: which trials trained it before, and under which configs.
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

/// The trial's current stretch: a cloning that has not started has changed nothing yet.
Stretch present_stretch(const Trial& trial);

/// JSON text of the config under which it trained.
std::string config_of(const Experiment& experiment, const Stretch& stretch);

/// The config under which the trial has reported its results: a table that shows both must show
/// this one. `Trial::config` is the clone's config already before the cloning starts, which it
/// never does if the trial ends first.
std::string present_config(const Trial& trial);
/// The tag of `present_config`; empty also where an older snapshot does not have it.
const std::string& present_tag(const Trial& trial);

/// The iteration after which the stretch began: 0, or that of the checkpoint it went on from.
std::int64_t first_iteration(const Experiment& experiment, const Stretch& stretch);
/// Whether that may be a later one.
bool first_is_guess(const Experiment& experiment, const Stretch& stretch);
/// The last iteration up to the present one that the trial has reported itself, and not a donor: of
/// its rows that no restore has taken back, the last. 0: there is none, or that is not known.
std::int64_t last_own_iteration(const Trial& trial);

/// The last iteration of the stretch so far.
std::int64_t last_iteration(const Experiment& experiment, const Stretch& stretch);
/// Whether that may be a later one.
bool last_is_guess(const Experiment& experiment, const Stretch& stretch);

/// The stretch that saved the checkpoint from which this one went on; nothing: it began from
/// scratch.
std::optional<Stretch> origin_of(const Experiment& experiment, const Stretch& stretch);

/// Iterations after `from` up to `to`, trained under one config.
struct ScheduleStep {
  Stretch stretch;
  std::int64_t from = 0;
  std::int64_t to = 0;
  bool from_is_guess = false;  ///< it may be a later one
  bool to_is_guess = false;    ///< likewise
};

/// How the trial's present model was trained, oldest first, in the trial and in its donors.
/// Stretches without an iteration in that model are left out; the last step is the present stretch.
std::vector<ScheduleStep> schedule_of(const Experiment& experiment, TrialId id);

/// The last iteration of the trial's present model that another trial has trained; 0: there is
/// none.
std::int64_t last_donated_iteration(const Experiment& experiment, TrialId id);

/// The numbers of `metric` that the trial, and those whose copy it is, have reported; nothing: none
/// of them has one.
std::optional<ValueRange> reported_range(const Experiment& experiment, TrialId id,
                                         std::string_view metric);

/// The clonings that have taken effect, of all trials, in the order in which they did: each is
/// named by the stretch that it began.
std::vector<Stretch> started_clonings(const Experiment& experiment);

}  // namespace tune
