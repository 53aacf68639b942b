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

/// Whether a file of that name is one of them, here or there: directly in the directory of a trial
/// or at the top, neither of the state nor of a checkpoint, in no place that is somebody else's.
/// The spec is one, beside being of the state: it says that something is there.
bool is_small_file(const std::string& name);

}  // namespace tune
