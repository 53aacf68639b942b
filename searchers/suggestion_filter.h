// What every searcher can do besides searching: a number of samples, points that are given, no
// config twice without need, constraints, a pace, repetitions. Stands in front of a searcher that
// has none of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuner/policy/catalogue.h"
#include "tuner/policy/options.h"
#include "tuner/space/search_space.h"

namespace tune {

/// In which turns configs are suggested.
struct Batching {
  SuggestionLimits limits;
  /// How often each config is tried, each time as a trial of its own, with its number from 0 as
  /// `repeat_key` in the config. The searcher learns the mean of their last scores.
  std::int64_t repeat = 1;
  /// After so many tries, the others of a config are made one by one, and only while its mean is
  /// not clearly worse than the best one. As many as `repeat`: there is no such race.
  std::int64_t repeat_at_least = 1;
  std::string repeat_key = "repeat_index";
};

/// Whether a config may be suggested again.
enum class Duplicates {
  /// Once nothing else is left, until there are as many trials as were asked for. A search without
  /// a number of samples ends there.
  when_exhausted,
  never,   ///< the search ends when a discrete space is exhausted
  always,  ///< as the searcher likes
};

struct SuggestionFilterOptions {
  /// Configs to suggest, those given included; -1: endlessly many.
  std::int64_t num_samples = -1;
  /// Presets (SearchSpace::check_preset finds nothing wrong) to suggest first; what one leaves open
  /// is drawn.
  std::vector<Json> points_to_evaluate;
  /// Then a config with the values of the space's priors, if there are some.
  bool begins_at_priors = true;
  /// Configs that nobody has to try: whole ones, with what is known of them.
  struct Known {
    Json config;
    Observation outcome;
    Ended how = Ended::complete;  ///< or `stopped` at the outcome's iteration
  };
  std::vector<Known> evaluated;
  Duplicates duplicates = Duplicates::when_exhausted;
  /// Nothing is suggested that breaks one of those about configs alone.
  std::vector<Constraint> constraints;
  Batching batching;
  std::uint64_t seed = 0;
};

/// The options that all searchers share, out of those of one of them: docs/spec.md, "Searchers".
/// Throws OptionError.
SuggestionFilterOptions read_suggestion_filter(OptionReader& reader, const PolicyContext& context);

/// The option points_to_evaluate. Throws OptionError for what is no preset of the space, and for
/// whole configs that break a constraint.
std::vector<Json> read_points(OptionReader& reader, const PolicyContext& context);
/// Throws OptionError if these are more than the samples.
void require_room(const std::vector<Json>& points, const PolicyContext& context);

/// `searcher` has not been asked yet. It is never exhausted, unless it has waiting trials go on.
std::unique_ptr<Searcher> make_suggestion_filter(const SearchSpace& space,
                                                 std::unique_ptr<Searcher> searcher,
                                                 SuggestionFilterOptions options);

/// The options max_concurrent, batch, suggest_ahead, repeat, repeat_at_least and repeat_key. Throws
/// OptionError.
Batching read_batching(OptionReader& reader);

/// `searcher`, each config as often as `batching` says (repeat.cpp).
std::unique_ptr<Searcher> make_repeat(std::unique_ptr<Searcher> searcher, const Batching& batching);

}  // namespace tune
