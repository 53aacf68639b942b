// The loop in virtual time: trials whose resources change.
#include <csignal>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Gives the first trial three cpus after its second iteration.
class ThreeForTheFirst : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result& result) override {
    if (index_of(trial.id) != 0 || result.training_iteration != 2) return {};
    return {.action = Action::pause, .resources = Resources{{"cpu", 3}}};
  }
};

struct Changed : Harness {
  Changed() {
    resources = {{"cpu", 4}};
    trials = 2;
    iterations = 6;
    make_scheduler = [] { return std::make_unique<ThreeForTheFirst>(); };
  }
  /// What the launches of the first trial were told.
  std::vector<std::string> told_to_first() const {
    std::vector<std::string> all;
    for (const LaunchSpec& launch : specs) {
      std::string resources_told;
      bool is_first = false;
      for (const std::string& variable : launch.own_environment) {
        if (variable == "TUNE_TRIAL_ID=trial_00000") is_first = true;
        if (variable.starts_with("TUNE_RESOURCES=")) resources_told = variable.substr(15);
      }
      if (is_first) all.push_back(resources_told);
    }
    return all;
  }
};

}  // namespace

TEST_CASE("A trial goes on with changed resources from where it was paused", "[loop][resources]") {
  Changed harness;
  harness.run();
  CHECK(harness.told_to_first() == std::vector<std::string>{R"({"cpu":1.0})", R"({"cpu":3.0})"});
  CHECK(harness.trial(0).attempt == 2);
  CHECK(harness.trial(0).iteration == 6);
  CHECK(harness.trial(0).restored_iteration == 2);
  CHECK(harness.trial(1).attempt == 1);
  CHECK(harness.trial(1).iteration == 6);
}

TEST_CASE("Changed resources outlive the driver, and are waited for", "[loop][resources]") {
  Changed harness;
  harness.trials = 3;
  harness.resources = {{"cpu", 3}};
  harness.signals = {{2.5, SIGTERM}};
  harness.run();
  const std::size_t before = harness.told_to_first().size();
  CHECK(*harness.trial(0).resources == Resources{{"cpu", 3}});
  harness.run();
  const auto told = harness.told_to_first();
  REQUIRE(told.size() == before + 1);
  CHECK(told.back() == R"({"cpu":3.0})");
  for (int i = 0; i < 3; ++i) CHECK(harness.trial(i).iteration == 6);
  // All that there is went to the first, so that the others had to be out of the way.
  CHECK(harness.most_live <= 3);
}

TEST_CASE("Resources that there no longer are, are not waited for", "[loop][resources]") {
  Changed harness;
  harness.signals = {{2.5, SIGTERM}};
  harness.run();
  harness.resources = {{"cpu", 2}};
  harness.run();
  CHECK(harness.told_to_first().back() == R"({"cpu":1.0})");
  CHECK(harness.trial(0).iteration == 6);
}

TEST_CASE("A process is not taken over by a trial that takes something else", "[loop][resources]") {
  Changed harness;
  harness.program.can_reset = true;
  harness.spec.reuse_processes = true;
  harness.trials = 5;
  harness.run();
  const auto told = harness.told_to_first();
  REQUIRE(told.size() == 2);
  CHECK(told[1] == R"({"cpu":3.0})");
  for (int i = 0; i < 5; ++i) CHECK(harness.trial(i).iteration == 6);
  for (int i = 1; i < 5; ++i) CHECK(harness.trial(i).resources.empty());
}
