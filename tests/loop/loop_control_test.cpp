// The loop in virtual time: what somebody asks of it by hand, and time in which it did not run.
#include <algorithm>
#include <csignal>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/trial_words.h"
#include "tuner/run/commit/recovery.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

using Kind = ControlRequest::Kind;

ControlRequest ask(Kind kind, std::optional<int> trial = std::nullopt) {
  ControlRequest request{kind, {}};
  if (trial) request.trial = TrialId{static_cast<std::uint32_t>(*trial)};
  return request;
}

}  // namespace

TEST_CASE(
    "A stop by hand saves what runs with its next result, starts no others, and can be gone on "
    "from",
    "[loop][control]") {
  SlowHarness harness;
  harness.spec.checkpoint_config = {.checkpoint_at_end = true};
  harness.wishes = {{25, ask(Kind::stop)}, {26, ask(Kind::stop)}};
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::stopped);
  CHECK_THAT(end.reason, Contains("tune stop"));
  REQUIRE(harness.answers.size() == 2);
  CHECK(harness.answers[0].accepted);
  CHECK(harness.answers[0].trials == std::vector<TrialId>{TrialId{0}, TrialId{1}});
  CHECK(harness.answers[1].accepted);
  REQUIRE(harness.experiment.trials().size() == 2);
  for (const auto& trial : harness.experiment.trials()) {
    CHECK(trial.state == TrialState::pending);
    CHECK(trial.iteration == 3);
    REQUIRE(trial.checkpoints.size() == 1);
    CHECK(trial.checkpoints[0].triggers.has(Trigger::interrupt));
    CHECK(trial.checkpoints[0].iteration == 3);
  }
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).restored_iteration == 3);
}

TEST_CASE("A stopped trial ends with its next result, and the others go on", "[loop][control]") {
  SlowHarness harness;
  harness.spec.checkpoint_config = {.checkpoint_at_end = true};
  harness.wishes = {{25, ask(Kind::stop, 1)}, {26, ask(Kind::stop, 1)}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.answers[0].accepted);
  CHECK(harness.answers[0].trials == std::vector<TrialId>{TrialId{1}});
  CHECK(harness.answers[1].accepted);
  CHECK(harness.trial(1).state == TrialState::terminated);
  CHECK(harness.trial(1).iteration == 3);
  CHECK(harness.trial(1).checkpoints.size() == 1);
  for (const int other : {0, 2, 3}) CHECK(harness.trial(other).iteration == 10);
  Experiment folded;
  for (const auto& event : harness.events()) folded.apply(event);
  CHECK(folded.save() == harness.experiment.save());
}

TEST_CASE("What a trial's driver waits for is told, and since when", "[loop][control]") {
  SlowHarness harness;
  harness.wishes = {{27, ask(Kind::waits, 1)}, {28, ask(Kind::waits, 99)}};
  (void)harness.run();
  CHECK(harness.answers[0].accepted);
  CHECK(harness.answers[0].sentence == "the result of iteration 3, for 6 s");
  CHECK_FALSE(harness.answers[1].accepted);
}

TEST_CASE("A stopped trial that does not come to a result is ended after its grace",
          "[loop][control]") {
  SlowHarness harness;
  harness.program.step = [](const Json& config, std::int64_t iteration) {
    FakeStep step{.metrics = "{}", .takes_s = 10};
    step.hangs = config["x"] == 0 && iteration == 2;
    return step;
  };
  harness.wishes = {{25, ask(Kind::stop, 0)}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).iteration == 1);
  CHECK(harness.trial(0).failures == 0);
}

TEST_CASE("A process that is stopped in the middle of its work is given to no other trial",
          "[loop][control]") {
  SlowHarness harness;
  harness.spec.reuse_processes = true;
  harness.program.can_reset = true;
  harness.program.step = [](const Json& config, std::int64_t) {
    return FakeStep{.metrics = R"({"x":)" + config["x"].dump() + "}", .takes_s = 10};
  };
  SECTION("before its first result") { harness.wishes = {{5, ask(Kind::stop, 0)}}; }
  SECTION("after its grace") {
    harness.spec.stop_grace_s = 2;
    harness.wishes = {{15, ask(Kind::stop, 0)}};
  }
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  for (const int other : {1, 2, 3}) {
    CHECK(harness.trial(other).failures == 0);
    CHECK(harness.trial(other).iteration == 10);
  }
  for (const auto& event : harness.events()) {
    const auto* const reported = std::get_if<ResultReported>(&event.body);
    if (reported == nullptr) continue;
    CHECK(reported->result.find("x") == static_cast<double>(index_of(reported->trial)));
  }
}

TEST_CASE("A trial that is stopped by hand and does not answer is ended when its grace is over",
          "[loop][control]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.stop_grace_s = 5;
  harness.program.step = [](const Json&, std::int64_t iteration) {
    return FakeStep{.metrics = R"({"loss":1})", .hangs = iteration == 3};
  };
  harness.wishes = {{25, ask(Kind::stop, 0)}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).iteration == 2);
  CHECK(harness.clock.time >= 30);
  CHECK(harness.clock.time < 31);  // it is not asked again to leave
}

namespace {

ControlRequest set(const Json& fields) { return {Kind::set, {}, fields}; }

}  // namespace

TEST_CASE("More trials and more at one time are had while the driver runs, and after its death",
          "[loop][control]") {
  SlowHarness harness;
  harness.spec.max_concurrent_trials = 1;
  harness.wishes = {{25, set({{"num_samples", 6}, {"max_concurrent_trials", 2}})},
                    {26, set({{"num_samples", 6}})}};
  SECTION("in one session") {}
  SECTION("with a snapshot after it") { harness.spec.snapshot_period_s = 40; }
  SECTION("and after its death") {
    harness.signals = {{125, SIGINT}, {127, SIGINT}};
    CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
  }
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  REQUIRE(harness.experiment.trials().size() == 6);
  for (const auto& trial : harness.experiment.trials()) CHECK(trial.iteration == 10);
  CHECK(harness.most_live == 2);
}

TEST_CASE("A snapshot is of the spec with what was set while the driver ran", "[loop][control]") {
  SlowHarness harness;
  harness.spec.snapshot_period_s = 40;
  harness.wishes = {{25, set({{"num_samples", 6}})}};
  (void)harness.run();
  const auto snapshot = ExperimentStore::read_snapshot_state(harness.files, Harness::directory);
  REQUIRE(snapshot);
  CHECK(spec_in(*snapshot).at("num_samples") == 6);
}

TEST_CASE("What a change comes to is said once, and what changes nothing is not recorded",
          "[loop][control]") {
  SlowHarness harness;
  harness.wishes = {{25, set({{"num_samples", 6}})}, {26, set({{"num_samples", 6}})}};
  (void)harness.run();
  REQUIRE(harness.answers.size() == 2);
  CHECK(harness.answers[0].accepted);
  CHECK_THAT(harness.answers[0].sentence, Contains("num_samples is 6 now, was 1"));
  CHECK_THAT(harness.answers[1].sentence, Contains("nothing changes"));
  const auto events = harness.events();
  CHECK(std::count_if(events.begin(), events.end(), [](const Event& event) {
          return std::holds_alternative<SpecChanged>(event.body);
        }) == 1);
  Experiment folded;
  for (const auto& event : events) folded.apply(event);
  CHECK(folded.save() == harness.experiment.save());
  CHECK(folded.spec_changes() == Json{{"num_samples", 6}});
  CHECK(std::count(harness.told.begin(), harness.told.end(), "total") == 1);
}

TEST_CASE("A change that cannot be made leaves everything as it is", "[loop][control]") {
  SlowHarness harness;
  harness.wishes = {{25, set({{"num_samples", 6}, {"seed", 1}})},
                    {28, ask(Kind::stop)},
                    {29, set({{"num_samples", 6}})}};
  (void)harness.run();
  REQUIRE(harness.answers.size() == 3);
  CHECK_FALSE(harness.answers[0].accepted);
  CHECK_THAT(harness.answers[0].sentence, Contains("seed cannot change"));
  CHECK_FALSE(harness.answers[2].accepted);
  CHECK_THAT(harness.answers[2].sentence, Contains("is ending"));
  CHECK(harness.experiment.spec_changes().empty());
}

TEST_CASE("A shorter time budget ends a run that is beyond it", "[loop][control]") {
  SlowHarness harness;
  harness.wishes = {{25, set({{"time_budget_s", 20}})}};
  CHECK(harness.run().kind == LoopEnd::Kind::stopped);
  CHECK(harness.trial(0).iteration == 3);
}

namespace {

/// Asks for something when the driver is about to leave.
class LateAsker : public Callback {
 public:
  explicit LateAsker(Harness& harness) : harness_(harness) {}
  std::string name() const override { return "late"; }
  Json save() const override {
    const Kind kinds[] = {Kind::stop, Kind::pause, Kind::checkpoint};
    for (std::size_t i = 0; i < std::size(kinds); ++i) {
      harness_.executor->at(harness_.clock.time, ControlAsked{ControlId{i}, ask(kinds[i])});
    }
    return Json::object();
  }

 private:
  Harness& harness_;
};

}  // namespace

TEST_CASE("A driver that is leaving answers, and records nothing more", "[loop][control]") {
  SlowHarness harness;
  harness.callbacks.push_back(std::make_unique<LateAsker>(harness));
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  REQUIRE(harness.answers.size() == 3);
  CHECK(harness.answers[0].accepted);
  CHECK(harness.answers[1].accepted);
  CHECK_FALSE(harness.answers[2].accepted);
  CHECK(std::holds_alternative<SessionEnded>(harness.events().back().body));
}

TEST_CASE("A stopped trial that fails before its end has ended as it was told", "[loop][control]") {
  SlowHarness harness;
  harness.spec.failure_config.max_failures = -1;
  harness.program.step = [](const Json& config, std::int64_t iteration) {
    FakeStep step{.metrics = "{}", .takes_s = 10};
    if (config["x"] == 0 && iteration == 3) step.exits = 1;
    return step;
  };
  harness.wishes = {{25, ask(Kind::stop, 0)}};
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).error.empty());
  CHECK(harness.trial(0).failures == 0);
  CHECK(harness.trial(0).attempt == 1);
}

TEST_CASE("A trial that waits for its retry can be stopped", "[loop][control]") {
  SlowHarness harness;
  harness.spec.failure_config.max_failures = -1;
  harness.resources = {{"cpu", 1}};
  harness.trials = 1;
  harness.program.step = [](const Json&, std::int64_t) { return FakeStep{.exits = 1}; };
  harness.wishes = {{60, ask(Kind::stop, 0)}};
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK_THAT(harness.answers.at(0).sentence, Contains("was not running"));
  CHECK(harness.told.at(harness.told.size() - 2) == "complete 0");
}

TEST_CASE("A trial that is stopped before it has come to where it was says which results it lacks",
          "[loop][control]") {
  SlowHarness harness;
  harness.trials = 1;
  harness.spec.failure_config.max_failures = 1;
  harness.spec.checkpoint_config.checkpoint_frequency = 3;
  harness.program.step = [](const Json&, std::int64_t iteration) {
    FakeStep step{.metrics = "{}", .takes_s = 10};
    if (iteration == 5) step.exits = 1;
    return step;
  };
  harness.wishes = {{55, ask(Kind::stop, 0)}};
  (void)harness.run();
  const Trial& trial = harness.trial(0);
  REQUIRE(trial.attempt == 2);
  CHECK(trial.state == TrialState::terminated);
  CHECK(trial.iteration == 3);
  CHECK_THAT(harness.answers.at(0).sentence, Contains("ends at iteration 3"));
  CHECK_THAT(harness.answers.at(0).sentence, Contains("up to iteration 4 was taken back"));
  CHECK_THAT(why_of(trial), Contains("tune stop"));
  CHECK_THAT(why_of(trial), Contains("its result of iteration 4 was taken back"));
}

TEST_CASE("A stop that was accepted holds although the driver died before it was carried out",
          "[loop][control]") {
  SlowHarness harness;
  harness.trials = 2;
  harness.wishes = {{25, ask(Kind::stop, 1)}};
  (void)harness.run();
  // What the disk would have held, had the driver died after its answer.
  std::string journal;
  Experiment before;
  for (const auto& event : harness.events()) {
    before.apply(event);
    if (std::holds_alternative<TrialStopRequested>(event.body)) break;
  }
  CHECK(before.trial(TrialId{1}).state == TrialState::running);
  before.apply({before.last_event() + 1, 0,
                AttemptEnded{TrialId{1}, 1, Outcome::interrupted, "its driver died"}});
  CHECK(before.trial(TrialId{1}).state == TrialState::terminated);
}

TEST_CASE("A pause saves every running trial, and a resume goes on from there", "[loop][control]") {
  SlowHarness harness;
  harness.wishes = {{25, ask(Kind::pause)}, {26, ask(Kind::pause)}, {27, ask(Kind::stop)}};
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::interrupted);
  CHECK_THAT(end.reason, Contains("tune pause"));
  REQUIRE(harness.answers.size() == 3);
  CHECK(harness.answers[0].accepted);
  CHECK(harness.answers[1].accepted);
  CHECK_FALSE(harness.answers[2].accepted);
  for (const int i : {0, 1}) {
    CHECK(harness.trial(i).state == TrialState::pending);
    REQUIRE(harness.trial(i).latest_checkpoint() != nullptr);
    CHECK(harness.trial(i).latest_checkpoint()->iteration == 3);
  }
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.results() == 40);
}

TEST_CASE("A checkpoint asked for by hand is made at the next result", "[loop][control]") {
  SlowHarness harness;
  harness.wishes = {{25, ask(Kind::checkpoint)}, {45, ask(Kind::checkpoint, 1)}};
  (void)harness.run();
  REQUIRE(harness.answers.size() == 2);
  CHECK(harness.answers[0].trials == std::vector<TrialId>{TrialId{0}, TrialId{1}});
  CHECK(harness.answers[1].trials == std::vector<TrialId>{TrialId{1}});
  REQUIRE(harness.trial(0).checkpoints.size() == 1);
  CHECK(harness.trial(0).checkpoints[0].iteration == 3);
  CHECK(harness.trial(0).checkpoints[0].triggers.to_string() == "user");
  REQUIRE(harness.trial(1).checkpoints.size() == 2);
  CHECK(harness.trial(1).checkpoints[1].iteration == 5);
  CHECK(harness.trial(2).checkpoints.empty());
}

TEST_CASE("A wish that cannot be met is refused with the reason", "[loop][control]") {
  SlowHarness harness;
  harness.trials = 2;
  SECTION("of a function trainable, which saves by itself") {
    harness.program.is_function = true;
    harness.wishes = {{25, ask(Kind::checkpoint)}};
    (void)harness.run();
    CHECK_THAT(harness.answers.at(0).sentence, Contains("function"));
  }
  SECTION("of a trial that there is not") {
    harness.wishes = {{25, ask(Kind::stop, 7)}};
    (void)harness.run();
    CHECK_THAT(harness.answers.at(0).sentence, Contains("no trial_00007"));
  }
  SECTION("of a trial that has ended") {
    harness.program.step = [](const Json& config, std::int64_t iteration) {
      return FakeStep{.takes_s = 10, .done = config["x"] == 0 && iteration == 1};
    };
    harness.wishes = {{25, ask(Kind::stop, 0)}};
    (void)harness.run();
    CHECK_THAT(harness.answers.at(0).sentence, Contains("has ended already: it is TERMINATED"));
  }
  SECTION("a pause of what is being stopped") {
    harness.wishes = {{25, ask(Kind::stop)}, {26, ask(Kind::pause)}};
    (void)harness.run();
    harness.answers.erase(harness.answers.begin());
  }
  REQUIRE(harness.answers.size() == 1);
  CHECK_FALSE(harness.answers[0].accepted);
}

TEST_CASE("Time in which the whole machine stood still is not held against trials",
          "[loop][control]") {
  SlowHarness harness;
  harness.spec.trial_timeout_s = 15;
  harness.freeze = {25, 3600};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  for (int i = 0; i < 4; ++i) {
    CHECK(harness.trial(i).failures == 0);
    CHECK(harness.trial(i).iteration == 10);
  }
  CHECK(std::count_if(harness.told.begin(), harness.told.end(), [](const std::string& line) {
          return line.find("did not run for 36") != line.npos;
        }) == 1);
}

TEST_CASE("A trial that is silent beyond its time fails also after a standstill",
          "[loop][control]") {
  SlowHarness harness;
  harness.spec.trial_timeout_s = 15;
  harness.program.step = [](const Json& config, std::int64_t iteration) {
    FakeStep step{.takes_s = 10};
    step.hangs = config["x"] == 0 && iteration == 3;
    return step;
  };
  harness.freeze = {25, 3600};
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::error);
  CHECK_THAT(*harness.trial(0).error, Contains("trial_timeout_s"));
  CHECK(harness.trial(1).iteration == 10);
}

TEST_CASE("A signal to a driver that is leaving by hand gives its trials no grace anew",
          "[loop][control][interrupt]") {
  Harness harness;
  harness.trials = 1;
  harness.program.step = [](const Json&, std::int64_t) { return FakeStep{.hangs = true}; };
  harness.wishes = {{5, ask(Kind::pause)}};
  harness.signals = {{25, SIGTERM}};
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::interrupted);
  CHECK_THAT(end.reason, Contains("tune pause"));
  CHECK(harness.clock.time >= 35);
  CHECK(harness.clock.time < 45);
}
