#include <cmath>
#include <limits>

#include "tests/policies/scheduler_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr double nan_loss = std::numeric_limits<double>::quiet_NaN();

std::unique_ptr<Scheduler> median_by_iteration(Json more = Json::object()) {
  more["time_attr"] = "training_iteration";
  if (!more.contains("grace_period")) more["grace_period"] = 1;
  return make_scheduler("median_stopping", more);
}

/// Reports `losses` at iterations 1, 2, ...; the last decision.
Action report(Scheduler& scheduler, std::uint32_t id, const std::vector<double>& losses) {
  Trial trial = trial_number(id);
  scheduler.on_trial_add(trial);
  trial.state = TrialState::running;
  scheduler.on_trial_start(trial);
  Action action = Action::proceed;
  std::int64_t iteration = 0;
  for (const double loss : losses) {
    action = scheduler.on_result(trial, result_at(++iteration, loss)).action;
    if (action != Action::proceed) break;
  }
  return action;
}

/// Reports once, after `time` seconds of training.
Action report_at(Scheduler& scheduler, std::uint32_t id, double time, double loss) {
  Result result = result_at(1, loss);
  result.time_total_s = time;
  return scheduler.on_result(trial_number(id), result).action;
}

}  // namespace

TEST_CASE("median_stopping stops a trial whose best is worse than the median of averages",
          "[median_stopping][unit]") {
  // By hand. Averages of the others: at iteration 1: 1, 2, 6; at iteration 2: 2, 3, 5.
  const auto median = median_by_iteration();
  CHECK(report(*median, 0, {1, 3, 1}) == Action::proceed);
  CHECK(report(*median, 1, {2, 4}) == Action::proceed);
  CHECK(report(*median, 2, {6, 4}) == Action::proceed);
  // Their median at iteration 1 is 2, and 3 is worse.
  CHECK(report(*median, 3, {3}) == Action::stop);
  // Now it is of 1, 2, 3, 6: 2.5. As good is good enough. At iteration 2 it is 3.
  CHECK(report(*median, 4, {2.5}) == Action::proceed);
  CHECK(median->on_result(trial_number(4), result_at(2, 100)).action == Action::proceed);
  // At iteration 3 only one other has come so far: too few to compare with.
  CHECK(median->on_result(trial_number(4), result_at(3, 100)).action == Action::proceed);
}

TEST_CASE("median_stopping lets go on what equals the median but for rounding",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration();
  // The mean of three times 0.1 is 0.10000000000000002 in doubles.
  for (const std::uint32_t id : {0, 1, 2}) report(*median, id, {-0.1, -0.1, -0.1});
  CHECK(report(*median, 3, {-0.1, -0.1, -0.1}) == Action::proceed);
}

TEST_CASE("median_stopping knows averages whose sum no double holds, or that cancel",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration();
  for (const std::uint32_t id : {0, 1, 2}) report(*median, id, {1.7e308, 1.7e308, 1.7e308});
  CHECK(report(*median, 3, {1.6e308, 1.6e308, 1.6e308}) == Action::proceed);
  const auto other =
      make_scheduler("median_stopping", {{"time_attr", "training_iteration"}, {"grace_period", 1}});
  for (const std::uint32_t id : {0, 1, 2}) report(*other, id, {1e16, 1, -1e16, -1});
  // Their average is 0, in doubles -0.25.
  const auto loaded =
      make_scheduler("median_stopping", {{"time_attr", "training_iteration"}, {"grace_period", 1}});
  loaded->load(Json::parse(other->save().dump()));
  CHECK(loaded->save() == other->save());
  for (Scheduler* const each : {other.get(), loaded.get()}) {
    each->on_trial_add(trial_number(3));
    CHECK(each->on_result(trial_number(3), result_at(4, -0.1)).action == Action::proceed);
  }
}

TEST_CASE("median_stopping goes on with the sums of a state of before, which are numbers",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration();
  report(*median, 0, {0.25, 0.5});
  const Json state = median->save();
  CHECK(state.at("trials").at(0).at(3) == -0.75);
  median->load(state);
  CHECK(median->save() == state);
}

TEST_CASE("median_stopping holds a trial's best so far against the others, not its last",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration();
  for (const std::uint32_t id : {0, 1, 2}) report(*median, id, {5, 5, 5, 5});
  CHECK(report(*median, 3, {4, 100, 100, 100}) == Action::proceed);
  CHECK(report(*median, 4, {5.1}) == Action::stop);
}

TEST_CASE("median_stopping leaves what comes before the grace period out of the averages",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration({{"grace_period", 3}});
  for (const std::uint32_t id : {0, 1, 2}) report(*median, id, {100, 100, 2, 2});
  CHECK(report(*median, 3, {100, 100, 3}) == Action::stop);
  // But a best from before is a best.
  CHECK(report(*median, 4, {1, 100, 3}) == Action::proceed);
}

TEST_CASE("median_stopping waits for min_samples_required others", "[median_stopping][unit]") {
  const auto median = median_by_iteration({{"min_samples_required", 2}});
  CHECK(report(*median, 0, {1}) == Action::proceed);
  CHECK(report(*median, 1, {9}) == Action::proceed);
  CHECK(report(*median, 2, {9}) == Action::stop);
}

TEST_CASE("median_stopping gives way while it cannot compare and somebody waits",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration({{"min_time_slice", 2}});
  Trial other = trial_number(7);
  median->on_trial_add(other);
  CHECK(report(*median, 0, {1}) == Action::pause);
  // Not again before its time slice is over.
  CHECK(median->on_result(trial_number(0), result_at(2, 1)).action == Action::proceed);
  CHECK(median->on_result(trial_number(0), result_at(3, 1)).action == Action::proceed);
  CHECK(median->on_result(trial_number(0), result_at(4, 1)).action == Action::pause);
  // For one that runs, or waits for its retry, there is no way to give.
  other.state = TrialState::running;
  median->on_trial_start(other);
  CHECK(median->on_result(trial_number(0), result_at(9, 1)).action == Action::proceed);
  other.state = TrialState::pending;
  other.not_before = 5000;
  median->on_trial_wait(other);
  CHECK(median->on_result(trial_number(0), result_at(12, 1)).action == Action::proceed);
  other.not_before = 0;
  median->on_trial_wait(other);
  CHECK(median->on_result(trial_number(0), result_at(15, 1)).action == Action::pause);
}

TEST_CASE("median_stopping without hard_stop pauses once and lets the trial go on later",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration({{"hard_stop", false}});
  for (const std::uint32_t id : {0, 1, 2}) report(*median, id, {1, 1, 1});
  CHECK(report(*median, 3, {5}) == Action::pause);
  CHECK(median->on_result(trial_number(3), result_at(2, 5)).action == Action::proceed);
}

TEST_CASE("median_stopping ranks NaN worst", "[median_stopping][nan]") {
  const auto median = median_by_iteration();
  for (const std::uint32_t id : {0, 1}) report(*median, id, {nan_loss});
  CHECK(report(*median, 2, {4}) == Action::proceed);
  // Of NaN, NaN and 4 the median is NaN: nobody is worse.
  CHECK(report(*median, 3, {nan_loss}) == Action::proceed);
  for (const std::uint32_t id : {4, 5, 6, 7}) CHECK(report(*median, id, {4}) == Action::proceed);
  CHECK(report(*median, 8, {nan_loss}) == Action::stop);
  // One NaN among numbers is left out of the average.
  CHECK(report(*median, 9, {nan_loss}) == Action::stop);
  CHECK(report(*median, 10, {3}) == Action::proceed);
}

TEST_CASE("median_stopping counts what is repeated after a restore once",
          "[median_stopping][unit]") {
  const auto median = median_by_iteration();
  for (const std::uint32_t id : {0, 1}) report(*median, id, {1});
  for (int i = 0; i < 5; ++i) {
    CHECK(median->on_result(trial_number(0), result_at(1, 1)).action == Action::proceed);
  }
  CHECK(report(*median, 2, {9}) == Action::proceed);  // there are two others
}

TEST_CASE("median_stopping compares times that are not the same on a grid of them",
          "[median_stopping][unit]") {
  const auto median = make_scheduler("median_stopping", {{"grace_period", 10}});
  const auto at = [&](std::uint32_t id, double time, double loss) {
    return report_at(*median, id, time, loss);
  };
  for (const std::uint32_t id : {0, 1, 2, 3}) report(*median, id, {});
  // At 100 s the others' averages are those of 50 s: 1, 2 and 3. Later results do not count there.
  CHECK(at(0, 50.3, 1) == Action::proceed);
  CHECK(at(1, 49.2, 2) == Action::proceed);
  CHECK(at(2, 51.7, 3) == Action::proceed);
  CHECK(at(0, 150.3, 9) == Action::proceed);
  CHECK(at(1, 151.2, 9) == Action::proceed);
  // Nobody else has come as far as 152 s, and the third not to 100 s.
  CHECK(at(3, 100.1, 2.5) == Action::proceed);
  CHECK(at(2, 152.7, 9) == Action::proceed);
  CHECK(at(3, 101.9, 2.5) == Action::stop);
}

TEST_CASE("median_stopping judges a trial once at each point of the grid",
          "[median_stopping][unit]") {
  const auto median = make_scheduler("median_stopping", {{"grace_period", 10}});
  const auto at = [&](std::uint32_t id, double time, double loss) {
    return report_at(*median, id, time, loss);
  };
  for (std::uint32_t id = 0; id < 7; ++id) report(*median, id, {});
  const auto pass_by = [&](std::uint32_t id, double loss) {
    CHECK(at(id, 50, loss) == Action::proceed);
    CHECK(at(id, 150 + id, loss) == Action::proceed);
  };
  for (const std::uint32_t id : {0, 1, 2}) pass_by(id, 2);
  CHECK(at(3, 101.1, 1.5) == Action::proceed);
  for (const std::uint32_t id : {4, 5, 6}) pass_by(id, 0.1);
  CHECK(at(3, 101.9, 1.5) == Action::proceed);
  CHECK(at(3, 102.1, 1.5) == Action::stop);
}

TEST_CASE("median_stopping refuses options that make no sense", "[median_stopping][options]") {
  CHECK(refusal_of("median_stopping", {{"grace_period", -1}}) ==
        "/grace_period: 'grace_period' must be at least 0, got -1");
  CHECK(refusal_of("median_stopping", {{"min_samples_required", 0}}) ==
        "/min_samples_required: 'min_samples_required' must be at least 1, got 0");
  CHECK(refusal_of("median_stopping", nullptr, {}).find(": this scheduler compares") == 0);
}
