// Removes a directory with everything in it, whatever a program has left there.
#pragma once

#include <filesystem>

namespace tune {

/// Absent is fine; a link or a file is removed itself. Directories that may not be read, entered or
/// written to are made so first. Holds three descriptors and no stack, however deep it goes. Error
/// (machine) names what cannot be removed; the rest of its directory is then left.
void remove_tree(const std::filesystem::path& directory);

}  // namespace tune
