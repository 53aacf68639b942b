// Warnings about specs that are valid but hardly meant so: habits from other tools, or a bound
// turned around.
#pragma once

#include <string>
#include <vector>

#include "tuner/spec/spec.h"

namespace tune {

/// With pointers into the spec, each a sentence that says what will happen and what to write
/// instead. Nothing is wrong with a spec that has some.
std::vector<Problem> warnings_about(const ExperimentSpec& spec);

struct AwaitedMetric {
  std::string name;
  std::string by;  ///< what goes by it: "a stop rule and the scheduler"
};

/// The metrics that the spec goes by beside those that must be in every result, by name. A misspelt
/// one would be waited for in silence.
std::vector<AwaitedMetric> metrics_awaited(const ExperimentSpec& spec);

}  // namespace tune
