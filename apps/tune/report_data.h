// All that a report shows of experiments, as one JSON object: what other commands print with
// --json, in columns where there is a row for each trial.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune {

/// Of one experiment: the sentence, the findings, and all that pictures need. docs/report.md lists
/// the fields. Reads everything at one time, about; never locks. Error if it cannot be read.
Json report_of(const std::filesystem::path& directory);

/// Of several. Those that cannot be read have a `problem`; Error of the first if none can be.
Json report_data(const std::vector<std::string>& directories);

}  // namespace tune
