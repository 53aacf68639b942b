// The loop in virtual time: trials that a resume takes up again, and those that run alone.
#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

/// Two trials; the first fails at its third iteration until `mended`.
struct Failing : Harness {
  Failing() {
    trials = 2;
    iterations = 4;
    spec.checkpoint_config = {.num_to_keep = 2, .checkpoint_frequency = 1};
    program.step = [this](const Json& config, std::int64_t iteration) {
      FakeStep step{.metrics = R"({"loss":1})"};
      if (config["x"] == 0 && iteration == 3 && !mended) step.exits = 3;
      return step;
    };
    (void)run();
    ensure(trial(0).state == TrialState::error, "the first trial has failed");
  }
  bool mended = false;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("An errored trial is left alone, goes on, or starts from scratch, as asked",
          "[loop][resume]") {
  Failing harness;
  harness.mended = true;
  SECTION("left alone") {
    (void)harness.run();
    CHECK(harness.trial(0).state == TrialState::error);
    CHECK(harness.trial(0).attempt == 1);
    return;
  }
  SECTION("it goes on") {
    harness.resume.errored = ErroredTrials::go_on;
    (void)harness.run();
    CHECK(std::count(harness.told.begin(), harness.told.end(), "restore 0 from 2") == 1);
    CHECK(harness.checkpoint_dirs(0) == Names{"checkpoint_000003", "checkpoint_000004"});
  }
  SECTION("it starts from scratch") {
    harness.resume.errored = ErroredTrials::restart;
    (void)harness.run();
    CHECK(std::count(harness.told.begin(), harness.told.end(), "restore 0 from 0") == 1);
    CHECK(harness.checkpoint_dirs(0) == Names{"checkpoint_000005", "checkpoint_000006"});
  }
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).iteration == 4);
  CHECK(harness.trial(0).failures == 0);
  CHECK(harness.trial(1).attempt == 1);
}

TEST_CASE("Trials that are named run alone, and the session ends with them", "[loop][resume]") {
  Harness harness;
  harness.trials = 4;
  harness.resources = {{"cpu", 2}};
  harness.signals = {{1.5, 15}};
  REQUIRE(harness.run().kind == LoopEnd::Kind::interrupted);
  REQUIRE(harness.experiment.trials().size() == 2);
  harness.resume.trials = {TrialId{1}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(1).state == TrialState::terminated);
  CHECK(harness.trial(0).state == TrialState::pending);
  CHECK(harness.experiment.trials().size() == 2);
  (void)harness.run();
  CHECK(harness.experiment.count(TrialState::terminated) == 4);
}

TEST_CASE("A named trial that waits for its retry is waited for", "[loop][resume]") {
  Harness harness;
  harness.trials = 2;
  harness.spec.failure_config.max_failures = 1;
  int failures = 0;
  harness.program.step = [&failures](const Json& config, std::int64_t) {
    FakeStep step{.metrics = R"({"loss":1})"};
    if (config["x"] == 0 && failures++ == 0) step.exits = 3;
    return step;
  };
  harness.signals = {{1.5, 15}};
  (void)harness.run();
  REQUIRE(harness.trial(0).state == TrialState::pending);
  harness.resume.trials = {TrialId{0}};
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
}

TEST_CASE("Killed at any disk operation, a trial has started from scratch or not at all",
          "[loop][resume][crash]") {
  std::uint64_t operations = 0;
  {
    Failing unharmed;
    unharmed.mended = true;
    unharmed.resume.errored = ErroredTrials::restart;
    const auto before = unharmed.files.operations();
    (void)unharmed.run();
    operations = unharmed.files.operations() - before;
  }
  REQUIRE(operations > 30);
  const bool power_fails = GENERATE(false, true);
  int restarted = 0;
  int untouched = 0;
  for (std::uint64_t k = 1; k <= operations; ++k) {
    CAPTURE(k, power_fails);
    Failing harness;
    harness.mended = true;
    harness.resume.errored = ErroredTrials::restart;
    harness.files.die_at_operation(k, k % 5);
    try {
      (void)harness.run();
    } catch (const Error&) {
    }
    power_fails ? harness.files.crash() : harness.files.restart();
    (void)harness.run();
    const Trial& trial = harness.trial(0);
    if (trial.state == TrialState::error) {
      ++untouched;
      CHECK(trial.iteration == 2);
      CHECK(trial.checkpoints.size() == 2);
    } else {
      ++restarted;
      REQUIRE(trial.state == TrialState::terminated);
      CHECK(trial.iteration == 4);
      CHECK(trial.checkpoints.front().index > 2);
    }
    for (const auto& checkpoint : trial.checkpoints) {
      REQUIRE(harness.files.exists("/exp/trial_00000/checkpoint_00000" +
                                   std::to_string(checkpoint.index) + "/manifest.json"));
    }
    Experiment folded;
    for (const auto& event : harness.events()) folded.apply(event);
    REQUIRE(folded.save() == harness.experiment.save());
  }
  CHECK(restarted > 10);
  CHECK(untouched > 0);
}
