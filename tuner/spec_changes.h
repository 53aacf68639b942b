// The changes that `tune set` made to an experiment's spec, read from its journal.
#pragma once

#include <filesystem>
#include <vector>

#include "tuner/disk/file_system.h"
#include "tuner/spec/spec.h"

namespace tune {

/// What has been changed so, field by field. Read before anything is locked, since what a resume is
/// asked to do is held against the spec first; a journal that is damaged says what it said before
/// the damage.
Json read_spec_changes(FileSystem& files, const std::filesystem::path& directory);

/// `spec` with the changes that were made while a driver ran.
ExperimentSpec with_changes(const ExperimentSpec& spec, const Json& fields,
                            const Catalogue& catalogue, std::vector<Problem>& problems);

/// The spec that the experiment in `directory` would go on with: as it began, with what was changed
/// since while a driver ran. Error if there is none, or if it cannot be read.
Json spec_in_force(const std::filesystem::path& directory);

}  // namespace tune
