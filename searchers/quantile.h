// From a share of a domain's probability to a value.
#pragma once

#include "tuner/space/domain.h"

namespace tune {

/// Where the distribution function of `domain` reaches `share`, 0 <= share < 1, as
/// SearchSpace::Draw answers: evenly spread shares give values spread as `draw_leaf` draws them.
/// Not for GridSearch and Expr.
Json leaf_quantile(const Domain& domain, double share);

}  // namespace tune
