// The searchers that ship: their options and how to make them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "searchers/bohb_options.h"
#include "searchers/freeze_thaw_options.h"
#include "searchers/gp_options.h"
#include "searchers/tpe_options.h"
#include "tuner/policy/catalogue.h"
#include "tuner/space/search_space.h"

namespace tune {

/// Options of "random" and "grid". Ray's BasicVariantGenerator does the same.
struct VariantOptions {
  /// How often the whole grid is run through, all else drawn anew for each trial; -1: endlessly.
  std::int64_t num_samples = 1;
  /// Presets (SearchSpace::check_preset finds nothing wrong), the i-th for the i-th sample. What a
  /// preset leaves open is drawn, or run through if it is a grid.
  std::vector<Json> points_to_evaluate;
  /// Draw what is not a grid once per sample instead of once per trial.
  bool constant_grid_search = false;
  /// Draw again what was suggested before, and end the search after 1000 draws in vain. Not
  /// for configs of points_to_evaluate, and not together with constant_grid_search.
  bool skip_duplicates = false;
  /// Those about configs alone are respected: draw again, and after 1000 draws in vain leave the
  /// grid point out.
  std::vector<Constraint> constraints = {};
  SuggestionLimits limits = {};
  std::uint64_t seed = 0;
};

/// Suggests num_samples x grid size configs, sample by sample, grid point by grid point.
std::unique_ptr<Searcher> make_variants(const SearchSpace& space, VariantOptions options);

/// Suggests these, in this order.
std::unique_ptr<Searcher> make_rows(std::vector<Suggestion> rows);

/// Suggests some of these, each once: the nearest one to what `inner` would, which learns what came
/// of it. `taken` has a place for each trial that there is to be, not more than there are rows, and
/// is told which one it has got. `space` has no grid, and each row is one of its configs.
std::unique_ptr<Searcher> make_nearest_rows(const SearchSpace& space, std::vector<Suggestion> rows,
                                            std::vector<std::size_t>& taken,
                                            std::unique_ptr<Searcher> inner);

/// Models where good configs are dense (tpe.cpp). Never exhausted; `space` has no grid.
std::unique_ptr<Searcher> make_tpe(const SearchSpace& space, std::size_t objectives,
                                   const TpeOptions& options);

/// The most that make_gp takes.
inline constexpr std::size_t gp_objectives = 3;

/// Bayesian optimisation with a Gaussian process for each of one to three objectives (gp.cpp).
/// Never exhausted; `space` has no grid.
std::unique_ptr<Searcher> make_gp(const SearchSpace& space, std::size_t objectives,
                                  const GpOptions& options);

/// Learns from what trials report at budgets, for schedulers that stop them there (bohb.cpp). Never
/// exhausted; `space` has no grid.
std::unique_ptr<Searcher> make_bohb(const SearchSpace& space, const BohbOptions& options);

/// Starts trials and has paused ones go on, by a model of their curves (freeze_thaw.cpp). Goes with
/// the scheduler of that name, which pauses them. Never exhausted by itself but by its
/// `max_total_t`; `space` has no grid.
std::unique_ptr<Searcher> make_freeze_thaw_search(const SearchSpace& space,
                                                  const FreezeThawSearchOptions& options);

/// The object of the scheduler freeze_thaw in a spec's scheduler, which may be its base; null: it
/// is another one.
const Json* find_freeze_thaw(const Json& scheduler);

/// `first` makes the first `switch_after` suggestions, `then` all others, which has been told
/// everything from the beginning (stages.cpp). Never exhausted, if neither is.
std::unique_ptr<Searcher> make_stages(std::unique_ptr<Searcher> first, std::int64_t switch_after,
                                      std::unique_ptr<Searcher> then);

/// What "auto" stands for (auto.cpp).
SearcherChoice choose_searcher(const PolicyContext& context);

/// Adds "random" and "grid": both make_variants; "grid" refuses a space without a grid_search.
/// Adds those that model, behind make_front (suggestion_filter.h): "bohb", "freeze_thaw", "gp",
/// "nsga2", "tpe". Adds "auto", which is one of them.
void add_searchers(Catalogue& catalogue);

}  // namespace tune
