// A read-only view of an experiment as it is on disk now.
// Locks and changes nothing, also while a driver runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/control/control.h"
#include "tuner/disk/lock.h"
#include "tuner/remote/pull.h"
#include "tuner/result_grid.h"
#include "tuner/run/commit/recovery.h"

namespace tune {

struct ExperimentView {
  ResultGrid grid;
  std::uint64_t kept_checkpoints = 0;  ///< committed and not deleted since
  std::optional<Driver> driver;        ///< who drives it now
  /// Set if it was pulled as a copy and was not continued here.
  std::optional<CopyNote> copy;
  /// Damage that was made up for, and an unfinished end; none while a driver writes, which has
  /// such an end all the time.
  std::vector<std::string> notices;
};

/// Error (user) if there is no experiment in `directory`.
void require_experiment(const std::filesystem::path& directory);

bool is_experiment(const std::filesystem::path& directory);

/// The experiments directly in `directory`, sorted by name.
std::vector<std::filesystem::path> experiments_in(const std::filesystem::path& directory);

/// Reads on the way what else is wanted of the record, under the spec as it was at the start.
using MakeReader = std::function<std::unique_ptr<ExperimentReader>(Experiment& experiment,
                                                                   const ExperimentSpec& spec)>;

/// Reads the journal once; with another reader than that of the state alone, if one is given.
/// Error (user) if there is no experiment in `directory`.
ExperimentView view_experiment(const std::filesystem::path& directory,
                               const MakeReader& make_reader = {});

/// What a driver says that it waits for.
struct Awaited {
  std::optional<ControlAnswer> answer;
  /// Why there is no answer although a driver runs on this machine, as a sentence. Empty also if a
  /// driver has just begun or is leaving.
  std::string silence;

  /// Whether the driver answers; null: it was not asked, or does not listen.
  Json answers_json() const;
};

/// Asks about all that the driver waits for, or one trial of it. Takes 2 s at the most, all in all.
Awaited ask_what_is_awaited(const ExperimentView& view, std::optional<TrialId> trial = {});

/// How many trials have ended how, then how many are in which other state: {"pruned", 6},
/// {"RUNNING", 2}; none with 0.
std::vector<std::pair<std::string, std::size_t>> counts_of(const Experiment& experiment);
/// Whether some trial has not come to its end.
bool has_unfinished(const Experiment& experiment);
/// Whether the last driver left because nothing was left to do. Paused trials may stay: they would
/// go on after results of new ones only.
bool is_finished(const Experiment& experiment);
/// Why the last driver has given up; empty if it has not.
std::string why_given_up(const Experiment& experiment);
/// The command that goes on with it: also where its time is used up.
std::string resume_command(const ResultGrid& grid);
/// What can be done about trials that have failed; empty if none has.
std::string failed_text(const ResultGrid& grid);
/// If freeze_thaw may train no more (spent_text of its max_total_t); else empty.
std::string spent_text(const ExperimentSpec& spec, const Experiment& experiment);
/// What can be done about them then.
std::string paused_text(const ExperimentSpec& spec, const Experiment& experiment,
                        const std::filesystem::path& directory);
/// " --trial 3 --trial 5": the trials that are paused by hand.
std::string held_text(const Experiment& experiment);

/// How large the front of an experiment with several metrics is, and how much it covers.
std::string front_text(const ResultGrid& grid);

/// "3", "trial_00003", or the directory of that. Error (user) if there is none.
const Trial& find_trial(const ResultGrid& grid, const std::string& text);

/// Where a checkpoint that the record has can be read.
enum class CheckpointPlace {
  here,
  remote,   ///< only there
  missing,  ///< neither here nor known to be on a remote
};
CheckpointPlace checkpoint_place(const std::filesystem::path& checkpoint);
const char* to_string(CheckpointPlace place);  ///< "here", ...
/// To be added to a line about it: ", only on the remote"; nothing if it is here.
const char* place_remark(const std::filesystem::path& checkpoint);

/// If trials are recorded as RUNNING without a driver, the driver has died: "where the record
/// breaks off (...)", for messages. Else empty: a driver that ends by itself records the end of its
/// trials.
std::string where_running_breaks_off(const ExperimentView& view);

/// Error (user) if there is none of that name.
Scope checked_scope(const std::string& name);

/// Whether the driver counts it in each result (`training_iteration`, `time_total_s`): of a trial
/// its last value alone is at hand, and no best one or average.
bool is_last_value_only(std::string_view metric);

/// The experiment's metric and mode where none are given. Error (user) if that is not enough.
Objective objective_for(const ResultGrid& grid, const std::string& metric, const std::string& mode);

}  // namespace tune
