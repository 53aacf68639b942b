// The expressions of configs: which ones a config has, and their values. Draws nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/space/space_tree.h"

namespace tune {

/// The expressions whose values `config` has, whole or in part.
std::vector<const SpaceNode::Formula*> formulas_of(const SpaceTree& tree, const Json& config);

/// Gives the expressions their values in `config`, whatever stands there. Answers with what is
/// wrong with the first one that has none; it and all that need it are NaN then.
std::optional<std::string> evaluate_all(const std::vector<const SpaceNode::Formula*>& formulas,
                                        Json& config);

/// The values that `preset`, which matches the tree, gives for expressions without what they are
/// calculated from: they would be overwritten with what comes of the values that are drawn.
std::vector<Problem> given_without_inputs(const SpaceTree& tree, const Json& preset);

}  // namespace tune
