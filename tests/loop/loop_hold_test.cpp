// The loop in virtual time: trials that somebody pauses by hand and lets go on, and trials that
// somebody adds.
#include <algorithm>
#include <csignal>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tuner/policy/catalogue.h"
#include "tuner/run.h"
#include "tuner/space/search_space.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

using Kind = ControlRequest::Kind;

ControlRequest ask(Kind kind, int trial) {
  return {kind, TrialId{static_cast<std::uint32_t>(trial)}};
}
ControlRequest pause(int trial) { return ask(Kind::pause, trial); }
ControlRequest unpause(int trial) { return ask(Kind::unpause, trial); }
ControlRequest add(const Json& config) { return {Kind::add, {}, config}; }

void check_replay(Harness& harness) {
  Experiment folded;
  for (const auto& event : harness.events()) folded.apply(event);
  CHECK(folded.save() == harness.experiment.save());
}

/// Pauses every trial once, at iteration 3, and keeps what it was told of waiting.
class PauseAtThree : public Scheduler {
 public:
  explicit PauseAtThree(std::vector<std::string>& told) : told_(told) {}
  Decision on_result(const Trial& trial, const Result&) override {
    return {trial.iteration == 2 ? Action::pause : Action::proceed, false};
  }
  void on_trial_wait(const Trial& trial) override {
    told_.push_back(to_string(trial.id) + " " + to_string(trial.state));
  }

 private:
  std::vector<std::string>& told_;
};

}  // namespace

TEST_CASE("A trial that is paused by hand is saved, gives its place away, and goes on where it was",
          "[loop][hold]") {
  SlowHarness harness;
  harness.wishes = {{25, pause(1)}, {26, pause(1)}, {45, pause(1)}, {155, unpause(1)}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  REQUIRE(harness.answers.size() == 4);
  CHECK_THAT(harness.answers[0].sentence, Contains("saved with its next result"));
  CHECK_THAT(harness.answers[1].sentence, Contains("paused already"));
  CHECK_THAT(harness.answers[2].sentence, Contains("paused already"));
  CHECK_THAT(harness.answers[3].sentence, Contains("goes on as soon as"));
  for (const auto& answer : harness.answers) CHECK(answer.accepted);
  for (const auto& trial : harness.experiment.trials()) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.iteration == 10);
    CHECK_FALSE(trial.held);
  }
  CHECK(harness.trial(1).restored_iteration == 3);
  CHECK(harness.trial(1).attempt == 2);
  REQUIRE(harness.trial(1).checkpoints.size() == 1);
  CHECK(harness.trial(1).checkpoints[0].triggers.to_string() == "pause");
  // The third one has begun in its place, long before the first has ended.
  CHECK(harness.trial(2).started < harness.trial(0).ended);
  check_replay(harness);
}

TEST_CASE("A trial that was let go on before its next result has not paused", "[loop][hold]") {
  SlowHarness harness;
  harness.wishes = {{25, pause(1)}, {26, unpause(1)}, {27, unpause(1)}};
  (void)harness.run();
  CHECK_THAT(harness.answers[1].sentence, Contains("had not paused yet"));
  CHECK_FALSE(harness.answers[2].accepted);
  CHECK_THAT(harness.answers[2].sentence, Contains("is not paused"));
  CHECK(harness.trial(1).attempt == 1);
  CHECK(harness.trial(1).checkpoints.empty());
}

TEST_CASE("What was told to stop neither pauses nor goes on, and that is the answer",
          "[loop][hold]") {
  SlowHarness harness;
  harness.wishes = {{24, pause(1)}, {25, ask(Kind::stop, 1)}, {26, pause(1)}, {27, unpause(1)}};
  (void)harness.run();
  REQUIRE(harness.answers.size() == 4);
  for (const int i : {2, 3}) {
    CHECK_FALSE(harness.answers[i].accepted);
    CHECK_THAT(harness.answers[i].sentence, Contains("trial_00001 is ending already"));
  }
  CHECK(harness.trial(1).state == TrialState::terminated);
}

TEST_CASE("Nothing goes on in an experiment that ends", "[loop][hold]") {
  SlowHarness harness;
  harness.wishes = {{24, pause(1)}, {25, {Kind::stop, {}}}, {26, unpause(1)}};
  (void)harness.run();
  REQUIRE(harness.answers.size() == 3);
  CHECK_FALSE(harness.answers[2].accepted);
  CHECK_THAT(harness.answers[2].sentence, Contains("the experiment is ending"));
}

TEST_CASE("What is paused by hand stays so over a resume, until it is named", "[loop][hold]") {
  SlowHarness harness;
  harness.wishes = {{25, pause(1)}};
  SECTION("after all others have ended") {
    CHECK(harness.run().kind == LoopEnd::Kind::finished);
    CHECK_THAT(harness.told.end()[-2], Contains("paused by hand") && Contains("--trial 1"));
  }
  SECTION("after an interrupt that came before its result") {
    harness.signals = {{26, SIGINT}};
    CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
    CHECK(harness.trial(0).state == TrialState::pending);
  }
  SECTION("after a snapshot") {
    harness.spec.snapshot_period_s = 20;
    CHECK(harness.run().kind == LoopEnd::Kind::finished);
    CHECK(harness.snapshots_taken > 0);
  }
  SECTION("although the driver has died in its last step") {
    (void)harness.run();
    Experiment before;
    for (const auto& event : harness.events()) {
      before.apply(event);
      if (std::holds_alternative<TrialHeld>(event.body)) break;
    }
    CHECK(before.trial(TrialId{1}).state == TrialState::running);
    before.apply({before.last_event() + 1, 0,
                  AttemptEnded{TrialId{1}, 1, Outcome::interrupted, "its driver died"}});
    CHECK(before.trial(TrialId{1}).state == TrialState::paused);
    CHECK_FALSE(before.may_start(TrialId{1}, 1e9));
  }
  CHECK(harness.trial(1).state == TrialState::paused);
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(1).state == TrialState::paused);
  CHECK(harness.trial(1).iteration == 3);
  CHECK(harness.trial(3).state == TrialState::terminated);
  harness.resume.trials = {TrialId{1}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(1).state == TrialState::terminated);
  CHECK(harness.trial(1).restored_iteration == 3);
}

TEST_CASE("What waits is paused by hand at once, and is not started", "[loop][hold]") {
  SlowHarness harness;
  harness.spec.failure_config.max_failures = 5;
  harness.resources = {{"cpu", 1}};
  harness.trials = 2;
  int failures = 0;
  harness.program.step = [&](const Json& config, std::int64_t) {
    const bool fails = config["x"] == 0 && failures++ == 0;
    return fails ? FakeStep{.takes_s = 10, .exits = 1} : FakeStep{.takes_s = 10};
  };
  harness.wishes = {{10.5, pause(0)}, {200, unpause(0)}};
  SECTION("and goes on when it is told to") {
    harness.trials = 3;
    (void)harness.run();
    CHECK_THAT(harness.answers[0].sentence, Contains("it was not running"));
    CHECK(harness.trial(0).state == TrialState::terminated);
    CHECK(harness.trial(0).attempt == 2);
    CHECK(harness.trial(0).started < harness.trial(1).started);
    CHECK(harness.trial(0).ended > harness.trial(1).ended);
  }
  SECTION("and can be stopped") {
    harness.wishes[1] = {60, ask(Kind::stop, 0)};
    (void)harness.run();
    CHECK(harness.trial(0).state == TrialState::terminated);
    CHECK(harness.trial(0).attempt == 1);
    CHECK_FALSE(harness.trial(0).held);
  }
  check_replay(harness);
}

TEST_CASE("A stop, an end and a failure win over a pause by hand", "[loop][hold]") {
  SlowHarness harness;
  harness.wishes = {{25, pause(1)}};
  TrialState expected = TrialState::terminated;
  SECTION("a stop") { harness.wishes.push_back({26, ask(Kind::stop, 1)}); }
  SECTION("the last result") { harness.iterations = 3; }
  SECTION("a failure for good") {
    harness.program.step = [](const Json& config, std::int64_t iteration) {
      FakeStep step{.takes_s = 10};
      if (config["x"] == 1 && iteration == 3) step.exits = 1;
      return step;
    };
    expected = TrialState::error;
  }
  (void)harness.run();
  CHECK(harness.trial(1).state == expected);
  CHECK_FALSE(harness.trial(1).held);
  CHECK(harness.trial(3).state == TrialState::terminated);
}

TEST_CASE("A trial that fails before it pauses waits with its retry", "[loop][hold]") {
  SlowHarness harness;
  harness.spec.failure_config.max_failures = 1;
  harness.spec.checkpoint_config.checkpoint_frequency = 2;
  bool has_failed = false;
  harness.program.step = [&](const Json& config, std::int64_t iteration) {
    FakeStep step{.takes_s = 10};
    if (config["x"] == 1 && iteration == 3 && !std::exchange(has_failed, true)) step.exits = 1;
    return step;
  };
  harness.wishes = {{25, pause(1)}, {90, unpause(1)}};
  (void)harness.run();
  CHECK(harness.trial(1).state == TrialState::terminated);
  CHECK(harness.trial(1).restored_iteration == 2);
  CHECK(harness.trial(1).iteration == 10);
  check_replay(harness);
}

TEST_CASE("A trial whose save fails trains on, and pauses with the next one", "[loop][hold]") {
  SlowHarness harness;
  harness.trials = 2;
  int saves = 0;
  harness.program.save_error = [&]() -> std::optional<std::string> {
    return saves++ == 0 ? std::optional<std::string>("no") : std::nullopt;
  };
  harness.wishes = {{25, pause(1)}};
  (void)harness.run();
  CHECK(harness.trial(1).state == TrialState::paused);
  CHECK(harness.trial(1).iteration == 4);
  CHECK(harness.trial(1).failed_saves == 1);
}

TEST_CASE("A function pauses once it has handed a checkpoint over", "[loop][hold]") {
  SlowHarness harness;
  harness.trials = 1;
  harness.program.is_function = true;
  harness.program.step = [&](const Json&, std::int64_t iteration) {
    FakeStep step{.takes_s = 10};
    if (iteration % 5 == 0) {
      step.hands_over = "own_" + std::to_string(iteration);
      harness.files.put("/exp/trial_00000/work/" + *step.hands_over + "/state", "5");
    }
    return step;
  };
  harness.wishes = {{25, pause(0)}};
  (void)harness.run();
  CHECK_THAT(harness.answers.at(0).sentence, Contains("next checkpoint that it hands over"));
  CHECK(harness.trial(0).state == TrialState::paused);
  CHECK(harness.trial(0).iteration == 5);
}

TEST_CASE("A function that saves when told to pauses with its next result", "[loop][hold]") {
  SlowHarness harness;
  harness.trials = 1;
  harness.program.is_function = true;
  harness.program.can_save = true;
  harness.spec.checkpoint_config.checkpoint_frequency = 2;
  harness.wishes = {{45, pause(0)}};
  (void)harness.run();
  CHECK_THAT(harness.answers.at(0).sentence, Contains("is saved with its next result"));
  CHECK(harness.trial(0).state == TrialState::paused);
  std::vector<std::int64_t> saved;
  for (const Checkpoint& checkpoint : harness.trial(0).checkpoints) {
    saved.push_back(checkpoint.iteration);
  }
  CHECK(saved == std::vector<std::int64_t>{2, 4, 5});
}

TEST_CASE("A trial that has not come to a result leaves at once", "[loop][hold]") {
  SlowHarness harness;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.wishes = {{25, pause(1)}, {100, unpause(1)}, {100, pause(1)}, {101, unpause(1)}};
  (void)harness.run();
  CHECK(harness.trial(1).state == TrialState::terminated);
  CHECK(harness.trial(1).iteration == 10);
  check_replay(harness);
}

TEST_CASE("A pause by hand is none of the scheduler's, and the other way round", "[loop][hold]") {
  SlowHarness harness;
  std::vector<std::string> told;
  harness.make_scheduler = [&] { return std::make_unique<PauseAtThree>(told); };
  harness.trials = 2;
  SECTION("it is told that the trial waits as an interrupted one does") {
    harness.wishes = {{15, pause(1)}, {40, unpause(1)}};
    (void)harness.run();
    CHECK(std::count(told.begin(), told.end(), "trial_00001 PENDING") == 1);
    CHECK(std::count(told.begin(), told.end(), "trial_00001 PAUSED") == 1);
  }
  SECTION("both at one result: it stays paused by the scheduler when the hand lets it go") {
    harness.wishes = {{25, pause(1)}, {500, unpause(1)}};
    (void)harness.run();
    CHECK(std::count(told.begin(), told.end(), "trial_00001 PAUSED") == 1);
    CHECK(std::count(told.begin(), told.end(), "trial_00001 PENDING") == 0);
    // Nothing else was left: the run had ended before it was let go.
    CHECK(harness.trial(1).state == TrialState::paused);
    CHECK(harness.trial(1).held == TrialState::paused);
    harness.resume.trials = {TrialId{1}};
    (void)harness.run();
  }
  SECTION("the hand cannot let go what the scheduler holds") {
    harness.resources = {{"cpu", 1}};
    harness.wishes = {{35, unpause(0)}};
    (void)harness.run();
    CHECK_THAT(harness.answers.at(0).sentence, Contains("paused by the scheduler"));
    CHECK_FALSE(harness.answers.at(0).accepted);
  }
  for (const auto& trial : harness.experiment.trials()) CHECK(trial.iteration == 10);
  check_replay(harness);
}

TEST_CASE("A synchronous population waits for the one that is held by hand", "[loop][hold]") {
  const Catalogue catalogue = built_in_catalogue();
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse({{"x", {{"uniform", {0, 10}}}}}, "", problems);
  SlowHarness harness;
  harness.trials = 4;
  harness.resources = {{"cpu", 4}};
  harness.make_scheduler = [&] {
    return catalogue.schedulers.at("pbt")({{"time_attr", "training_iteration"},
                                           {"perturbation_interval", 4},
                                           {"synch", true},
                                           {"hyperparam_mutations", {{"x", {1, 2, 3}}}}},
                                          {space, {{"loss", Mode::min}}, 4, 1});
  };
  harness.wishes = {{25, pause(1)}};
  (void)harness.run();
  for (const int other : {0, 2, 3}) {
    CHECK(harness.trial(other).iteration == 4);
    CHECK(harness.trial(other).attempt == 1);
  }
  const auto says = [&](const std::string& what) {
    return std::any_of(harness.told.begin(), harness.told.end(), [&](const std::string& line) {
      return line.find(what) != std::string::npos;
    });
  };
  CHECK(
      says("3 trials are left waiting: the scheduler would go on only after results of what was "
           "paused by hand"));
  CHECK_FALSE(says("there are no more"));
  harness.resume.trials = {TrialId{1}};
  (void)harness.run();
  harness.resume.trials.clear();
  (void)harness.run();
  for (const auto& trial : harness.experiment.trials()) CHECK(trial.iteration == 10);
}

TEST_CASE("Schedulers that pause by themselves lose no trial to pauses by hand", "[loop][hold]") {
  const auto& [type, options] =
      GENERATE(std::pair<std::string, Json>("asha_promotion", {{"max_t", 9}, {"grace_period", 1}}),
               std::pair<std::string, Json>("hyperband", {{"max_t", 9}}),
               std::pair<std::string, Json>("pbt", {{"time_attr", "training_iteration"},
                                                    {"perturbation_interval", 2},
                                                    {"hyperparam_mutations", {{"x", {1, 2, 3}}}}}),
               std::pair<std::string, Json>("pbt", {{"time_attr", "training_iteration"},
                                                    {"perturbation_interval", 2},
                                                    {"synch", true},
                                                    {"hyperparam_mutations", {{"x", {1, 2, 3}}}}}));
  const unsigned seed = GENERATE(range(1u, 6u));
  CAPTURE(type, options.dump(), seed);
  const Catalogue catalogue = built_in_catalogue();
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse({{"x", {{"uniform", {0, 10}}}}}, "", problems);
  SlowHarness harness;
  harness.trials = 8;
  harness.resources = {{"cpu", 3}};
  harness.program.step = [](const Json& config, std::int64_t iteration) {
    const double loss = config["x"].get<double>() + 1.0 / static_cast<double>(iteration);
    return FakeStep{.metrics = Json{{"loss", loss}}.dump(), .takes_s = 10};
  };
  harness.make_scheduler = [&, type = type, options = options] {
    return catalogue.schedulers.at(type)(options, {space, {{"loss", Mode::min}}, 8, 1});
  };
  unsigned random = seed;
  const auto draw = [&random](unsigned below) {
    random = random * 1103515245 + 12345;
    return random / 65536 % below;
  };
  for (int i = 0; i < 30; ++i) {
    const int trial = static_cast<int>(draw(8));
    const double at = draw(300);
    harness.wishes.push_back({at, draw(2) == 0 ? pause(trial) : unpause(trial)});
  }
  std::sort(harness.wishes.begin(), harness.wishes.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  (void)harness.run();
  const auto held = [&] {
    std::vector<TrialId> ids;
    for (const auto& trial : harness.experiment.trials()) {
      if (trial.held) ids.push_back(trial.id);
    }
    return ids;
  };
  for (const TrialId id : held()) {
    harness.wishes.push_back({harness.clock.time + 1, {Kind::unpause, id}});
  }
  // Somebody has to run for the others to be let go.
  const auto waiting = held();
  if (!waiting.empty()) {
    harness.wishes.clear();
    harness.resume.trials = {waiting.begin(), waiting.end()};
    (void)harness.run();
    (void)harness.run();
  }
  CHECK(held().empty());
  REQUIRE(harness.experiment.trials().size() == 8);
  for (const auto& trial : harness.experiment.trials()) {
    // What asha_promotion has not promoted waits for good.
    const bool is_well = trial.state == TrialState::terminated ||
                         (type == "asha_promotion" && trial.state == TrialState::paused);
    CHECK(is_well);
  }
  check_replay(harness);
}

TEST_CASE("A config that is added by hand runs next, is counted, and the search goes on as before",
          "[loop][add]") {
  SlowHarness harness;
  harness.wishes = {{25, add({{"x", 77}})}, {26, add({{"y", 1}})}};
  SECTION("with a driver that dies soon after") {
    harness.signals = {{27, SIGINT}, {30, SIGINT}};
    (void)harness.run();
  }
  SECTION("with a snapshot after it") { harness.spec.snapshot_period_s = 30; }
  SECTION("in one session") {
    (void)harness.run();
    REQUIRE(harness.answers.size() == 2);
    CHECK(harness.answers[0].accepted);
    CHECK(harness.answers[0].trials == std::vector<TrialId>{TrialId{2}});
    CHECK_FALSE(harness.answers[1].accepted);
    CHECK_THAT(harness.answers[1].sentence, Contains("there is no x"));
  }
  (void)harness.run();
  REQUIRE(harness.experiment.trials().size() == 5);
  const std::vector<std::string> configs = {R"({"x":0})", R"({"x":1})", R"({"x":77})", R"({"x":2})",
                                            R"({"x":3})"};
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const Trial& trial = harness.experiment.trials()[i];
    CHECK(trial.config.text() == configs[i]);
    CHECK(trial.by_hand == (i == 2));
    CHECK(trial.iteration == 10);
  }
  CHECK(harness.experiment.added_by_hand() == 1);
}

TEST_CASE("A trial that is paused before it trains waits at once, and loses nothing",
          "[loop][control]") {
  SlowHarness harness;
  harness.trials = 2;
  harness.wishes = {{1e-4, pause(0)}, {55, unpause(0)}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).iteration == 10);
  CHECK(harness.trial(0).attempt == 2);
  CHECK(harness.trial(0).failures == 0);
  const double began = harness.clock.now() - harness.clock.time;
  for (const auto& event : harness.events()) {
    const auto* const reported = std::get_if<ResultReported>(&event.body);
    if (reported != nullptr && reported->trial == TrialId{0}) CHECK(event.time - began > 60);
  }
}
