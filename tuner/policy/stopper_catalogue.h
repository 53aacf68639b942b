// The built-in stopping rules by name, for a spec's "stop".
#pragma once

#include "tuner/policy/catalogue.h"

namespace tune {

/// Adds "max_iteration" {"iterations"}, "time_budget" {"seconds"}, "trial_plateau" and
/// "experiment_plateau" (options as the fields of their structs in tuner/policy/stopper.h; "metric"
/// and "mode" default to those of the experiment).
void add_stoppers(Catalogue& catalogue);

}  // namespace tune
