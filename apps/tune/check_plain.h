// Plays a driver with a plain program: whether its metric is found, its checkpoints are, and a run
// that goes on from one comes to what the whole run came to.
#pragma once

#include <functional>

#include "tuner/check/check.h"
#include "tuner/policy/catalogue.h"
#include "tuner/spec/spec.h"

namespace tune {

/// As check_trainable, of a program that knows nothing of the driver: in runs of one trial each.
void check_plain_program(const ExperimentSpec& spec, const Catalogue& catalogue,
                         const CheckOptions& options,
                         const std::function<void(const Verdict&)>& tell);

}  // namespace tune
