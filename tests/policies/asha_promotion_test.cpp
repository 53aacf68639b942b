#include <algorithm>
#include <limits>
#include <map>

#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr double nan_loss = std::numeric_limits<double>::quiet_NaN();

/// Rungs at 1, 2 and 4.
const Json halves = {{"max_t", 8}, {"reduction_factor", 2}};

/// The decision on a result; a pause is carried out.
Action report(Scheduler& scheduler, std::uint32_t id, std::int64_t iteration, double loss) {
  Trial trial = trial_number(id);
  const Action action = scheduler.on_result(trial, result_at(iteration, loss)).action;
  trial.state = TrialState::paused;
  if (action == Action::pause) scheduler.on_trial_wait(trial);
  return action;
}

Action add_and_report(Scheduler& scheduler, std::uint32_t id, double loss) {
  scheduler.on_trial_add(trial_number(id));
  return report(scheduler, id, 1, loss);
}

World::Make promotion(const Json& options) {
  return [options] { return make_scheduler("asha_promotion", options); };
}

/// How many trials have ended or wait at each iteration.
std::map<std::int64_t, int> iterations_of(const World& world) {
  std::map<std::int64_t, int> counts;
  for (const Trial& trial : world.experiment().trials()) ++counts[trial.iteration];
  return counts;
}

}  // namespace

TEST_CASE("asha_promotion promotes who is among the best 1/reduction_factor when it arrives",
          "[asha_promotion][unit]") {
  // By hand, at the rung of iteration 1; of n trials there the best floor(n / 2) may go on.
  const auto asha = make_scheduler("asha_promotion", halves);
  CHECK(add_and_report(*asha, 0, 0.50) == Action::pause);    // of 1: none
  CHECK(add_and_report(*asha, 1, 0.40) == Action::proceed);  // of 2: 0.40
  CHECK(add_and_report(*asha, 2, 0.60) == Action::pause);    // of 3: 0.40
  CHECK(add_and_report(*asha, 3, 0.45) == Action::proceed);  // of 4: 0.40, 0.45
  CHECK(add_and_report(*asha, 4, 0.30) == Action::proceed);  // of 5: 0.30, 0.40
  CHECK(add_and_report(*asha, 5, 0.90) == Action::pause);    // of 6: 0.30, 0.40, 0.45
  // At iteration 2 those count that have come so far.
  CHECK(report(*asha, 1, 2, 0.40) == Action::pause);
  CHECK(report(*asha, 4, 2, 0.30) == Action::proceed);
  CHECK(report(*asha, 4, 3, 0.30) == Action::proceed);
  CHECK(report(*asha, 4, 4, 0.30) == Action::pause);
}

TEST_CASE("asha_promotion resumes the best of the highest rung first", "[asha_promotion][unit]") {
  World world(promotion(halves), 7, 1);
  // Ever worse ones: every second arrival makes room for one more of those that wait.
  world.loss = [](TrialId id, std::int64_t) { return static_cast<double>(index_of(id)); };
  world.run();
  std::vector<std::size_t> starts;
  for (const TrialId id : world.starts()) starts.push_back(index_of(id));
  // 0 and 1 arrive: 0 goes on to iteration 2, where it is alone. 2 and 3: 1 goes on to iteration
  // 2, where 0 is better of the two and goes on to 4. So it goes for 4, 5 and 6. At last, with
  // nothing new to come, 0 goes on from 4, the only one there.
  CHECK(starts == std::vector<std::size_t>{0, 1, 0, 2, 3, 1, 0, 4, 5, 2, 6, 0});
  CHECK(world.trial(0).state == TrialState::terminated);
  CHECK(world.trial(0).iteration == 8);
  CHECK(iterations_of(world) == std::map<std::int64_t, int>{{1, 4}, {2, 2}, {8, 1}});
}

TEST_CASE("asha_promotion promotes nobody outside the best 1/reduction_factor",
          "[asha_promotion][property]") {
  for (const int factor : {3, 4, 5}) {
    // All that leave the lowest rung end at the next result.
    World world(promotion({{"max_t", 2}, {"reduction_factor", factor + 0.0}}), 300, 3);
    world.loss = [](TrialId id, std::int64_t) { return Random(index_of(id)).uniform(); };
    std::vector<double> seen;  // at the lowest rung
    int promoted = 0;
    const auto check_promotion = [&](TrialId id) {
      const double loss = world.loss(id, 1);
      const auto better =
          std::count_if(seen.begin(), seen.end(), [&](double other) { return other < loss; });
      CHECK(better < std::ssize(seen) / factor);
      ++promoted;
    };
    std::vector<bool> has_reported(300);
    std::size_t starts = 0;
    while (world.step()) {
      // Those that were resumed, then the one that has reported.
      for (; starts < world.starts().size(); ++starts) {
        const TrialId id = world.starts()[starts];
        if (has_reported[index_of(id)]) check_promotion(id);
      }
      for (const Trial& trial : world.experiment().trials()) {
        if (trial.iteration != 1 || has_reported[index_of(trial.id)]) continue;
        has_reported[index_of(trial.id)] = true;
        seen.push_back(world.loss(trial.id, 1));
        const bool goes_on = world.events().back().find("\"pause\"") == std::string::npos;
        if (goes_on) check_promotion(trial.id);
      }
    }
    // All of those in the end, and not many others that were among them for a while.
    CHECK(promoted >= 300 / factor);
    CHECK(promoted <= 300 / factor + 20);
  }
}

TEST_CASE("asha_promotion lets one trial come all the way when too few have come for a promotion",
          "[asha_promotion][unit]") {
  World world(promotion({{"max_t", 64}}), 5, 2);
  world.loss = [](TrialId id, std::int64_t) { return index_of(id) == 3 ? 0.0 : 1.0; };
  world.run();
  CHECK(iterations_of(world) == std::map<std::int64_t, int>{{1, 4}, {64, 1}});
  CHECK(world.trial(3).state == TrialState::terminated);
  CHECK(world.experiment().paused().size() == 4);
}

TEST_CASE("asha_promotion never promotes NaN", "[asha_promotion][nan]") {
  World world(promotion(halves), 20, 3);
  world.loss = [](TrialId id, std::int64_t) {
    return index_of(id) % 5 == 0 ? static_cast<double>(index_of(id)) : nan_loss;
  };
  world.run();
  for (const Trial& trial : world.experiment().trials()) {
    if (index_of(trial.id) % 5 != 0) CHECK(trial.iteration == 1);
  }
  World only_nan(promotion(halves), 9, 3);
  only_nan.loss = [](TrialId, std::int64_t) { return nan_loss; };
  only_nan.run();
  CHECK(iterations_of(only_nan) == std::map<std::int64_t, int>{{1, 9}});
}

TEST_CASE("asha_promotion starts a failed trial again before it promotes another",
          "[asha_promotion][unit]") {
  const auto scheduler = make_scheduler("asha_promotion", halves);
  Experiment experiment;
  const auto apply = [&](EventBody body) {
    experiment.apply({experiment.last_event() + 1, 100, std::move(body)});
  };
  apply(SessionStarted{"host", 1, "test"});
  for (std::uint32_t id : {0, 1, 2, 3}) {
    apply(TrialAdded{TrialId(id), "{}", "", ""});
    scheduler->on_trial_add(experiment.trial(TrialId(id)));
    apply(AttemptStarted{TrialId(id), 1, 0, {}});
    scheduler->on_trial_start(experiment.trial(TrialId(id)));
  }
  const auto end = [&](std::uint32_t id, Outcome outcome, Seconds not_before = 0) {
    apply(AttemptEnded{TrialId(id), 1, outcome, "", outcome == Outcome::failed, not_before});
    scheduler->on_trial_wait(experiment.trial(TrialId(id)));
  };
  // Two decide to pause; the worse one is worse than what has been promoted.
  CHECK(scheduler->on_result(trial_number(0), result_at(1, 0.5)).action == Action::pause);
  end(0, Outcome::paused);
  CHECK(scheduler->choose(experiment, 100, true) == std::nullopt);
  CHECK(scheduler->on_result(trial_number(1), result_at(1, 0.9)).action == Action::pause);
  // Its process dies while it saves: it counts at the rung all the same.
  end(1, Outcome::failed, 150);
  CHECK(scheduler->choose(experiment, 100, true) == TrialId(0));
  end(2, Outcome::failed, 120);
  CHECK(scheduler->choose(experiment, 100, true) == TrialId(0));
  CHECK(scheduler->choose(experiment, 120, true) == TrialId(2));
  // It comes to the rung once more, and is no promotion.
  CHECK(scheduler->choose(experiment, 150, true) == TrialId(1));
  apply(AttemptStarted{TrialId(1), 2, 0, {}});
  scheduler->on_trial_start(experiment.trial(TrialId(1)));
  CHECK(scheduler->on_result(trial_number(1), result_at(1, 0.9)).action == Action::pause);
}

TEST_CASE("asha_promotion lets a trial that could not be saved come to its rung again",
          "[asha_promotion][unit]") {
  const auto scheduler = make_scheduler("asha_promotion", {{"max_t", 16}, {"grace_period", 4}});
  Trial trial = trial_number(0);
  scheduler->on_trial_add(trial);
  CHECK(scheduler->on_result(trial, result_at(4, 0.5)).action == Action::pause);
  trial.state = TrialState::pending;
  scheduler->on_trial_wait(trial);
  scheduler->on_trial_start(trial);
  for (std::int64_t iteration : {1, 2, 3}) {
    CHECK(scheduler->on_result(trial, result_at(iteration, 0.9)).action == Action::proceed);
  }
  CHECK(scheduler->on_result(trial, result_at(4, 0.5)).action == Action::pause);
}

TEST_CASE("asha_promotion pauses again a trial whose save has failed", "[asha_promotion][unit]") {
  const auto scheduler = make_scheduler("asha_promotion", halves);
  scheduler->on_trial_add(trial_number(0));
  CHECK(scheduler->on_result(trial_number(0), result_at(1, 0.5)).action == Action::pause);
  CHECK(scheduler->on_result(trial_number(0), result_at(2, 0.1)).action == Action::pause);
  // What counts is what it had at the rung.
  CHECK(add_and_report(*scheduler, 1, 0.4) == Action::proceed);
}

TEST_CASE("asha_promotion has the options of asha", "[asha_promotion][options]") {
  CHECK(refusal_of("asha_promotion", {{"grace_period", 101}}) ==
        "/grace_period: 'grace_period' must be at most max_t, got 101");
  CHECK(refusal_of("asha_promotion", {{"brackets", 4}, {"stop_last_trials", false}}).empty());
}
