// Compares values with a param space: could they have been drawn from it, and through which
// branches?
// Draws nothing.
#pragma once

#include <optional>
#include <vector>

#include "tuner/space/space_tree.h"

namespace tune {

/// Everything in `value` that cannot come from `tree`, with pointers into `value`. Parts may be
/// left out; null stands for a part that is left out unless it can be drawn.
std::vector<Problem> match(const SpaceTree& tree, const Json& value);

/// The first of the branches that `value` can have come from: one that it matches completely before
/// one that it leaves parts out of, one that draws or states its numbers before one where an
/// expression gives them, and one with the same fixed values before one with equal ones. If there
/// is none, one that it matches but for domains, which somebody who changed it did not keep to.
std::optional<std::size_t> find_branch(const std::vector<SpaceLeaf>& leaves,
                                       const SpaceNode::Branches& branches, const Json& value);

}  // namespace tune
