// What the user believes of a hyperparameter beforehand: a value that is likely good, and how sure
// that is. What searchers make of it is the business of searchers/.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/problem.h"
#include "tuner/space/domain.h"

namespace tune {

enum class Confidence : char { low, medium, high };

struct UserPrior {
  Json value;  ///< in the domain; of a Choice the index of one of its values
  Confidence confidence = Confidence::medium;
};

/// The "prior" beside a domain: {"uniform": [0, 1], "prior": 0.3} or {"uniform": [0, 1], "prior":
/// {"value": 0.3, "confidence": "high"}}. `domain` is what parse_domain has made of `json`; nothing
/// if there is none, or it is wrong, which is appended to `problems`.
std::optional<UserPrior> parse_prior(const Json& json, const Domain& domain,
                                     const std::string& pointer, std::vector<Problem>& problems);

}  // namespace tune
