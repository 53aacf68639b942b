// Latin hypercubes (McKay, Beckman and Conover, "A Comparison of Three Methods for Selecting Values
// of Input Variables in the Analysis of Output from a Computer Code", 1979): of a block of n
// points, each hyperparameter has one in each n-th of its probability.
#include <numeric>
#include <utility>

#include "searchers/priors.h"
#include "searchers/sequences.h"
#include "tuner/math/random.h"

namespace tune {

namespace {

class LatinHypercube {
 public:
  LatinHypercube(std::size_t dimensions, std::uint64_t block_size)
      : dimensions_(dimensions), size_(block_size) {}

  std::vector<double> operator()(std::uint64_t seed, std::uint64_t i) {
    const std::uint64_t block_seed = Random(seed).bits() + i / size_;
    if (block_seed_ != block_seed || coordinates_.empty()) make_block(block_seed);
    std::vector<double> point;
    for (std::size_t j = 0; j < dimensions_; ++j) {
      point.push_back(coordinates_[j * size_ + i % size_]);
    }
    return point;
  }

 private:
  void make_block(std::uint64_t seed) {
    Random random(seed);
    std::vector<std::uint64_t> strata(size_);
    std::iota(strata.begin(), strata.end(), std::uint64_t{0});
    coordinates_.clear();
    for (std::size_t j = 0; j < dimensions_; ++j) {
      for (std::uint64_t left = size_; left > 0; --left) {
        std::swap(strata[left - 1], strata[random.below(left)]);
        const double place = static_cast<double>(strata[left - 1]) + random.uniform();
        coordinates_.push_back(std::min(place / static_cast<double>(size_), 1 - 0x1p-53));
      }
    }
    block_seed_ = seed;
  }

  std::size_t dimensions_;
  std::uint64_t size_;
  std::uint64_t block_seed_ = 0;
  std::vector<double> coordinates_;  ///< of the block of that seed, dimension by dimension
};

}  // namespace

UnitSequence latin_hypercube_points(std::size_t dimensions, std::uint64_t block_size) {
  return LatinHypercube(dimensions, block_size);
}

std::unique_ptr<Searcher> make_latin_hypercube(const SearchSpace& space, std::uint64_t block_size,
                                               std::uint64_t seed) {
  const std::size_t dimensions = space.leaves().size() + (Priors(space).any() ? 1 : 0);
  return make_sequence(space, latin_hypercube_points(dimensions, block_size), seed);
}

}  // namespace tune
