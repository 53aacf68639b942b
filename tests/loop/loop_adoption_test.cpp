// The loop in virtual time: drivers that are killed, and processes that outlive them.
#include <algorithm>
#include <map>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

struct Fifo final : Scheduler {
  Decision on_result(const Trial&, const Result&) override { return {}; }
};

/// Four trials on two nodes; ten steps of 10 s, saved every second one.
struct Survivors : SlowHarness {
  Survivors() {
    nodes = {{"oak", {{"cpu", 2}}, {}}, {"elm", {{"cpu", 2}}, {}}};
    spec.checkpoint_config.checkpoint_frequency = 2;
  }

  /// Of each trial all iterations, as they were recorded.
  std::map<TrialId, std::vector<std::int64_t>> recorded() {
    std::map<TrialId, std::vector<std::int64_t>> of;
    for (const Event& event : events()) {
      const auto* const reported = std::get_if<ResultReported>(&event.body);
      if (reported == nullptr) continue;
      of[reported->trial].push_back(reported->result.training_iteration);
    }
    return of;
  }

  void check_each_iteration_once() {
    std::vector<std::int64_t> expected;
    for (std::int64_t i = 1; i <= iterations; ++i) expected.push_back(i);
    for (const auto& [id, of_trial] : recorded()) {
      CAPTURE(to_string(id));
      CHECK(of_trial == expected);
    }
    for (int i = 0; i < trials; ++i) CHECK(trial(i).state == TrialState::terminated);
  }

  void check_none_restarted() {
    for (int i = 0; i < trials; ++i) CHECK(trial(i).attempt == 1);
    CHECK(launches == trials);
  }
};

}  // namespace

TEST_CASE("Trials go on in their processes when their driver was killed, and none starts again",
          "[loop][adoption]") {
  Survivors harness;
  SECTION("and resumed at once") { CHECK(harness.run_until_killed(35)); }
  SECTION("and resumed when all have answered long since") {
    CHECK(harness.run_until_killed(35, 20));
  }
  SECTION("and resumed twice") {
    CHECK(harness.run_until_killed(35, 3));
    CHECK(harness.run_until_killed(71, 1));
  }
  const Seconds before = harness.clock.time;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.adopted.adopted.size() == 4);
  harness.check_each_iteration_once();
  harness.check_none_restarted();
  CHECK(harness.clock.time < before + 70);
}

TEST_CASE("Callbacks begin a step before they hear what processes have said without a driver",
          "[loop][adoption]") {
  struct Order : Callback {
    Order(std::vector<std::int64_t>& first, int& begun) : first_results(first), steps(begun) {}
    std::string name() const override { return "order"; }
    void on_step_begin(const Experiment& experiment) override {
      if (steps++ > 0) return;
      for (const Trial& trial : experiment.trials()) first_results.push_back(trial.iteration);
    }
    void on_trial_result(const Trial&, Result&) override { CHECK(steps > 0); }
    std::vector<std::int64_t>& first_results;
    int& steps;
  };
  Survivors harness;
  CHECK(harness.run_until_killed(35, 20));
  std::vector<std::int64_t> recorded_before, seen;
  for (int i = 0; i < harness.trials; ++i) recorded_before.push_back(harness.trial(i).iteration);
  int steps = 0;
  harness.callbacks.push_back(std::make_unique<Order>(seen, steps));
  harness.run();
  CHECK(seen == recorded_before);
  harness.check_each_iteration_once();
}

TEST_CASE("A step lasts from when the driver before has asked for it", "[loop][adoption]") {
  Survivors harness;
  CHECK(harness.run_until_killed(35, 2));
  harness.run();
  // As long as all others took.
  for (int i = 0; i < 4; ++i) CHECK(harness.trial(i).time_total_s == Approx(100).margin(0.1));
}

TEST_CASE("A driver that is killed at whatever moment loses no result and doubles none",
          "[loop][adoption]") {
  const int kind = GENERATE(0, 1, 2);
  CAPTURE(kind);
  std::size_t adopted = 0;
  for (int uses = 1;; ++uses) {
    CAPTURE(uses);
    Survivors harness;
    harness.trials = 2;
    harness.iterations = 4;
    if (kind == 1) {
      harness.program.is_function = harness.program.can_save = true;
      harness.spec.checkpoint_config.checkpoint_at_end = true;
    } else if (kind == 2) {
      harness.spec.workers = TrialWorkers{2, {{"cpu", 1}}};
      harness.spec.resources_per_trial = {{"cpu", 2}};
    }
    harness.dies_at_use = uses;
    const bool was_killed = harness.run_until_killed();
    if (was_killed) CHECK(harness.run().kind == LoopEnd::Kind::finished);
    harness.check_each_iteration_once();
    adopted += harness.adopted.adopted.size();
    if (!was_killed) break;
  }
  CHECK(adopted > 20);
}

TEST_CASE("What was told more than the journal knows is not adopted", "[loop][adoption]") {
  Survivors harness;
  harness.trials = 1;
  CHECK(harness.run_until_killed(35));
  // Records that the disk has not kept.
  KeptLaunch kept = harness.left_behind->kept().at(0);
  const auto plan = [&](const KeptLaunch& launch) {
    return plan_adoption(harness.experiment, harness.spec, harness.nodes, {launch}, {});
  };
  REQUIRE(plan(kept).adopted.size() == 1);
  CHECK(plan(kept).adopted[0].stage == Adoption::Stage::stepping);
  CHECK(plan(kept).last_launch == kept.launch);
  const auto with = [&](const auto& change) {
    KeptLaunch changed = kept;
    change(changed);
    const AdoptionPlan made = plan(changed);
    CHECK(made.last_launch == kept.launch);
    return made.adopted.size();
  };
  CHECK(with([](KeptLaunch& of) { of.iteration += 1; }) == 0);
  CHECK(with([](KeptLaunch& of) { of.attempt += 1; }) == 0);
  CHECK(with([](KeptLaunch& of) { of.trial = "trial_00007"; }) == 0);
  CHECK(with([](KeptLaunch& of) { of.told = KeptLaunch::Told::stop; }) == 0);
  CHECK(with([](KeptLaunch& of) { of.told = KeptLaunch::Told::nothing; }) == 0);
  CHECK(with([](KeptLaunch& of) { of.hello.reset(); }) == 0);
  CHECK(with([](KeptLaunch& of) { of.spec.own_environment.clear(); }) == 0);
  CHECK(with([](KeptLaunch& of) { of.spec.rank = Rank{1, 2, {}, {}, {}}; }) == 0);
  CHECK(plan_adoption(harness.experiment, harness.spec, harness.nodes, {kept}, {TrialId{5}})
            .adopted.empty());
  harness.run();
}

TEST_CASE("Of a trial that goes on where it is nobody says that it begins anew",
          "[loop][adoption]") {
  Survivors harness;
  harness.trials = 1;
  harness.spec.checkpoint_config.checkpoint_frequency = 0;
  CHECK(harness.run_until_killed(35));
  const Fifo scheduler;
  ResumeOptions options;
  const auto notices = [&] {
    return plan_resume(harness.experiment, options, nullptr, false, scheduler).notices;
  };
  REQUIRE(notices().size() == 1);
  CHECK_THAT(notices()[0], Contains("begins anew"));
  options.adopted = {TrialId{0}};
  CHECK(notices().empty());
  harness.run();
}

TEST_CASE("What does not fit any more on its node is not adopted", "[loop][adoption]") {
  Survivors harness;
  CHECK(harness.run_until_killed(35));
  harness.nodes[1].totals["cpu"] = 1;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.adopted.adopted.size() == 3);
  for (int i = 0; i < 4; ++i) CHECK(harness.trial(i).iteration == 10);
}

TEST_CASE("A process that was reset is adopted for the trial that it has become",
          "[loop][adoption]") {
  Survivors harness;
  harness.trials = 8;
  harness.program.can_reset = true;
  harness.spec.reuse_processes = true;
  CHECK(harness.run_until_killed(135));
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.adopted.adopted.size() == 4);
  harness.check_each_iteration_once();
  CHECK(harness.launches == 4);
}
