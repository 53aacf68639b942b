// Scrambled Sobol points (Joe and Kuo, "Constructing Sobol Sequences with Better Two-Dimensional
// Projections", 2008): whatever number of them is taken, they fill the space more evenly than
// random ones. The scrambling is Owen's ("Randomly Permuted (t,m,s)-Nets and (t,s)-Sequences",
// 1995): it keeps the evenness, makes each point uniformly distributed, and each seed another
// sequence. The first point, the origin, is kept (Owen, "On Dropping the First Sobol' Point",
// 2020).
#include <algorithm>
#include <boost/random/sobol.hpp>

#include "searchers/coordinates.h"
#include "searchers/priors.h"
#include "searchers/sequences.h"
#include "tuner/math/random.h"
#include "tuner/policy/catalogue.h"

namespace tune {

namespace {

using Digits = std::uint64_t;  ///< a number from 0 to 1 in units of 2^-64

constexpr int scrambled_digits = 52;  ///< and a half, so that the number is neither 0 nor 1

/// The last step of splitmix64 (Steele, Lea and Flood, 2014): all bits from all bits.
Digits mix(Digits z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// Each digit is turned over or not, which depends on all digits before it: the same half, quarter
/// and so on of the interval always go to the same place.
double scramble(Digits digits, std::uint64_t key) {
  Digits result = 0;
  for (int i = 0; i < scrambled_digits; ++i) {
    // The digits before, and a 1 that tells how many they are.
    const Digits before = i == 0 ? 1 : (digits >> (64 - i)) | (Digits{1} << i);
    const Digits digit = (digits >> (63 - i)) & 1;
    result = 2 * result + (digit ^ (mix(key + before * 0x9e3779b97f4a7c15u) & 1));
  }
  return (static_cast<double>(result) + 0.5) * 0x1p-52;
}

}  // namespace

std::unique_ptr<Searcher> make_sobol(const SearchSpace& space, std::uint64_t seed) {
  // Of a seed, or a single value, nothing is learnt: that it takes no dimension of the sequence
  // leaves the better ones to the others.
  std::vector<bool> is_dimension;
  for (const SpaceLeaf& leaf : space.leaves()) {
    is_dimension.push_back(axis_of(leaf.domain).is_modelled());
  }
  if (Priors(space).any()) is_dimension.push_back(true);
  const auto n =
      static_cast<std::size_t>(std::count(is_dimension.begin(), is_dimension.end(), true));
  constexpr std::size_t most = boost::random::default_sobol_table::max_dimension;
  if (n > most) {
    throw OptionError("", "the searcher 'sobol' has points for " + std::to_string(most) +
                              " hyperparameters, and the param space has " + std::to_string(n));
  }
  boost::random::sobol engine(std::max<std::size_t>(n, 1));
  const auto point_at = [is_dimension, engine](std::uint64_t own_seed, std::uint64_t i) mutable {
    Random random(own_seed), other(mix(own_seed) + i);
    if (i > 0) engine.seed(i - 1);  // it leaves out the origin
    std::vector<double> point;
    for (const bool is_even : is_dimension) {
      point.push_back(is_even ? scramble(i > 0 ? engine() : 0, random.bits()) : other.uniform());
    }
    return point;
  };
  return make_sequence(space, point_at, seed);
}

}  // namespace tune
