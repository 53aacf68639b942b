// Schedulers by name, and what they are told, for tests.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tests/policies/policies.h"
#include "tuner/space/search_space.h"

namespace tune {

/// The scheduler `name`, which minimises "loss", with these options.
inline std::unique_ptr<Scheduler> make_scheduler(const std::string& name,
                                                 const Json& options = nullptr,
                                                 std::uint64_t seed = 1) {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const PolicyContext context{space, {{"loss", Mode::min}}, 1,           seed,
                              {},    {{"cpu", 8}},          {{"cpu", 1}}};
  return all_policies().schedulers.at(name)(options, context);
}

/// What a scheduler has against these options: "POINTER: SENTENCE"; empty if nothing.
inline std::string refusal_of(const std::string& name, const Json& options,
                              const std::vector<Objective>& objectives = {{"loss", Mode::min}}) {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  try {
    PolicyContext context{space, objectives, 1, 1, {}, {{"cpu", 8}}, {{"cpu", 1}}};
    context.is_new = true;
    all_policies().schedulers.at(name)(options, context);
  } catch (const OptionError& error) {
    return error.pointer + ": " + error.what();
  }
  return "";
}

inline Trial trial_number(std::uint32_t id) {
  Trial trial;
  trial.id = TrialId(id);
  return trial;
}

inline Result result_at(std::int64_t iteration, double loss) {
  Result result;
  result.training_iteration = iteration;
  result.time_total_s = 10.0 * static_cast<double>(iteration);
  result.metrics.numbers = {{"loss", loss}, {"gain", -loss}};
  return result;
}

/// A trial that reports `losses` one after the other, from iteration 1 on, until the scheduler says
/// something else than to go on: at which iteration, or 0.
inline std::int64_t train(Scheduler& scheduler, std::uint32_t id, std::int64_t iterations,
                          double loss) {
  const Trial trial = trial_number(id);
  scheduler.on_trial_add(trial);
  for (std::int64_t i = 1; i <= iterations; ++i) {
    if (scheduler.on_result(trial, result_at(i, loss)).action != Action::proceed) return i;
  }
  return 0;
}

}  // namespace tune
