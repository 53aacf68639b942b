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

/// The branch that `value` probably came from. A complete match wins over one with parts left out,
/// a branch that draws or states its numbers over one where an expression gives them, and the same
/// fixed values over equal ones; else the first. If none matches, one that matches but for domains:
/// whoever changed the value may have left them.
std::optional<std::size_t> find_branch(const std::vector<SpaceLeaf>& leaves,
                                       const SpaceNode::Branches& branches, const Json& value);

}  // namespace tune
