// The searcher nsga2 and its options; docs/searchers.md explains them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tuner/policy/searcher.h"
#include "tuner/space/search_space.h"

namespace tune {

struct Nsga2Options {
  std::int64_t population = 50;         ///< so many of the best trials have children, at least 2
  double crossover_prob = 0.9;          ///< that a child has two parents, not one
  double swapping_prob = 0.5;           ///< that a value is the second one's then
  std::optional<double> mutation_prob;  ///< of a value; none: one in each config, on average
  std::uint64_t seed = 0;
};

/// Never exhausted; `space` has no grid.
std::unique_ptr<Searcher> make_nsga2(const SearchSpace& space, std::size_t objectives,
                                     const Nsga2Options& options);

}  // namespace tune
