// Every file and directory name of an experiment, in one place. docs/file_formats.md is the
// reference.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "tuner/model/checkpoint_ref.h"
#include "tuner/model/trial.h"

namespace tune::paths {

using std::filesystem::path;

path spec(const path& experiment);                                 ///< experiment.json
path lock(const path& experiment);                                 ///< LOCK
path current(const path& experiment);                              ///< CURRENT
path journal(const path& experiment, int generation);              ///< journal-1.jsonl
path snapshot(const path& experiment, int generation);             ///< snapshot-2.json
path trials(const path& experiment, int number);                   ///< trials-1.jsonl
path history(const path& experiment);                              ///< history.jsonl
path notes(const path& experiment);                                ///< notes.jsonl
path trial(const path& experiment, TrialId trial);                 ///< trial_00012
path work(const path& trial);                                      ///< work, see CheckpointStorage
path preload_log(const path& experiment);                          ///< preload.log
path policy_log(const path& experiment, const std::string& kind);  ///< searcher.log
/// stdout.log, or of another rank than 0 stdout.rank_00003.log
path standard_output(const path& trial, int rank = 0);
path standard_error(const path& trial, int rank = 0);
path arguments(const path& trial);              ///< args.json, for a plain program that wants it
path checkpoint(const path& trial, int index);  ///< checkpoint_000001
path checkpoint(const path& experiment, const CheckpointRef& checkpoint);
path checkpoint_aside(const path& trial, int index, int attempt);  ///< .checkpoint_000001.tmp-2
path checkpoint_corrupt(const path& trial, int index);             ///< checkpoint_000001.corrupt
path manifest(const path& checkpoint);                             ///< manifest.json
/// Beside the directory: checkpoint_000001.remote.json, see tuner/checkpoints/evicted.h.
path evicted(const path& checkpoint);

/// The number if `name` is such a file's.
std::optional<int> parse_journal(std::string_view name);
std::optional<int> parse_snapshot(std::string_view name);
std::optional<int> parse_trials(std::string_view name);
/// Whether `name` is that of a file which FileSystem::replace writes aside for one of the
/// experiment's own: .CURRENT.tmp-4711-0.
bool is_written_aside(std::string_view name);

/// The index if `name` is a committed checkpoint's directory name.
std::optional<int> parse_checkpoint(std::string_view name);
/// The index if `name` is that of the file which says where an evicted checkpoint is.
std::optional<int> parse_evicted(std::string_view name);
/// The checkpoint that has such a directory on a remote:
/// trial_00003/checkpoint_000001.3f9c0a71b2c4d5e6.
std::optional<CheckpointRef> parse_remote_checkpoint(std::string_view directory);
/// The index of a checkpoint being written on our behalf (`checkpoint_aside`), if `name` is of one.
std::optional<int> parse_checkpoint_aside(std::string_view name);
/// Whether `name` is reserved for what a function trainable writes to hand it over:
/// .reported_checkpoint_3.
bool is_reported_checkpoint(std::string_view name);
/// Whether the driver gives such a name to a checkpoint, in whatever state.
bool is_of_checkpoint(std::string_view name);

}  // namespace tune::paths
