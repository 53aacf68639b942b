// An experiment as it is on disk right now, for the commands that only look.
// Knows no output; locks and changes nothing, also while a driver runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "tuner/result_grid.h"
#include "tuner/store/lock.h"

namespace tune {

struct Look {
  ResultGrid grid;
  std::uint64_t kept_checkpoints = 0;  ///< committed and not deleted since
  std::optional<LockOwner> driver;     ///< who drives it now
};

/// Error (user) if there is no experiment in `directory`.
void require_experiment(const std::filesystem::path& directory);

/// Reads the journal once. Error (user) if there is no experiment in `directory`.
Look look_at(const std::filesystem::path& directory);

/// The experiment's metric and mode where none are given. Error (user) if that is not enough.
Objective objective_for(const ResultGrid& grid, const std::string& metric, const std::string& mode);

}  // namespace tune
