// Reads the options of a Hydra program out of its help: its groups and its config, which is YAML.
#pragma once

#include <optional>
#include <string_view>

#include "tuner/init_from/help_reader.h"

namespace tune {

/// Each group as a choice, each value of the config that is no list by its dotted name; nothing if
/// the text is of another program.
std::optional<ProgramHelp> read_hydra_help(std::string_view text);

}  // namespace tune
