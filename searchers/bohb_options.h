// The options of the searcher bohb. Defaults are HpBandSter's; docs/searchers.md explains them.
#pragma once

#include <cstdint>
#include <optional>

namespace tune {

struct BohbRules {
  std::optional<std::int64_t> min_points;  ///< on a budget, for a model of it; none: axes + 1
  std::int64_t top_n_percent = 15;         ///< of the configs on a budget are good ones
  std::int64_t num_samples = 64;           ///< points tried
  double bandwidth_factor = 3;             ///< so much wider than the model are they drawn
  double min_bandwidth = 1e-3;
};

struct BohbOptions {
  double random_fraction = 1.0 / 3;  ///< of the suggestions ask no model
  double max_t = 81;                 ///< the largest budget, in training iterations
  double reduction_factor = 3;       ///< between two budgets
  BohbRules rules;
  std::uint64_t seed = 0;
};

}  // namespace tune
