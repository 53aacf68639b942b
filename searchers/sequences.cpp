#include "searchers/sequences.h"

#include <stdexcept>
#include <utility>

#include "searchers/quantile.h"
#include "tuner/core/error.h"
#include "tuner/core/policy_state.h"

namespace tune {

namespace {

class Sequence : public Searcher {
 public:
  Sequence(const SearchSpace& space, UnitSequence points, std::uint64_t seed)
      : space_(space), points_(std::move(points)), seed_(seed) {}

  Answer suggest(TrialId) override {
    const std::vector<double> point = points_(seed_, position_);
    Json config;
    try {
      config = space_.assemble(0, [&](std::size_t leaf) {
        return leaf_quantile(space_.leaves()[leaf].domain, point[leaf]);
      });
    } catch (const std::invalid_argument& error) {  // an expression that has no value
      throw user_error(error.what());
    }
    ++position_;
    std::string tag = space_.tag(config);
    return Suggestion{std::move(config), std::move(tag)};
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
