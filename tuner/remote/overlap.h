// Whether the copy of an experiment would lie in the experiment itself.
// Only a remote that is a directory of this machine can overlap.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tune {

/// Why the copy of an experiment must not lie at `root`, as a sentence: that is a directory of this
/// machine, and is the experiment's own, or in it, or around it, by whatever name. Both as they are
/// now, with links followed.
std::optional<std::string> overlap(const std::string& root,
                                   const std::filesystem::path& experiment);

}  // namespace tune
