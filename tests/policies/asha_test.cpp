#include <algorithm>
#include <limits>

#include "tests/policies/scheduler_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr double nan_loss = std::numeric_limits<double>::quiet_NaN();

/// Rungs at 1, 2 and 4; the better half goes on.
const std::string loss_name = "loss";
const Json halves = {{"max_t", 4}, {"reduction_factor", 2}};

void finish(Scheduler& scheduler, std::uint32_t id, std::int64_t iteration, double loss,
            TrialState state) {
  Trial trial = trial_number(id);
  trial.state = state;
  trial.iteration = iteration;
  trial.last_metrics = "{}";
  trial.summaries.push_back(
      {.name = loss_name, .last = loss, .min = loss, .max = loss, .sum = loss, .count = 1});
  scheduler.on_trial_end(trial);
}

}  // namespace

TEST_CASE("asha stops what is below the cutoff of those before it", "[asha][unit]") {
  // By hand, losses at the rung of iteration 1, the cutoff being the median of those before:
  //   0.5: the first goes on        0.6: worse than 0.5
  //   0.4: better than 0.55         0.5: as good as the median of 0.4, 0.5, 0.6
  //   0.51: worse than 0.5
  const auto asha = make_scheduler("asha", halves);
  CHECK(train(*asha, 0, 1, 0.5) == 0);
  CHECK(train(*asha, 1, 1, 0.6) == 1);
  CHECK(train(*asha, 2, 1, 0.4) == 0);
  CHECK(train(*asha, 3, 1, 0.5) == 0);
  CHECK(train(*asha, 4, 1, 0.51) == 1);
  // And at iteration 2 those alone count that have come so far.
  CHECK(asha->on_result(trial_number(0), result_at(2, 0.45)).action == Action::proceed);
  CHECK(asha->on_result(trial_number(2), result_at(2, 0.45)).action == Action::proceed);
  CHECK(asha->on_result(trial_number(3), result_at(2, 0.46)).action == Action::stop);
}

TEST_CASE("asha lets go on what equals its cutoff but for rounding", "[asha][unit]") {
  // Two thirds of the way from the second to the best of three: 3, in doubles 3.0000000000000004.
  for (const double unit : {1.0, 0.1, 1e-9, 1e12}) {
    INFO(unit);
    const auto asha = make_scheduler("asha", {{"max_t", 1},
                                              {"metric", "gain"},
                                              {"mode", "max"},
                                              {"stop_last_trials", false},
                                              {"reduction_factor", 3}});
    for (const double gain : {5.0, 1.0, 2.0}) {
      asha->on_trial_add(trial_number(static_cast<std::uint32_t>(gain)));
      (void)asha->on_result(trial_number(static_cast<std::uint32_t>(gain)),
                            result_at(1, -gain * unit));
    }
    CHECK(train(*asha, 7, 1, -3 * unit) == 0);
    CHECK(train(*asha, 8, 1, -2.999 * unit) == 1);
  }
}

TEST_CASE("asha goes by larger values in mode max, and by a metric of its own", "[asha][unit]") {
  Json options = halves;
  options["metric"] = "gain";
  options["mode"] = "max";
  const auto asha = make_scheduler("asha", options);
  CHECK(train(*asha, 0, 1, 0.5) == 0);
  CHECK(train(*asha, 1, 1, 0.6) == 1);
  CHECK(train(*asha, 2, 1, 0.4) == 0);
}

TEST_CASE("asha lets trials be between the rungs", "[asha][unit]") {
  const auto asha = make_scheduler("asha", {{"max_t", 100}, {"grace_period", 5}});
  CHECK(train(*asha, 0, 20, 0.1) == 0);
  CHECK(train(*asha, 1, 20, 0.9) == 5);
  // The rungs are at 5, 20 and 80.
  CHECK(train(*asha, 2, 5, 0.05) == 0);
  for (std::int64_t i = 6; i < 20; ++i) {
    CHECK(asha->on_result(trial_number(2), result_at(i, 10)).action == Action::proceed);
  }
  CHECK(asha->on_result(trial_number(2), result_at(20, 10)).action == Action::stop);
}

TEST_CASE("asha stops at max_t, unless it is told not to", "[asha][unit]") {
  CHECK(train(*make_scheduler("asha", halves), 0, 100, 0.5) == 4);
  Json endless = halves;
  endless["stop_last_trials"] = false;
  const auto asha = make_scheduler("asha", endless);
  CHECK(train(*asha, 0, 100, 0.5) == 0);
  CHECK(train(*asha, 1, 100, 0.4) == 0);
  CHECK(train(*asha, 2, 100, 0.6) == 1);
}

TEST_CASE("asha says of a stop whether the trial has lost or come to max_t", "[asha][unit]") {
  const auto asha = make_scheduler("asha", halves);
  for (const std::uint32_t i : {0U, 1U}) asha->on_trial_add(trial_number(i));
  for (const int i : {1, 2}) {
    CHECK_FALSE(asha->on_result(trial_number(0), result_at(i, 0.5)).at_max);
  }
  const Decision loses = asha->on_result(trial_number(1), result_at(1, 0.9));
  CHECK(loses.action == Action::stop);
  CHECK_FALSE(loses.at_max);
  const Decision ends = asha->on_result(trial_number(0), result_at(4, 0.5));
  CHECK(ends.action == Action::stop);
  CHECK(ends.at_max);
}

TEST_CASE("asha stops NaN once there is a number, and counts it for nothing", "[asha][nan]") {
  const auto asha = make_scheduler("asha", halves);
  CHECK(train(*asha, 0, 1, nan_loss) == 0);  // with nothing to compare with
  CHECK(train(*asha, 1, 1, 0.9) == 0);
  CHECK(train(*asha, 2, 1, nan_loss) == 1);
  CHECK(train(*asha, 3, 1, 0.95) == 1);  // the cutoff is 0.9, whatever NaN there was
  CHECK(asha->on_result(trial_number(1), result_at(2, 0.9)).action == Action::proceed);
  CHECK(asha->on_result(trial_number(0), result_at(2, nan_loss)).action == Action::stop);
}

TEST_CASE("asha enters a trial that has passed several rungs into the highest one alone",
          "[asha][unit]") {
  const auto asha = make_scheduler("asha", {{"max_t", 100}, {"reduction_factor", 2}});
  CHECK(train(*asha, 0, 1, 0.5) == 0);
  asha->on_trial_add(trial_number(1));
  CHECK(asha->on_result(trial_number(1), result_at(5, 0.1)).action == Action::proceed);
  CHECK(asha->on_result(trial_number(1), result_at(6, 0.1)).action == Action::proceed);
  // Neither at 1 nor at 2 is there a value that took longer: the cutoff at 1 is still 0.5.
  CHECK(train(*asha, 2, 2, 0.5) == 0);
  CHECK(asha->on_result(trial_number(2), result_at(4, 0.2)).action == Action::stop);
}

TEST_CASE("asha counts each trial once at a rung, however often it comes by", "[asha][unit]") {
  const auto asha = make_scheduler("asha", halves);
  CHECK(train(*asha, 0, 1, 0.5) == 0);
  // Restored from an earlier checkpoint.
  for (int i = 0; i < 10; ++i) {
    CHECK(asha->on_result(trial_number(0), result_at(1, 0.9)).action == Action::proceed);
  }
  CHECK(train(*asha, 1, 1, 0.6) == 1);
}

TEST_CASE("asha counts a trial that ended well, and not one that failed", "[asha][unit]") {
  const auto asha = make_scheduler("asha", halves);
  for (const std::uint32_t id : {0, 1}) asha->on_trial_add(trial_number(id));
  finish(*asha, 0, 1, 0.1, TrialState::error);
  CHECK(train(*asha, 2, 1, 0.5) == 0);
  finish(*asha, 1, 1, 0.1, TrialState::terminated);
  // The median of 0.5 and 0.1 is 0.3.
  CHECK(train(*asha, 3, 1, 0.31) == 1);
  CHECK(train(*asha, 4, 1, 0.29) == 0);
}

TEST_CASE("asha goes by any number as time, and lets be what has none", "[asha][unit]") {
  const auto asha =
      make_scheduler("asha", {{"max_t", 40}, {"grace_period", 10}, {"time_attr", "time_total_s"}});
  CHECK(train(*asha, 0, 10, 0.5) == 4);
  const auto other = make_scheduler("asha", {{"max_t", 4}, {"time_attr", "epochs"}});
  CHECK(train(*other, 0, 10, 0.5) == 0);
  CHECK(train(*other, 1, 10, 0.6) == 0);
  Result result = result_at(10, 0.5);
  result.metrics.numbers.push_back({"epochs", 4});
  CHECK(other->on_result(trial_number(0), result).action == Action::stop);
}

TEST_CASE("asha's bracket s leaves out the s lowest rungs, and brackets do not mix",
          "[asha][unit]") {
  const auto asha =
      make_scheduler("asha", {{"max_t", 9}, {"reduction_factor", 3}, {"brackets", 2}});
  // Ever better ones go on, ever worse ones stop at the first rung of their bracket.
  std::vector<std::int64_t> ends;
  for (std::uint32_t id = 0; id < 200; ++id) ends.push_back(train(*asha, id, 8, id));
  CHECK(std::count(ends.begin(), ends.end(), 0) == 2);  // the first of each bracket
  const auto at_first = std::count(ends.begin(), ends.end(), 1);
  const auto at_second = std::count(ends.begin(), ends.end(), 3);
  CHECK(at_first + at_second == 198);
  // e^3 to e^2.
  CHECK(static_cast<double>(at_first) / 198 == Approx(0.731).margin(0.08));
}

TEST_CASE("asha lets about 1 of reduction_factor pass, in any order", "[asha][property]") {
  for (const double factor : {2.0, 3.0, 4.0}) {
    const auto asha = make_scheduler("asha", {{"max_t", 100}, {"reduction_factor", factor}});
    Random random(3);
    int passed = 0;
    constexpr int trials = 3000;
    for (std::uint32_t id = 0; id < trials; ++id) {
      if (train(*asha, id, 1, random.uniform()) == 0) ++passed;
    }
    CHECK(passed / double{trials} == Approx(1 / factor).margin(0.03));
  }
}

TEST_CASE("asha refuses options that make no sense", "[asha][options]") {
  CHECK(refusal_of("asha", {{"max_t", 0}}) == "/max_t: 'max_t' must be above 0, got 0");
  CHECK(refusal_of("asha", {{"grace_period", 101}}) ==
        "/grace_period: 'grace_period' must be at most max_t, got 101");
  CHECK(refusal_of("asha", {{"grace_period", 0}}) ==
        "/grace_period: 'grace_period' must be above 0, got 0");
  CHECK(refusal_of("asha", {{"reduction_factor", 1}}) ==
        "/reduction_factor: 'reduction_factor' must be at least 1.1, got 1");
  CHECK(refusal_of("asha", {{"brackets", 5}}) ==
        "/brackets: 'brackets' must be at most the number of rungs, which is 4 here, got 5");
  CHECK(refusal_of("asha", {{"eta", 3}}).find("/eta: unknown option 'eta'") == 0);
}

TEST_CASE("asha needs something to compare by", "[asha][options]") {
  const std::string sentence =
      ": this scheduler compares trials: name 'metric' and 'mode', in the spec or in the "
      "scheduler's options";
  CHECK(refusal_of("asha", {}, {}) == sentence);
  CHECK(refusal_of("asha", {{"metric", "loss"}}, {}) == sentence);
  CHECK(refusal_of("asha", {{"metric", "loss"}, {"mode", "min"}}, {}).empty());
}

TEST_CASE("A scheduler of a new search is told the mode of a metric that is not the experiment's",
          "[asha][options]") {
  const std::string sentence =
      "/mode: 'gain' is not the metric of the experiment: say which values of it are better, "
      "\"mode\": \"min\" or \"max\"";
  for (const char* const name :
       {"asha", "asha_promotion", "bohb", "hyperband", "median_stopping"}) {
    CAPTURE(name);
    CHECK(refusal_of(name, {{"metric", "gain"}}) == sentence);
    CHECK(refusal_of(name, {{"metric", "gain"}, {"mode", "max"}}).empty());
    CHECK(refusal_of(name, {{"metric", "loss"}}).empty());
    CHECK(refusal_of(name, {{"metric", "gain"}, {"mode", "up"}}).find("/mode: 'mode' must be") ==
          0);
    CHECK_NOTHROW(make_scheduler(name, {{"metric", "gain"}}));  // one that has begun
  }
}

TEST_CASE("Of several metrics of the spec asha takes the one it names, with its mode",
          "[asha][options]") {
  const std::vector<Objective> objectives = {{"loss", Mode::min}, {"gain", Mode::max}};
  CHECK_FALSE(refusal_of("asha", halves, objectives).empty());
  Json options = halves;
  options["metric"] = "gain";
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const auto asha = all_policies().schedulers.at("asha")(options, {space, objectives, 1, 1});
  CHECK(train(*asha, 0, 1, 0.5) == 0);
  CHECK(train(*asha, 1, 1, 0.6) == 1);
  CHECK(train(*asha, 2, 1, 0.4) == 0);
}
