// Shows the rows to the judge that the driver asks.
#include "tuner/view/ignored_config.h"

#include <algorithm>
#include <cstdint>

#include "callbacks/result_text.h"
#include "tuner/run/trials/config_effect.h"

namespace tune {

namespace {

/// A result as its program has reported it: the driver's own numbers are of the launch.
Result result_of(const Metrics& row) {
  Result result;
  result.training_iteration = static_cast<std::int64_t>(*row.find("training_iteration"));
  result.time_total_s = row.find("time_total_s").value_or(0);
  for (const Metric& metric : row.numbers) {
    if (!is_driver_field(metric.name)) result.metrics.numbers.push_back(metric);
  }
  return result;
}

/// With all of its rows.
void show(const ResultGrid& grid, const Trial& trial, ConfigEffect& effect) {
  Trial before;
  before.id = trial.id;
  before.lineage = trial.lineage;
  before.start_checkpoint = trial.start_checkpoint;
  grid.each_row(trial, [&](const Metrics& row) {
    const Result result = result_of(row);
    effect.on_result(before, result);
    before.iteration = before.counted_iteration = result.training_iteration;
  });
}

}  // namespace

IgnoredConfig ignored_config(const ResultGrid& grid) {
  ConfigEffect effect(grid.spec());
  const Trials& trials = grid.experiment().trials();
  for (const Trial& trial : trials) {
    if (effect.is_over()) return {};
    show(grid, trial, effect);
  }
  for (const Trial& trial : trials) {
    if (trial.state != TrialState::terminated) continue;
    const std::string sentence = effect.on_end(trial);
    if (!sentence.empty()) return {sentence, effect.alike()};
  }
  return {};
}

}  // namespace tune
