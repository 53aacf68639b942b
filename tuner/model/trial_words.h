// Phrases about a trial that commands and the console share.
#pragma once

#include <string>

#include "tuner/model/trial.h"

namespace tune {

/// A clause about results that were taken back: the trial was restored to a checkpoint and ended
/// before it came as far again. Empty if there are none, or it has not ended.
std::string taken_back(const Trial& trial);

/// Why it was ended, or paused by its scheduler; empty: not recorded. The reason of a pause is of
/// its time: other trials have trained on since.
std::string why_of(const Trial& trial);

}  // namespace tune
