// Uploads an experiment without a driver to its remote.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tuner/remote/replicator.h"
#include "tuner/result_grid.h"

namespace tune {

/// The checkpoints of `experiment`, in the form that Replicator::begin takes.
/// Error (user) if one that is not here is on another remote than `remote`, or if such a one
/// would not stay there.
std::vector<Replicator::Known> known_checkpoints(
    FileSystem& files, const std::filesystem::path& directory, const RemoteConfig& remote,
    const std::string& name, const Experiment& experiment, const CheckpointConfig& config);

struct PushOptions {
  std::string path;  ///< instead of that in the spec; empty: that
  Seconds lease_s = 60;
  Seconds patience_s = 60;  ///< with a store that cannot be reached
  std::function<void(const std::string& sentence)> on_wait;
};

/// Uploads what the remote lacks. Error (user) if a driver runs, or no remote is known; Error
/// (machine) if not everything could be uploaded.
void push_experiment(const ResultGrid& grid, const PushOptions& options);

}  // namespace tune
