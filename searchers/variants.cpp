// Random search and grid search in one. Learns nothing from results.
#include <optional>
#include <set>
#include <string>

#include "searchers/priors.h"
#include "searchers/searchers.h"
#include "searchers/suggestion.h"
#include "tuner/base/error.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

constexpr int draws_in_vain = 1000;

class Variants : public Searcher {
 public:
  Variants(const SearchSpace& space, VariantOptions options)
      : space_(space),
        options_(std::move(options)),
        priors_(space_),
        is_constrained_(has_unfit(space_, options_.constraints)) {
    next_.random = Random(options_.seed);
    ensure(!(options_.constant_grid_search && options_.skip_duplicates),
           "constant_grid_search and skip_duplicates exclude each other");
  }

  Answer suggest(TrialId) override {
    if (is_exhausted_) return Exhausted{};
    Cursor cursor = next_;
    if (auto config = find_next(cursor)) {
      next_ = cursor;
      if (options_.skip_duplicates) suggested_.insert(hash_of(*config));
      std::string tag = space_.tag(*config);
      return Suggestion{std::move(*config), std::move(tag)};
    }
    is_exhausted_ = true;
    return Exhausted{};
  }

  std::optional<std::uint64_t> total() const override {
    if (options_.num_samples < 0) return std::nullopt;
    if (is_constrained_ && space_.has_grid()) return count_fit();
    std::uint64_t total = 0;
    for (const Json& point : options_.points_to_evaluate) {
      total = add_sizes(total, space_.grid_size(point));
    }
    const auto others = options_.num_samples - std::ssize(options_.points_to_evaluate);
    return add_sizes(total, multiply_sizes(space_.grid_size(), others));
  }

  SuggestionLimits limits() const override { return options_.limits; }

  Json save() const override {
    return {{"sample", next_.sample},
            {"grid_point", next_.grid_point},
            {"random", next_.random.save()},
            {"suggested", suggested_}};
  }

  void load(const Json& state) override {
    load_state("the searcher random (or grid)", [&] {
      Cursor next;
      next.random.load(state.at("random"));
      std::set<std::uint64_t> suggested;
      for (const Json& hash : state.at("suggested")) {
        suggested.insert(load_whole<std::uint64_t>(hash));
      }
      next.sample = load_whole<std::int64_t>(state.at("sample"));
      next.grid_point = load_whole<std::uint64_t>(state.at("grid_point"));
      next_ = next;
      suggested_ = std::move(suggested);
      is_exhausted_ = false;
    });
  }

 private:
  struct Cursor {
    Random random{0};  ///< with constant_grid_search as of the start of the sample
    std::int64_t sample = 0;
    std::uint64_t grid_point = 0;  ///< the next one of the sample
  };

  /// Null: the sample has none.
  const Json& preset(std::int64_t sample) const {
    static const Json none;
    const auto& points = options_.points_to_evaluate;
    return sample < std::ssize(points) ? points[static_cast<std::size_t>(sample)] : none;
  }

  /// As `total`, of a grid with points that perhaps nobody can try. Nothing if it has many points,
  /// or one for which a config that can be tried is rare: whether that is found shows on the way.
  std::optional<std::uint64_t> count_fit() const {
    constexpr std::uint64_t most_points = 1024;
    constexpr int draws_for_each = 10;
    const std::uint64_t points = space_.grid_size();
    const bool is_drawn = !space_.is_deterministic();
    if (!options_.points_to_evaluate.empty() || points > most_points ||
        (is_drawn && options_.constant_grid_search)) {
      return std::nullopt;
    }
    std::uint64_t fit = 0;
    Random random(0);
    for (std::uint64_t i = 0; i < points; ++i) {
      bool is_fit = false;
      for (int draws = 0; !is_fit && draws < (is_drawn ? draws_for_each : 1); ++draws) {
        is_fit = !why_unfit(space_, options_.constraints, space_.sample(i, random));
      }
      if (is_drawn && !is_fit) return std::nullopt;
      fit += is_fit ? 1 : 0;
    }
    return multiply_sizes(fit, static_cast<std::uint64_t>(options_.num_samples));
  }

  /// The first config from `cursor` on, which moves behind it; nothing if there is none.
  std::optional<Json> find_next(Cursor& cursor) const {
    const int most_in_vain = options_.constant_grid_search ? draws_in_vain : 1;
    const bool is_first = cursor.sample == 0 && cursor.grid_point == 0;
    int in_vain = cursor.grid_point == 0 ? 0 : -1;  // samples that brought nothing
    std::optional<std::string> unfit;
    while (options_.num_samples < 0 || cursor.sample < options_.num_samples) {
      Random random = cursor.random;
      auto config = draw_new(cursor, random, unfit);
      if (!config && !unfit) return std::nullopt;
      const bool is_last = cursor.grid_point + 1 == space_.grid_size(preset(cursor.sample));
      if (is_last || !options_.constant_grid_search) cursor.random = random;
      cursor.grid_point = is_last ? 0 : cursor.grid_point + 1;
      if (is_last) ++cursor.sample;
      if (config) return config;
      if (is_last && ++in_vain == most_in_vain) throw nothing_fits(*unfit);
    }
    if (is_first && in_vain > 0) throw nothing_fits(*unfit);
    return std::nullopt;
  }

  Error nothing_fits(const std::string& last_reason) const {
    const std::string cursor = space_.has_grid()
                                   ? "in the grid"
                                   : "among " + std::to_string(draws_in_vain) + " drawn at random";
    return user_error(all_unfit(space_, options_.constraints, cursor, last_reason));
  }

  /// A config for the grid point of `cursor`. Nothing if all draws gave one that was suggested
  /// before, or that nobody can try: then `unfit` says why.
  std::optional<Json> draw_new(const Cursor& cursor, Random& random,
                               std::optional<std::string>& unfit) const {
    const Json& given = preset(cursor.sample);
    const bool may_repeat = !options_.skip_duplicates || !given.is_null();
    const bool is_the_same_again = space_.is_deterministic() || options_.constant_grid_search;
    for (int draws = 0; draws < (is_the_same_again ? 1 : draws_in_vain); ++draws) {
      // The first one that is not given has the priors' own values, if it can be tried.
      const bool is_first = draws == 0 && cursor.sample == std::ssize(options_.points_to_evaluate);
      const DrawnFrom from = priors_.any() && is_first ? DrawnFrom::values : priors_.pick(random);
      Json config = options_.constant_grid_search
                        ? draw_constant(cursor, from, random)
                        : priors_.sample(from, random, cursor.grid_point, given);
      unfit = why_unfit(space_, options_.constraints, config);
      if (!unfit && (may_repeat || !suggested_.contains(hash_of(config)))) return config;
    }
    return std::nullopt;
  }

  /// Draws all leaves, also those that this grid point has no use for, so that each has the same
  /// value at every grid point of the sample.
  Json draw_constant(const Cursor& cursor, DrawnFrom from, Random& random) const {
    std::vector<Json> values;
    for (std::size_t leaf = 0; leaf < space_.leaves().size(); ++leaf) {
      values.push_back(priors_.draw(leaf, from, random));
    }
    return space_.assemble(
        cursor.grid_point, [&](std::size_t leaf) { return values[leaf]; }, preset(cursor.sample));
  }

  const SearchSpace space_;
  const VariantOptions options_;
  const Priors priors_;
  const bool is_constrained_;  ///< in what may be suggested
  Cursor next_;
  std::set<std::uint64_t> suggested_;  ///< hashes of configs, if duplicates are skipped
  bool is_exhausted_ = false;          ///< there was nothing from `next_` on
};

}  // namespace

std::unique_ptr<Searcher> make_variants(const SearchSpace& space, VariantOptions options) {
  return std::make_unique<Variants>(space, std::move(options));
}

}  // namespace tune
