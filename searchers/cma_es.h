// The searcher cma_es and its options; docs/searchers.md explains them.
#pragma once

#include <cstdint>
#include <memory>

#include "tuner/policy/searcher.h"
#include "tuner/space/search_space.h"

namespace tune {

/// How a run that has converged is followed by another one.
enum class CmaRestarts {
  none,   ///< not at all
  ipop,   ///< with twice the population
  bipop,  ///< in turns with a doubled one, and with a small one and small steps
};

struct CmaOptions {
  std::int64_t population = 10;  ///< configs in a generation of the first run, at least 4
  double sigma0 = 1.0 / 6;       ///< standard deviation at the start, as a share of each range
  CmaRestarts restarts = CmaRestarts::ipop;
  bool independent_tpe = false;  ///< what is not modelled comes from tpe, not from random
  std::uint64_t seed = 0;
};

/// Never exhausted; `space` has no grid, and cma_es_dimensions above 0.
std::unique_ptr<Searcher> make_cma_es(const SearchSpace& space, const CmaOptions& options);

/// How many numbers it models: those with more than one value that every config has.
std::size_t cma_es_dimensions(const SearchSpace& space);

}  // namespace tune
