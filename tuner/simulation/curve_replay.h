// Simulates trials along recorded learning curves, and reports the best value found by each time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "tuner/policy/catalogue.h"
#include "tuner/simulation/curve_table.h"
#include "tuner/simulation/simulation.h"
#include "tuner/spec/spec.h"

namespace tune {

struct ReplayOptions {
  std::uint64_t seed = 0;   ///< of the order in which configs are drawn, and of the scheduler
  std::size_t configs = 0;  ///< at most so many are drawn; 0: all
  /// A searcher's object in a spec: it decides what is drawn next, as the nearest config of the
  /// table in the spec's param space. Null: the order does.
  Json searcher = nullptr;
  std::vector<Seconds> budgets;  ///< ascending; all ends at the last. Empty: when nothing is left
  std::optional<double> target;  ///< of the spec's metric
  Seconds launch_s = 0;
  Seconds save_s = 0;
  std::filesystem::path directory;  ///< see SimulationOptions
};

/// The state of a simulation when a budget was used up, or at its end.
struct ReplayMark {
  std::optional<Seconds> budget_s;  ///< nothing: at the end
  Seconds time_s = 0;               ///< of the last result until then
  double best = 0;                  ///< value of the metric in any result; NaN: none
  std::optional<Seconds> target_s;  ///< when the target was first reached
  std::uint64_t trials = 0;         ///< started
  std::uint64_t iterations = 0;     ///< trained, repeated ones too
};

/// Simulates `spec` on the table's configs, drawn without replacement in an order that the seed
/// or a searcher decides. One mark for each budget; one if there are none. Error (user) if the
/// table lacks the spec's metric or a hyperparameter that the searcher looks at, or the scheduler
/// makes configs that are not in the table.
std::vector<ReplayMark> replay_curves(const ExperimentSpec& spec, const Catalogue& catalogue,
                                      const CurveTable& table, const ReplayOptions& options);

/// The best value of the metric anywhere in the table. Error (user) if the table lacks the metric.
double best_in(const CurveTable& table, const Objective& objective);

}  // namespace tune
