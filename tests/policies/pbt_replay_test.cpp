#include <algorithm>

#include "tests/policies/scheduler_helpers.h"
#include "tests/policies/scheduler_world.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Clone, donor, iteration of the clone, of the donor, donor's config, new config.
Json row(const char* clone, const char* donor, int at, double before, double after) {
  return {clone, donor, 100, at, {{"x", before}}, {{"x", after}}};
}

/// 0.1 until iteration 2, 0.2 until 5, then 0.3.
const Json& schedule() {
  static const Json rows = {row("b", "a", 2, 0.1, 0.2), row("c", "b", 5, 0.2, 0.3)};
  return rows;
}

World replay_of(const Json& rows, std::uint32_t trials = 1, std::size_t slots = 1) {
  World world([rows] { return make_scheduler("pbt_replay", {{"policy", rows}}); }, trials, slots);
  world.longest = 8;
  return world;
}

/// With what trial 0 has trained each iteration.
std::map<std::int64_t, double> trained(World& world) {
  world.run();
  const Trial& trial = world.experiment().trial(TrialId{0});
  const auto x_in = [](const InternedJson& config) {
    return Json::parse(config.text())["x"].get<double>();
  };
  std::map<std::int64_t, double> configs;
  for (std::int64_t iteration = 1; iteration <= trial.iteration; ++iteration) {
    const auto changed_later =
        std::find_if(trial.lineage.begin(), trial.lineage.end(),
                     [&](const Cloning& cloning) { return cloning.iteration >= iteration; });
    configs[iteration] =
        x_in(changed_later != trial.lineage.end() ? changed_later->old_config : trial.config);
  }
  return configs;
}

}  // namespace

TEST_CASE("A replay trains with the recorded configs from the recorded iterations on",
          "[pbt_replay]") {
  World world = replay_of(schedule());
  const std::map<std::int64_t, double> expected = {{1, 0.1}, {2, 0.1}, {3, 0.2}, {4, 0.2},
                                                   {5, 0.2}, {6, 0.3}, {7, 0.3}, {8, 0.3}};
  CHECK(trained(world) == expected);
  const Trial& trial = world.experiment().trial(TrialId{0});
  CHECK(trial.state == TrialState::terminated);
  CHECK(trial.iteration == 8);
  CHECK(trial.lineage.size() == 3);  // the first gave it the initial config
  CHECK(trial.tag == "x=0.3");
}

TEST_CASE("What a clone was before it became one is no part of its schedule", "[pbt_replay]") {
  Json rows = schedule();
  rows.insert(rows.begin(), row("c", "d", 1, 0.7, 0.8));
  World world = replay_of(rows);
  CHECK(trained(world).at(1) == 0.1);
  CHECK(world.experiment().trial(TrialId{0}).lineage.size() == 3);
}

TEST_CASE("Whatever happens on the way, a replay ends with the last config", "[pbt_replay]") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    World world([] { return make_scheduler("pbt_replay", {{"policy", schedule()}}); }, 6, 2, seed);
    world.longest = 8;
    world.troubles = {0.05, 0.1, 0, 0.05, 0};
    world.reload_every = 3;
    world.run();
    CHECK(world.traces().empty());
    for (const Trial& trial : world.experiment().trials()) {
      if (trial.state != TrialState::terminated) continue;
      CHECK(trial.iteration == 8);
      CHECK(trial.config == R"({"x":0.3})");
    }
  }
}

TEST_CASE("A replay changes the config where it stopped, even if it goes on from before",
          "[pbt_replay]") {
  // As a function does that hands over no checkpoint with this report.
  const auto scheduler = make_scheduler("pbt_replay", {{"policy", schedule()}});
  Trial trial = trial_number(0);
  trial.config = R"({"x":0.1})";
  scheduler->on_trial_add(trial);
  CHECK_FALSE(scheduler->order());
  trial.state = TrialState::running;
  trial.iteration = 1;
  CHECK(scheduler->on_result(trial, result_at(2, 1)).action == Action::pause);
  trial.iteration = 2;
  trial.state = TrialState::paused;
  scheduler->on_trial_wait(trial);
  const auto order = scheduler->order();
  REQUIRE(order);
  CHECK(order->trial == trial.id);
  CHECK(order->exploit->donor == trial.id);
  CHECK(order->exploit->config == R"({"x":0.2})");
  trial.config = order->exploit->config;
  scheduler->on_order(trial);
  CHECK_FALSE(scheduler->order());
  // From scratch, and yet not stopped again before the next change.
  trial.iteration = 0;
  for (int i = 1; i < 5; ++i) {
    CHECK(scheduler->on_result(trial, result_at(i, 1)).action == Action::proceed);
  }
  CHECK(scheduler->on_result(trial, result_at(5, 1)).action == Action::pause);
}

TEST_CASE("A driver that dies before the pause was saved repeats it", "[pbt_replay]") {
  const auto scheduler = make_scheduler("pbt_replay", {{"policy", schedule()}});
  Trial trial = trial_number(0);
  trial.config = R"({"x":0.1})";
  scheduler->on_trial_add(trial);
  CHECK(scheduler->on_result(trial, result_at(2, 1)).action == Action::pause);
  trial.iteration = 2;
  trial.state = TrialState::pending;  // interrupted, and nothing saved
  scheduler->on_trial_wait(trial);
  CHECK_FALSE(scheduler->order());
}

TEST_CASE("A policy that is none is refused, with the row", "[pbt_replay]") {
  CHECK(refusal_of("pbt_replay", Json::object()).find("needs a 'policy_file'") !=
        std::string::npos);
  CHECK(refusal_of("pbt_replay", {{"policy", Json::array()}}).starts_with("/policy: "));
  for (const Json& bad : {Json(3), Json::array(), Json{"a", "b", 1, "x", {{"x", 1}}, {{"x", 2}}},
                          Json{"a", "b", 1, 2, 3, {{"x", 2}}}}) {
    CHECK(refusal_of("pbt_replay", {{"policy", {schedule()[0], bad}}}).starts_with("/policy/1: "));
  }
}
