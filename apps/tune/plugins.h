// Shared libraries that add policies by name. tuner/plugin.h is what they see.
// Knows no policy.
#pragma once

#include <string>
#include <vector>

#include "tuner/core/catalogue.h"

namespace tune {

/// Loads each file and adds what it registers. They stay loaded until the program ends. Error
/// (user) if one cannot be loaded, is no plugin, was built for another tune::plugin_abi, or takes a
/// name that is taken.
void load_plugins(const std::vector<std::string>& files, Catalogue& catalogue);

/// Everything that ships, and `files`.
Catalogue catalogue_with(const std::vector<std::string>& files);

}  // namespace tune
