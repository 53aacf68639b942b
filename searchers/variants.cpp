// Random search and grid search in one. Learns nothing from results.
#include <optional>
#include <set>
#include <stdexcept>

#include "searchers/searchers.h"
#include "searchers/suggestion.h"
#include "tuner/core/error.h"
#include "tuner/core/policy_state.h"

namespace tune {

namespace {

constexpr int max_draws = 1000;

class Variants : public Searcher {
 public:
  Variants(const SearchSpace& space, VariantOptions options)
      : space_(space), options_(std::move(options)), random_(options_.seed) {
    ensure(!(options_.constant_grid_search && options_.skip_duplicates),
           "constant_grid_search and skip_duplicates exclude each other");
  }

  Answer suggest(TrialId) override {
    if (options_.num_samples >= 0 && sample_ >= options_.num_samples) return Exhausted{};
    Random random = random_;
    std::optional<Json> config;
    try {
      config = draw_new(random);
    } catch (const std::invalid_argument& error) {
      throw user_error(error.what());
    }
    if (!config) return Exhausted{};
    if (options_.skip_duplicates) suggested_.insert(hash_of(*config));
    const bool is_last_of_sample = grid_point_ + 1 == space_.grid_size(preset());
    if (is_last_of_sample || !options_.constant_grid_search) random_ = random;
    grid_point_ = is_last_of_sample ? 0 : grid_point_ + 1;
    if (is_last_of_sample) ++sample_;
    std::string tag = space_.tag(*config);
    return Suggestion{std::move(*config), std::move(tag)};
  }

  std::optional<std::uint64_t> total() const override {
    if (options_.num_samples < 0) return std::nullopt;
    std::uint64_t total = 0;
    for (const Json& point : options_.points_to_evaluate) {
      total = add_sizes(total, space_.grid_size(point));
    }
    const auto others = options_.num_samples - std::ssize(options_.points_to_evaluate);
    return add_sizes(total, multiply_sizes(space_.grid_size(), others));
  }

  Json save() const override {
    return {{"sample", sample_},
            {"grid_point", grid_point_},
            {"random", random_.save()},
            {"suggested", suggested_}};
  }

  void load(const Json& state) override {
    load_state("the searcher random (or grid)", [&] {
      Random random(0);
      random.load(state.at("random"));
      std::set<std::uint64_t> suggested;
      for (const Json& hash : state.at("suggested")) {
        suggested.insert(load_whole<std::uint64_t>(hash));
      }
      sample_ = load_whole<std::int64_t>(state.at("sample"));
      grid_point_ = load_whole<std::uint64_t>(state.at("grid_point"));
      random_ = random;
      suggested_ = std::move(suggested);
    });
  }

 private:
  /// The preset of the current sample; null if it has none.
  const Json& preset() const {
    static const Json none;
    const auto& points = options_.points_to_evaluate;
    return sample_ < std::ssize(points) ? points[static_cast<std::size_t>(sample_)] : none;
  }

  /// A config for the current grid point; nothing if all draws gave one that was suggested before.
  std::optional<Json> draw_new(Random& random) const {
    const bool may_repeat = !options_.skip_duplicates || !preset().is_null();
    for (int draws = 0; draws < max_draws; ++draws) {
      Json config = options_.constant_grid_search ? draw_constant(random)
                                                  : space_.sample(grid_point_, random, preset());
      if (may_repeat || !suggested_.contains(hash_of(config))) return config;
    }
    return std::nullopt;
  }

  /// Draws all leaves, also those that this grid point has no use for, so that each has the same
  /// value at every grid point of the sample.
  Json draw_constant(Random& random) const {
    std::vector<Json> values;
    for (const SpaceLeaf& leaf : space_.leaves()) values.push_back(draw_leaf(leaf.domain, random));
    return space_.assemble(
        grid_point_, [&](std::size_t leaf) { return values[leaf]; }, preset());
  }

  const SearchSpace space_;
  const VariantOptions options_;
  Random random_;  ///< with constant_grid_search as of the start of the sample
  std::int64_t sample_ = 0;
  std::uint64_t grid_point_ = 0;       ///< the next one of the current sample
  std::set<std::uint64_t> suggested_;  ///< hashes of configs, if duplicates are skipped
};

}  // namespace

std::unique_ptr<Searcher> make_variants(const SearchSpace& space, VariantOptions options) {
  return std::make_unique<Variants>(space, std::move(options));
}

}  // namespace tune
