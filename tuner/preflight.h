// Problems that can be found before the first trial by looking at the machine as well as the spec.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/execution/local/detect_resources.h"
#include "tuner/spec/spec.h"

namespace tune {

/// Everything that can be known to be wrong before anything is touched: the trainable's program
/// cannot be run, a trial needs more than there is. As problems with pointers into the spec.
std::vector<Problem> preflight(const ExperimentSpec& spec, const DetectedResources& detected);

/// Why trials cannot be told of a directory: messages are JSON, and so UTF-8.
std::optional<std::string> cannot_be_told(const std::filesystem::path& directory);

}  // namespace tune
