// A searcher over a fixed sequence of unit-cube points; its only state is the position.
#include "searchers/sequences.h"

#include <utility>

#include "searchers/priors.h"
#include "searchers/quantile.h"
#include "searchers/suggestion.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

class Sequence : public Searcher {
 public:
  Sequence(const SearchSpace& space, UnitSequence points, std::uint64_t seed)
      : space_(space), priors_(space), points_(std::move(points)), seed_(seed) {}

  Answer suggest(TrialId) override {
    const std::vector<double> point = points_(seed_, position_);
    // Half of the sequence along an axis of its own, or the halves would not fill the space evenly.
    const bool is_believed = priors_.any() && point.back() < 0.5;
    Suggestion suggestion = suggestion_of(space_, [&] {
      return space_.assemble(0, [&](std::size_t leaf) {
        if (is_believed && priors_.has(leaf)) return priors_.value_at(leaf, point[leaf]);
        return leaf_quantile(space_.leaves()[leaf].domain, point[leaf]);
      });
    });
    ++position_;
    return suggestion;
  }

  Json save() const override { return {{"seed", seed_}, {"position", position_}}; }
  void load(const Json& state) override {
    load_state("the searcher", [&] {
      const auto seed = load_whole<std::uint64_t>(state.at("seed"));
      position_ = load_whole<std::uint64_t>(state.at("position"));
      seed_ = seed;
    });
  }

 private:
  const SearchSpace space_;
  const Priors priors_;
  const UnitSequence points_;
  std::uint64_t seed_;
  std::uint64_t position_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_sequence(const SearchSpace& space, UnitSequence points,
                                        std::uint64_t seed) {
  return std::make_unique<Sequence>(space, std::move(points), seed);
}

}  // namespace tune
