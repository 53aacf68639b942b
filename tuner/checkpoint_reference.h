// How users name a checkpoint: by its directory, or by the experiment and trial that it is of.
// Locks and changes nothing, also while a driver runs there.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/problem.h"

namespace tune {

/// The directory of the checkpoint that `text` names:
///   a directory;
///   EXPERIMENT:TRIAL            that trial's latest, TRIAL is 3 or trial_00003
///   EXPERIMENT:TRIAL@ITERATION  its checkpoint of that iteration
///   EXPERIMENT:best             the best one of the best trial, as `tune best` has it
/// EXPERIMENT is an experiment's directory, relative to `base`, or its name in `storage`.
/// Error (user) with one sentence if there is none, which says what there is.
std::filesystem::path find_checkpoint(const std::string& text, const std::filesystem::path& base,
                                      const std::filesystem::path& storage);

/// Whether `text` has the form of such a name, and is not a directory's.
bool is_reference(const std::string& text, const std::filesystem::path& base);

/// `spec` with the directory in place of the name in `resume_from_checkpoint`, and without the
/// field if there is no such checkpoint, which is added to `problems`. What is no name of that kind
/// is left to parse_spec.
Json with_checkpoint_found(Json spec, const std::filesystem::path& base,
                           std::vector<Problem>& problems);

}  // namespace tune
