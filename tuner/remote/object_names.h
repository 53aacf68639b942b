// Which file names an experiment may have, on a remote and here: objects with other names are not
// downloaded. Names of markers are in markers.h, those of checkpoints in tuner/model/paths.h.
#pragma once

#include <string>

namespace tune {

/// Whether stores and rclone give back an object of that name as it is: some list none at all where
/// one has a control character, and U+201B is rclone's own sign for what it replaces.
bool is_fit_for_stores(const std::string& name);

/// Whether a file of that name is of the state: journal-7.jsonl, CURRENT and the like.
bool is_of_state(const std::string& name);

/// Whether a file of that name is a small file (small_files.h): directly in a trial's directory or
/// at the top, and no file of the state, of a checkpoint or of the driver. The spec counts as both:
/// it tells that there is an experiment.
bool is_small_file(const std::string& name);

}  // namespace tune
