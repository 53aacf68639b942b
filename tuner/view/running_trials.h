// The trials that run now: where, since when, and when they were last heard of.
#pragma once

#include <string>

#include "tuner/base/clock.h"
#include "tuner/view/experiment_view.h"

namespace tune {

/// One object a trial. Times are Unix time; what is not known is null.
Json running_json(const ExperimentView& view, Seconds now);

/// A table as text without a newline at its end; empty if nothing runs.
std::string running_text(const ExperimentView& view, Seconds now);

}  // namespace tune
