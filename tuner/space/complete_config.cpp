// Draws what a config leaves open, again until the constraints hold, from a seed that depends on
// the trial alone.
#include "tuner/space/complete_config.h"

#include <cstddef>

#include "tuner/math/random.h"

namespace tune {

CompleteConfig complete_config(const SearchSpace& space, const std::vector<Constraint>& constraints,
                               const Json& given, std::uint64_t seed, TrialId trial) {
  constexpr int most_draws = 1000;
  Random random(seed ^ (0x9e3779b97f4a7c15u * (index_of(trial) + 1)));
  bool is_drawn = false;
  const auto draw = [&](std::size_t leaf) {
    is_drawn = true;
    return draw_leaf(space.leaves()[leaf].domain, random);
  };
  CompleteConfig complete;
  for (int draws = 0; draws < most_draws; ++draws) {
    complete.config = space.assemble(0, draw, given);
    complete.unfit = why_unfit(space, constraints, complete.config);
    if (!complete.unfit || !is_drawn) break;
  }
  return complete;
}

}  // namespace tune
