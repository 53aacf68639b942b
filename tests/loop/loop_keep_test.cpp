// The loop in virtual time: processes of paused trials that wait for them.
#include <algorithm>
#include <csignal>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tests/support/stride.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

/// Pauses each trial after each odd iteration; the others come first.
class PausesOften : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result&) override {
    return {trial.iteration % 2 == 0 ? Action::pause : Action::proceed, false};
  }
};

struct Paused : Harness {
  Paused() {
    trials = 4;
    iterations = 5;
    resources = {{"cpu", 1}};
    spec.objectives = {{"loss", Mode::min}};
    make_scheduler = [] { return std::make_unique<PausesOften>(); };
    program.step = [this](const Json& config, std::int64_t iteration) {
      const int trial = config.at("x");
      steps.push_back(std::to_string(trial) + " at " + std::to_string(iteration));
      FakeStep step{.metrics = R"({"loss":)" + std::to_string(trial) + "}"};
      if (change) change(trial, iteration, step);
      return step;
    };
  }

  /// Each trial has each iteration once, and memory is what the journal says.
  void check_whole() {
    CHECK(experiment.count(TrialState::terminated) == static_cast<std::size_t>(trials));
    for (const auto& trial : experiment.trials()) {
      CHECK(trial.iteration == iterations);
      CHECK(trial.failures == 0);
    }
    CHECK(experiment.results() == static_cast<std::uint64_t>(trials * iterations));
    Experiment folded;
    for (const auto& event : events()) folded.apply(event);
    CHECK(folded.save() == experiment.save());
  }

  int restores() const {
    return static_cast<int>(std::count_if(
        told.begin(), told.end(), [](const auto& line) { return line.find("restore ") == 0; }));
  }

  std::vector<std::string> steps;
  std::function<void(int trial, std::int64_t iteration, FakeStep& step)> change;
};

std::vector<MemoryMeter::Use> each(std::size_t count, MemoryMeter::Use use) {
  return std::vector<MemoryMeter::Use>(count, use);
}

}  // namespace

TEST_CASE("A paused trial goes on in its own process, without a start and without a read",
          "[loop][keep]") {
  Paused harness;
  harness.spec.keep_paused = KeepPaused{.processes = 4};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.launches == 4);
  CHECK(harness.restores() == 0);
  CHECK(harness.steps.size() == 20);
  harness.check_whole();
}

TEST_CASE("Of more paused trials than may wait in memory the least promising begins anew",
          "[loop][keep]") {
  Paused harness;
  harness.spec.keep_paused = KeepPaused{.processes = 3};
  (void)harness.run();
  harness.check_whole();
  // The greatest loss is the last one's.
  CHECK_THAT(harness.told, Catch::Matchers::VectorContains(std::string("restore 3 from 1")));
  CHECK(harness.restores() >= 1);
  CHECK(harness.launches == 4 + harness.restores());
}

TEST_CASE("Nothing waits in memory where nobody asked for it and nothing is measured",
          "[loop][keep]") {
  Paused harness;
  const int kept = GENERATE(0, 1);
  if (kept == 0) harness.spec.keep_paused = KeepPaused{.processes = 0};
  (void)harness.run();
  harness.check_whole();
  CHECK(harness.launches == 12);
}

TEST_CASE("By default as many wait as a quarter of the free memory holds", "[loop][keep]") {
  Paused harness;
  harness.memory.available = [] { return std::uint64_t{300}; };
  harness.memory.of = [](const auto& groups) { return each(groups.size(), {.bytes = 100}); };
  // One of 100 bytes and 300 beside it: a quarter of 400.
  (void)harness.run();
  harness.check_whole();
  CHECK(harness.launches > 4);
  CHECK(harness.launches < 12);
}

TEST_CASE("By default nobody waits who holds a device, whether it was asked for or not",
          "[loop][keep]") {
  Paused harness;
  harness.memory.available = [] { return std::uint64_t{1} << 40; };
  harness.memory.of = [](const auto& groups) {
    return each(groups.size(), {.bytes = 100, .device_bytes = 1});
  };
  SECTION("found by measuring") {}
  SECTION("given by the driver") {
    harness.resources["gpu"] = 1;
    harness.spec.resources_per_trial = {{"cpu", 1}, {"gpu", 1}};
  }
  (void)harness.run();
  harness.check_whole();
  CHECK(harness.launches == 12);
}

TEST_CASE("A size limits what waits, devices included", "[loop][keep]") {
  Paused harness;
  harness.spec.keep_paused = KeepPaused{.bytes = 1000};
  harness.memory.available = [] { return std::uint64_t{0}; };
  const std::uint64_t on_device = GENERATE(0, 800);
  harness.memory.of = [on_device](const auto& groups) {
    return each(groups.size(), {.bytes = 201, .device_bytes = on_device});
  };
  (void)harness.run();
  harness.check_whole();
  CHECK((harness.launches == 4) == (on_device == 0));
}

TEST_CASE("A process that died or broke while it waited is no failure of its trial",
          "[loop][keep]") {
  Paused harness;
  harness.spec.keep_paused = KeepPaused{.processes = 4};
  bool has_broken = false;
  harness.change = [&](int trial, std::int64_t iteration, FakeStep& step) {
    if (trial != 2 || iteration != 2 || std::exchange(has_broken, true)) return;
    step.dies_of = SIGKILL;
  };
  (void)harness.run();
  harness.check_whole();
  CHECK(harness.launches == 5);
  CHECK(harness.restores() == 1);
  CHECK_THAT(harness.journal(), Contains("which was kept while it was paused, did not go on"));
}

TEST_CASE("A trial that fails in whatever process has failed", "[loop][keep]") {
  Paused harness;
  harness.spec.keep_paused = KeepPaused{.processes = 4};
  harness.change = [&](int trial, std::int64_t iteration, FakeStep& step) {
    if (trial == 2 && iteration == 2) step.exits = 3;
  };
  (void)harness.run();
  CHECK(harness.trial(2).state == TrialState::error);
  CHECK(harness.trial(2).failures == 1);
  CHECK(harness.experiment.count(TrialState::terminated) == 3);
}

TEST_CASE("What waits in memory leaves with the driver, and a resume goes on from checkpoints",
          "[loop][keep]") {
  Paused harness;
  harness.spec.keep_paused = KeepPaused{.processes = 4};
  harness.signals = {{6.5, SIGINT}};
  CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  harness.check_whole();
}

TEST_CASE("Killed at any disk operation, a run whose processes wait recovers",
          "[loop][keep][crash]") {
  Paused unharmed;
  unharmed.trials = 3;
  unharmed.iterations = 4;
  unharmed.spec.keep_paused = KeepPaused{.processes = 2};
  (void)unharmed.run();
  const auto operations = unharmed.files.operations();
  REQUIRE(operations > 50);
  for (std::uint64_t k = 1; k <= operations; k += test::stride) {
    const bool power_fails = k % 2 == 0;
    CAPTURE(k, power_fails);
    Paused harness;
    harness.trials = 3;
    harness.iterations = 4;
    harness.spec.keep_paused = KeepPaused{.processes = 2};
    harness.files.die_at_operation(k, k % 7);
    try {
      (void)harness.run();
    } catch (const std::exception&) {
      // The driver has died.
    }
    power_fails ? harness.files.crash() : harness.files.restart();
    REQUIRE(harness.run().kind == LoopEnd::Kind::finished);
    for (int i = 0; i < harness.trials; ++i) {
      REQUIRE(harness.trial(i).state == TrialState::terminated);
      REQUIRE(harness.trial(i).iteration == 4);
    }
  }
}
