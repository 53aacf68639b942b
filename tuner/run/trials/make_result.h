// Makes a result of what a trainable reports: adds the driver's own fields, and reads the request
// for a checkpoint.
#pragma once

#include <string>
#include <vector>

#include "tuner/model/checkpoint.h"
#include "tuner/model/constraint.h"
#include "tuner/model/objective.h"
#include "tuner/model/result.h"
#include "tuner/model/trial.h"

namespace tune {

/// What is the same for all results of an experiment.
struct ResultRules {
  const std::vector<Objective>& objectives;
  const std::vector<Constraint>& constraints;
};

/// The next result of `trial`. `now`: Unix time; `took_s`: what it took, unless the metrics say so.
/// Throws std::invalid_argument, a sentence, for one that cannot be taken in: it lacks a metric
/// that the experiment needs, or counts backwards.
Result make_result(const ResultRules& rules, const Trial& trial, Metrics metrics, Seconds now,
                   Seconds took_s);

}  // namespace tune
