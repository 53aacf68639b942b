// Warnings about how the program of a trial is started.
#pragma once

#include <vector>

#include "tuner/spec/spec.h"

namespace tune {

/// See warnings_about.
void add_command_warnings(const ExperimentSpec& spec, std::vector<Problem>& warnings);

}  // namespace tune
