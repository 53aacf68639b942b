// What the models of clones went through: the results of those that they are copies of, up to the
// copied checkpoint, and then their own.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tuner/model/trial.h"
#include "tuner/view/sampled_curve.h"

namespace tune {

/// By trial the metric over the iterations of its present model, of `trials`. Reads the history and
/// the journal; empty if events are not there any more.
std::map<TrialId, std::vector<CurvePoint>> model_curves(const std::filesystem::path& directory,
                                                        const std::string& metric,
                                                        const std::vector<TrialId>& trials);

}  // namespace tune
