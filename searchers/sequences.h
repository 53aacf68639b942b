// Searchers that go through a sequence of points, whatever comes back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "tuner/policy/searcher.h"
#include "tuner/space/search_space.h"

namespace tune {

/// Point number `i` of the sequence of a seed in the unit cube: by leaf, 0 <= coordinate < 1. In a
/// space with priors there is one more, which says whether they are believed.
using UnitSequence = std::function<std::vector<double>(std::uint64_t seed, std::uint64_t i)>;

/// Suggests what is at the points, as shares of the probability of each domain. Never exhausted;
/// `space` has no grid.
std::unique_ptr<Searcher> make_sequence(const SearchSpace& space, UnitSequence points,
                                        std::uint64_t seed);

/// Scrambled Sobol points (sobol.cpp). Throws OptionError if `space` has too many leaves.
std::unique_ptr<Searcher> make_sobol(const SearchSpace& space, std::uint64_t seed);

/// Latin hypercubes of `block_size` points, one after the other (latin_hypercube.cpp).
UnitSequence latin_hypercube_points(std::size_t dimensions, std::uint64_t block_size);

/// Suggests what is at those.
std::unique_ptr<Searcher> make_latin_hypercube(const SearchSpace& space, std::uint64_t block_size,
                                               std::uint64_t seed);

}  // namespace tune
