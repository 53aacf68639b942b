// Whether the program seems to ignore its config, by the rows of all trials.
#pragma once

#include <string>
#include <vector>

#include "tuner/result_grid.h"

namespace tune {

struct IgnoredConfig {
  std::string sentence;         ///< as the run says it; empty: configs have an effect, or who knows
  std::vector<TrialId> trials;  ///< whose results are equal
};

/// Reads rows up to the first that differs from another trial's. The run judges by the trials that
/// have ended by then; here a later one may have shown that configs do have an effect.
IgnoredConfig ignored_config(const ResultGrid& grid);

}  // namespace tune
