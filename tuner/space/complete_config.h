// Completes a partial config: draws what it leaves open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/constraint.h"
#include "tuner/model/trial.h"
#include "tuner/space/search_space.h"

namespace tune {

struct CompleteConfig {
  Json config;
  std::optional<std::string> unfit;  ///< why neither it nor another draw can be tried
};

/// `given`, in which SearchSpace::check_preset finds nothing wrong, and what it leaves out drawn:
/// by the seed and the trial's number, again and again until it can be tried.
CompleteConfig complete_config(const SearchSpace& space, const std::vector<Constraint>& constraints,
                               const Json& given, std::uint64_t seed, TrialId trial);

}  // namespace tune
