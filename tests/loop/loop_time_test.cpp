// The loop in virtual time: budgets, and clocks that somebody sets.
#include <algorithm>
#include <csignal>
#include <utility>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"

using namespace tune;
using Catch::Matchers::Contains;

TEST_CASE("A time budget ends the experiment, and only running time counts", "[loop][stop]") {
  Harness harness;
  harness.trials = 100;
  harness.resources = {{"cpu", 1}};
  harness.iterations = 1000;
  harness.spec.time_budget_s = 10;
  harness.signals = {{4.5, SIGTERM}};
  CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
  const Seconds ran = harness.experiment.running_s(harness.clock.now());
  CHECK(ran == Approx(5).margin(0.5));
  harness.clock.time += 1000;  // nobody works on it meanwhile
  CHECK(harness.experiment.running_s(harness.clock.now()) == ran);

  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::stopped);
  CHECK(harness.experiment.running_s(harness.clock.now()) == Approx(11).margin(1));
  CHECK(harness.trial(0).state == TrialState::pending);
}

TEST_CASE("To limit logs the loop wakes up about once a second, and not all the time", "[loop]") {
  struct Batching : Callback {
    explicit Batching(Harness& of, int& all) : harness(of), count(all) {}
    std::string name() const override { return "turns"; }
    void on_step_begin(const Experiment&) override {
      if (++count > 1000) harness.clock.time += 1;  // so that it ends
    }
    Harness& harness;
    int& count;
  };
  int turns = 0;
  SlowHarness harness;
  harness.trials = 1;
  harness.spec.max_log_bytes = 1 << 20;
  harness.callbacks.push_back(std::make_unique<Batching>(harness, turns));
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.clock.time == Approx(100).margin(1));
  CHECK(turns >= 95);
  CHECK(turns < 400);
}

TEST_CASE("A time budget saves what runs, however long its iteration, and can be gone on from",
          "[loop][stop]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 3;
  harness.spec.time_budget_s = 150;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 100};
  };
  CHECK(harness.run().kind == LoopEnd::Kind::stopped);
  CHECK(harness.trial(0).state == TrialState::pending);
  REQUIRE(harness.trial(0).checkpoints.size() == 1);
  CHECK(harness.trial(0).checkpoints[0].iteration == 2);
  harness.spec.time_budget_s = 1000;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.experiment.results() == 3);
}

TEST_CASE(
    "Whoever does not come to a result within the grace of a stop is ended, and goes on later",
    "[loop][stop]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 2;
  harness.spec.time_budget_s = 150;
  harness.spec.last_result_grace_s = 20;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 100};
  };
  CHECK(harness.run().kind == LoopEnd::Kind::stopped);
  CHECK(harness.clock.time == Approx(170).margin(1));
  CHECK(harness.trial(0).state == TrialState::pending);
}

TEST_CASE("Time in which the driver stood still does not count in the grace of a stop",
          "[loop][stop]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.time_budget_s = 150;
  harness.spec.last_result_grace_s = 60;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 100};
  };
  harness.freeze = {160, 3600};
  CHECK(harness.run().kind == LoopEnd::Kind::stopped);
  CHECK(harness.trial(0).iteration == 2);
  CHECK(harness.trial(0).state == TrialState::pending);
}

TEST_CASE("A clock that is set changes neither a time budget nor what is remembered of it",
          "[loop][stop][clock]") {
  const Seconds step = GENERATE(90000.0, -90000.0);
  Harness harness;
  harness.trials = 1;
  harness.iterations = 10;
  harness.spec.time_budget_s = 3600;
  bool has_stepped = false;
  harness.program.step = [&](const Json&, std::int64_t iteration) {
    if (iteration == 3 && !std::exchange(has_stepped, true)) harness.clock.is_ahead_s += step;
    return FakeStep{.metrics = R"({"loss":1})"};
  };
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.experiment.running_s(harness.clock.now()) == Approx(10).margin(1));
  Experiment folded;
  for (const auto& event : harness.events()) folded.apply(event);
  CHECK(folded.save() == harness.experiment.save());
}

TEST_CASE("A clock that is set back does not keep a retry waiting", "[loop][failure][clock]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.failure_config.max_failures = 1;
  bool has_failed = false;
  harness.program.step = [&](const Json&, std::int64_t) {
    if (std::exchange(has_failed, true)) return FakeStep{.metrics = R"({"loss":1})"};
    harness.clock.is_ahead_s += 3600;
    return FakeStep{.exits = 1};
  };
  std::vector<std::unique_ptr<Callback>> callbacks;
  struct SetsBack : Callback {
    explicit SetsBack(VirtualClock& the_clock) : clock(the_clock) {}
    std::string name() const override { return "sets back"; }
    void on_trial_recover(const Trial&) override { clock.is_ahead_s -= 3600; }
    VirtualClock& clock;
  };
  harness.callbacks.push_back(std::make_unique<SetsBack>(harness.clock));
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.clock.time < 100);
}

TEST_CASE("A driver that has nothing to do sleeps until something happens", "[loop]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 2;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 10'000};
  };
  (void)harness.run();
  CHECK(harness.trial(0).iteration == 2);
  CHECK(harness.waits < 50);
}

TEST_CASE("A trial that hangs is ended in time while another one waits for its retry",
          "[loop][failure]") {
  Harness harness;
  harness.trials = 2;
  harness.spec.trial_timeout_s = 5;
  harness.spec.failure_config.max_failures = 6;
  harness.program.step = [&](const Json& config, std::int64_t iteration) {
    if (config["x"] == 0) return FakeStep{.exits = 1};  // waits 1, 2, 4, 8, 16, 32 s
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 4, .hangs = iteration % 5 == 0};
  };
  harness.iterations = 100;
  (void)harness.run();
  Seconds last_result = 0;
  int timeouts = 0;
  for (const auto& event : harness.events()) {
    const auto* const reported = std::get_if<ResultReported>(&event.body);
    if (reported != nullptr) last_result = event.time;
    const auto* const ended = std::get_if<AttemptEnded>(&event.body);
    if (ended == nullptr || ended->trial != TrialId{1}) continue;
    ++timeouts;
    CHECK(event.time - last_result >= 5);
    CHECK(event.time - last_result < 16);  // asked, then told to leave
  }
  CHECK(timeouts == 7);
}
