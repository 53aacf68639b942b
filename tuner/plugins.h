// Shared libraries that add policies by name. tuner/plugin.h is what they see.
#pragma once

#include <filesystem>
#include <vector>

#include "tuner/policy/catalogue.h"

namespace tune {

/// Everything that ships, and what these files register, which stay loaded until the program ends.
/// Error (user) if one cannot be loaded, is no plugin, was built for another tune::plugin_abi, or
/// takes a name that is taken.
Catalogue catalogue_with(const std::vector<std::filesystem::path>& files);

}  // namespace tune
