// What is said of a trial to whoever looks at it.
#pragma once

#include <string>

#include "tuner/model/trial.h"

namespace tune {

/// Which results a trial lacks that it once had: it had gone back to a checkpoint, and has ended
/// before it came as far again. A clause; empty if there are none, or it has not ended.
std::string taken_back(const Trial& trial);

/// By what it was ended, or paused by its scheduler; empty: there is no more to say. What a pause
/// was decided by is of that time: the others have gone on since.
std::string why_of(const Trial& trial);

}  // namespace tune
