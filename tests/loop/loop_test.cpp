// The loop in virtual time: what trials go through when all goes well.
#include <csignal>
#include <map>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

std::size_t count(const std::vector<std::string>& lines, const std::string& start) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [&](const auto& line) { return line.starts_with(start); }));
}

bool has(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

/// Pauses every trial once, at iteration 1.
class PauseAlways : public Scheduler {
 public:
  Decision on_result(const Trial&, const Result&) override { return {Action::pause, false}; }
};

class PauseOnce : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result&) override {
    return {trial.iteration == 0 ? Action::pause : Action::proceed, false};
  }
};

}  // namespace

TEST_CASE("Loop runs every trial to its last iteration and ends", "[loop]") {
  Harness harness;
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::finished);
  REQUIRE(harness.experiment.trials().size() == 4);
  for (const auto& trial : harness.experiment.trials()) {
    CHECK(trial.state == TrialState::terminated);
    CHECK(trial.iteration == 3);
  }
  CHECK(harness.experiment.results() == 12);
  CHECK(count(harness.told, "complete") == 4);
  CHECK(harness.told.back() == "end");
}

TEST_CASE("Loop never runs more trials than resources or the limit allow", "[loop]") {
  Harness harness;
  harness.trials = 7;
  SECTION("cpus") {
    harness.resources = {{"cpu", 3}};
    (void)harness.run();
    CHECK(harness.most_live == 3);
  }
  SECTION("max_concurrent_trials") {
    harness.resources = {{"cpu", 30}};
    harness.spec.max_concurrent_trials = 2;
    (void)harness.run();
    CHECK(harness.most_live == 2);
  }
  SECTION("a custom resource in fractions") {
    harness.resources = {{"cpu", 30}, {"licence", 1}};
    harness.spec.resources_per_trial = {{"licence", 0.25}};
    (void)harness.run();
    CHECK(harness.most_live == 4);
  }
  CHECK(harness.experiment.count(TrialState::terminated) == 7);
}

TEST_CASE("Journal folded again gives the state that the loop ended with", "[loop][prefix]") {
  Harness harness;
  harness.spec.checkpoint_config = {
      .num_to_keep = 1, .checkpoint_score_attribute = "loss", .checkpoint_frequency = 1};
  harness.scheduler = std::make_unique<PauseOnce>();
  (void)harness.run();
  Experiment folded;
  for (const auto& event : harness.events()) folded.apply(event);
  CHECK(folded.save() == harness.experiment.save());
  CHECK(folded.results() == 12);
}

namespace {

/// Keeps the live state after each turn, by number of the last record.
class StateKeeper : public Callback {
 public:
  explicit StateKeeper(std::map<std::uint64_t, std::string>& states) : states_(states) {}
  std::string name() const override { return "keeper"; }
  void on_step_end(const Experiment& experiment) override {
    states_[experiment.last_event()] = experiment.save();
  }

 private:
  std::map<std::uint64_t, std::string>& states_;
};

}  // namespace

TEST_CASE("Every prefix of the journal recovers the state the driver had there", "[loop][prefix]") {
  Harness harness;
  harness.spec.checkpoint_config = {
      .num_to_keep = 2, .checkpoint_frequency = 1, .checkpoint_at_end = true};
  harness.spec.failure_config.max_failures = 1;
  harness.scheduler = std::make_unique<PauseOnce>();
  int crashes = 0;
  harness.program.step = [&crashes](const Json& config, std::int64_t iteration) {
    FakeStep step{.metrics = R"({"loss":"NaN","deep":{"er":1.5},"word":"x"})"};
    if (config["x"] == 2 && iteration == 2 && crashes++ == 0) step.exits = 3;
    return step;
  };
  std::map<std::uint64_t, std::string> live;
  harness.callbacks.push_back(std::make_unique<StateKeeper>(live));
  (void)harness.run();
  REQUIRE(live.size() > 20);
  Experiment folded;
  std::size_t compared = 0;
  for (const auto& event : harness.events()) {
    folded.apply(event);
    const auto there = live.find(event.number);
    if (there == live.end()) continue;
    CAPTURE(event.number);
    REQUIRE(folded.save() == there->second);
    ++compared;
  }
  CHECK(compared == live.size());
}

TEST_CASE("Each trigger saves, and several at one iteration make one save", "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 4;
  auto& config = harness.spec.checkpoint_config;
  SECTION("none") {
    (void)harness.run();
    CHECK(harness.checkpoint_dirs(0).empty());
  }
  SECTION("every second iteration") {
    config.checkpoint_frequency = 2;
    (void)harness.run();
    CHECK(count(harness.told, "checkpoint 0 at") == 2);
    CHECK(has(harness.told, "checkpoint 0 at 2"));
    CHECK(has(harness.told, "checkpoint 0 at 4"));
  }
  SECTION("at the end") {
    config.checkpoint_at_end = true;
    (void)harness.run();
    CHECK(count(harness.told, "checkpoint 0 at") == 1);
    CHECK(has(harness.told, "checkpoint 0 at 4"));
  }
  SECTION("at the start") {
    config.checkpoint_at_start = true;
    (void)harness.run();
    CHECK(count(harness.told, "checkpoint 0 at") == 1);
    CHECK(has(harness.told, "checkpoint 0 at 0"));
  }
  SECTION("should_checkpoint in a result") {
    harness.program.step = [](const Json&, std::int64_t iteration) {
      FakeStep step{.metrics = R"({"loss":1})"};
      step.should_checkpoint = iteration == 3;
      return step;
    };
    (void)harness.run();
    CHECK(count(harness.told, "checkpoint 0 at") == 1);
    CHECK(has(harness.told, "checkpoint 0 at 3"));
  }
  SECTION("a callback") {
    class Asker : public Callback {
     public:
      std::string name() const override { return "asker"; }
      void on_trial_result(const Trial&, Result& result) override {
        result.should_checkpoint = result.training_iteration == 1;
        result.training_iteration = 77;  // ignored
      }
    };
    harness.callbacks.push_back(std::make_unique<Asker>());
    (void)harness.run();
    CHECK(count(harness.told, "checkpoint 0 at") == 1);
    CHECK(has(harness.told, "checkpoint 0 at 1"));
  }
  SECTION("all at once") {
    config.checkpoint_frequency = 4;
    config.checkpoint_at_end = true;
    harness.program.step = [](const Json&, std::int64_t) {
      return FakeStep{.metrics = R"({"loss":1})", .should_checkpoint = true};
    };
    (void)harness.run();
    CHECK(count(harness.told, "checkpoint 0 at") == 4);
    CHECK(harness.trial(0).saves == 4);
  }
  CHECK(harness.trial(0).state == TrialState::terminated);
}

TEST_CASE("A function that can save when it has returned is saved at its end, once",
          "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.program.is_function = true;
  harness.program.can_save = true;
  harness.program.step = [](const Json&, std::int64_t iteration) {
    return iteration <= 3 ? FakeStep{.metrics = R"({"loss":1})"}
                          : FakeStep{.metrics = "", .done = true};
  };
  auto& config = harness.spec.checkpoint_config;
  SECTION("by the wish for one at the end") { config.checkpoint_at_end = true; }
  SECTION("by another wish at its last result") {
    config = {.checkpoint_frequency = 3, .checkpoint_at_end = true};
  }
  (void)harness.run();
  CHECK(count(harness.told, "checkpoint 0 at") == 1);
  CHECK(has(harness.told, "checkpoint 0 at 3"));
  CHECK(count(harness.told, "notice") == 0);
  CHECK(harness.trial(0).state == TrialState::terminated);
}

TEST_CASE("What an attempt began with is kept until it has a result, and no longer",
          "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 8;
  harness.spec.failure_config.max_failures = 1;
  harness.spec.checkpoint_config = {.num_to_keep = 1, .checkpoint_frequency = 1};
  bool has_failed = false;
  harness.program.step = [&](const Json&, std::int64_t iteration) {
    FakeStep step{.metrics = R"({"loss":1})"};
    if (iteration == 3 && !std::exchange(has_failed, true)) step.exits = 1;
    return step;
  };
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  REQUIRE(harness.trial(0).attempt == 2);
  std::int64_t iteration = 0;
  std::int64_t dropped_at = 0;
  for (const auto& event : harness.events()) {
    if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
      iteration = reported->result.training_iteration;
    }
    const auto* const dropped = std::get_if<CheckpointsDropped>(&event.body);
    if (dropped != nullptr && dropped->indices == std::vector<int>{2}) dropped_at = iteration;
  }
  CHECK(dropped_at >= 3);
  CHECK(dropped_at <= 4);
}

TEST_CASE("Retention keeps the best and the latest and deletes the rest", "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 5;
  auto& config = harness.spec.checkpoint_config;
  config.checkpoint_frequency = 1;
  config.checkpoint_score_attribute = "score";
  harness.program.step = [](const Json&, std::int64_t iteration) {
    const int scores[] = {0, 10, 50, 30, 20, 5};
    return FakeStep{.metrics = R"({"score":)" + std::to_string(scores[iteration]) + "}"};
  };
  using Names = std::vector<std::string>;
  SECTION("one best plus the latest") {
    config.num_to_keep = 1;
    (void)harness.run();
    CHECK(harness.checkpoint_dirs(0) == Names{"checkpoint_000002", "checkpoint_000005"});
  }
  SECTION("none outlives the trial") {
    config.num_to_keep = 0;
    (void)harness.run();
    CHECK(harness.checkpoint_dirs(0).empty());
    CHECK(harness.trial(0).checkpoints.empty());
    CHECK(harness.trial(0).saves == 5);
  }
  SECTION("all") {
    (void)harness.run();
    CHECK(harness.checkpoint_dirs(0).size() == 5);
  }
}

TEST_CASE("A paused trial has saved, gives its place away, and goes on where it was",
          "[loop][pause]") {
  Harness harness;
  harness.resources = {{"cpu", 1}};
  harness.trials = 2;
  harness.scheduler = std::make_unique<PauseOnce>();
  (void)harness.run();
  for (int i = 0; i < 2; ++i) {
    CAPTURE(i);
    CHECK(harness.trial(i).state == TrialState::terminated);
    CHECK(harness.trial(i).attempt == 2);
    CHECK(harness.trial(i).iteration == 3);
    CHECK(has(harness.told, "restore " + std::to_string(i) + " from 1"));
  }
  CHECK(count(harness.told, "result 0") == 3);
  CHECK(harness.most_live == 1);
}

TEST_CASE("Reused processes run one trial after another", "[loop][reuse]") {
  Harness harness;
  harness.trials = 6;
  harness.spec.reuse_processes = true;
  harness.program.can_reset = true;
  SECTION("as often as they accept a reset") {
    (void)harness.run();
    CHECK(harness.launches == 2);
  }
  SECTION("a refused reset gets a fresh process and is no failure") {
    harness.program.refuses_reset = true;
    (void)harness.run();
    CHECK(harness.launches == 6);
  }
  CHECK(harness.experiment.count(TrialState::terminated) == 6);
  for (const auto& trial : harness.experiment.trials()) CHECK(trial.failures == 0);
}

TEST_CASE("A function's process that stays trains the next trial, unless nobody is to share one",
          "[loop][reuse]") {
  Harness harness;
  harness.trials = 6;
  harness.program.is_function = true;
  harness.program.can_stay = true;
  int launches = 2;
  SECTION("by default") {}
  SECTION("where it is asked for") { harness.spec.reuse_processes = true; }
  SECTION("not where it is refused") {
    harness.spec.reuse_processes = false;
    launches = 6;
  }
  SECTION("not where it leaves all the same") {
    harness.program.can_stay = false;
    launches = 6;
  }
  SECTION("not after a reset that fails, which is no trial's fault") {
    harness.program.refuses_reset = true;
    launches = 6;
  }
  (void)harness.run();
  CHECK(harness.launches == launches);
  CHECK(harness.experiment.count(TrialState::terminated) == 6);
  for (const auto& trial : harness.experiment.trials()) CHECK(trial.failures == 0);
}

TEST_CASE("A trial has ended when its process has said that it stays, and not before",
          "[loop][reuse]") {
  Harness harness;
  harness.trials = 2;
  harness.resources = {{"cpu", 1}};
  harness.program.is_function = true;
  harness.program.can_stay = true;
  harness.program.exit_s = 5;  // what the function does on its way out
  (void)harness.run();
  CHECK(harness.launches == 1);
  CHECK(harness.trial(1).started >= harness.trial(0).ended);
  CHECK(harness.trial(0).ended - harness.trial(0).started >= 5 + 3);
}

TEST_CASE("A trial that dies in a process of others takes no other with it", "[loop][reuse]") {
  Harness harness;
  harness.trials = 6;
  harness.resources = {{"cpu", 1}};
  harness.program.is_function = true;
  harness.program.can_stay = true;
  harness.program.step = [](const Json& config, std::int64_t iteration) {
    FakeStep step{.metrics = R"({"loss":1})"};
    if (config.at("x") == 2 && iteration == 2) step.dies_of = 11;
    return step;
  };
  (void)harness.run();
  CHECK(harness.experiment.count(TrialState::terminated) == 5);
  CHECK(harness.trial(2).state == TrialState::error);
  CHECK(harness.launches == 2);
}

TEST_CASE("A trial that its pauses throw back again and again is said to get no further",
          "[loop][pause]") {
  Harness harness;
  harness.trials = 1;
  harness.program.is_function = true;  // and cannot save
  harness.scheduler = std::make_unique<PauseAlways>();
  harness.signals = {{60, SIGINT}};
  (void)harness.run();
  const auto says = [](const std::string& line) {
    return line.find("trial_00000 gets no further: it has been paused at iteration 1 once more") !=
           std::string::npos;
  };
  CHECK(std::count_if(harness.told.begin(), harness.told.end(), says) == 1);
}

TEST_CASE("A trial that fails before its first result goes on from the checkpoint of its start",
          "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.checkpoint_config.checkpoint_at_start = true;
  harness.spec.failure_config.max_failures = 1;
  int steps = 0;
  harness.program.step = [&steps](const Json&, std::int64_t) {
    FakeStep step{.metrics = R"({"loss":1})"};
    if (steps++ == 0) step.exits = 1;
    return step;
  };
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(has(harness.told, "restore 0 from 0"));
  CHECK(harness.trial(0).saves == 1);
}

TEST_CASE("A save at the start that fails costs no trial", "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 2;
  harness.spec.checkpoint_config.checkpoint_at_start = true;
  harness.program.save_error = [] { return "no room"; };
  (void)harness.run();
  CHECK(harness.experiment.count(TrialState::terminated) == 2);
  for (const auto& trial : harness.experiment.trials()) CHECK(trial.failed_saves == 1);
}

TEST_CASE("A process that is used again saves the start of each of its trials",
          "[loop][checkpoint][reuse]") {
  Harness harness;
  harness.trials = 6;
  harness.spec.reuse_processes = true;
  harness.spec.checkpoint_config.checkpoint_at_start = true;
  harness.program.can_reset = true;
  harness.program.refuses_reset = GENERATE(false, true);
  (void)harness.run();
  CHECK(harness.launches == (harness.program.refuses_reset ? 6 : 2));
  CHECK(harness.experiment.count(TrialState::terminated) == 6);
  for (const auto& trial : harness.experiment.trials()) {
    CHECK(trial.failures == 0);
    CHECK(trial.failed_saves == 0);
    REQUIRE(trial.checkpoints.size() == 1);
    CHECK(trial.checkpoints.front().iteration == 0);
  }
}

TEST_CASE("Who cannot be saved at its start ends a run that wants that", "[loop][checkpoint]") {
  Harness harness;
  harness.spec.checkpoint_config.checkpoint_at_start = true;
  harness.program.is_function = true;
  harness.program.can_save = true;
  std::string said;
  try {
    (void)harness.run();
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said.find("can_save_at_start") != std::string::npos);
}

TEST_CASE("An interrupt saves every running trial, and a resume goes on from there",
          "[loop][interrupt]") {
  Harness harness;
  harness.trials = 3;
  harness.signals = {{1.5, SIGINT}};
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::interrupted);
  CHECK(harness.experiment.count(TrialState::pending) == 2);
  CHECK(harness.trial(0).latest_checkpoint()->iteration == 2);
  CHECK(harness.trial(1).latest_checkpoint()->iteration == 2);

  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 3);
  CHECK(has(harness.told, "restore 0 from 2"));
  CHECK(count(harness.told, "result 0 at") == 3);
  CHECK(harness.experiment.results() == 9);
}

TEST_CASE("A second interrupt leaves at once, with what was recorded", "[loop][interrupt]") {
  Harness harness;
  harness.trials = 2;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 1000};
  };
  harness.signals = {{1.5, SIGTERM}, {4, SIGTERM}};
  CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
  CHECK(harness.clock.time < 10);
  CHECK(harness.experiment.count(TrialState::pending) == 2);
}

TEST_CASE("One wish to leave that is told several times is one interrupt", "[loop][interrupt]") {
  const auto signals =
      GENERATE(std::vector<std::pair<Seconds, int>>{{1.5, SIGHUP}, {8, SIGHUP}},
               std::vector<std::pair<Seconds, int>>{{1.5, SIGTERM}, {1.6, SIGTERM}});
  Harness harness;
  harness.trials = 2;
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})", .takes_s = 10};
  };
  harness.signals = signals;
  CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
  CHECK(harness.trial(0).checkpoints.size() == 1);
  CHECK(harness.trial(1).checkpoints.size() == 1);
}

TEST_CASE("An interrupted trial that does not answer is ended when the grace is over",
          "[loop][interrupt]") {
  Harness harness;
  harness.trials = 1;
  harness.program.step = [](const Json&, std::int64_t) {
    FakeStep step;
    step.hangs = true;
    return step;
  };
  harness.signals = {{5, SIGINT}};
  CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
  CHECK(harness.clock.time >= 35);
  CHECK(harness.trial(0).state == TrialState::pending);
  CHECK(harness.trial(0).failures == 0);
}

TEST_CASE("Results carry counters that survive a restore", "[loop][result]") {
  Harness harness;
  harness.trials = 1;
  harness.scheduler = std::make_unique<PauseOnce>();
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1,"timesteps_this_iter":10})", .takes_s = 2};
  };
  (void)harness.run();
  std::vector<Result> results;
  for (const auto& event : harness.events()) {
    if (const auto* reported = std::get_if<ResultReported>(&event.body)) {
      results.push_back(reported->result);
    }
  }
  REQUIRE(results.size() == 3);
  CHECK(results[2].training_iteration == 3);
  CHECK(results[2].iterations_since_restore == 2);
  CHECK(results[2].time_total_s == Approx(6).margin(0.01));
  CHECK(results[2].time_since_restore == Approx(4).margin(0.01));
  CHECK(results[2].timesteps_total == 30);
}

TEST_CASE("A callback's state is recorded when the driver leaves", "[loop][callback]") {
  class Counter : public Callback {
   public:
    std::string name() const override { return "counter"; }
    void on_trial_result(const Trial&, Result&) override { ++results_; }
    Json save() const override { return {{"results", results_}}; }

   private:
    int results_ = 0;
  };
  Harness harness;
  harness.callbacks.push_back(std::make_unique<Counter>());
  (void)harness.run();
  CHECK(harness.journal().find(R"("e":"callback","callback":"counter","state":{"results":12})") !=
        std::string::npos);
}

TEST_CASE("A trial that says it is done without another result has ended with the one before",
          "[loop][result]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 10;
  harness.program.step = [](const Json&, std::int64_t iteration) {
    return iteration < 3 ? FakeStep{.metrics = R"({"loss":1})"}
                         : FakeStep{.metrics = "", .done = true};
  };
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).iteration == 2);
  CHECK(harness.trial(0).ended_by == EndedBy::done);
}

TEST_CASE("How long the trainables take to save is measured", "[loop]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.run();
  CHECK(harness.experiment.saves().committed == 3);
  CHECK(harness.experiment.saves().save_s == Approx(3e-4));
}

TEST_CASE("All places are taken in the turn in which they are free", "[loop]") {
  Harness harness;
  harness.resources = {{"cpu", 4}};
  harness.run();
  for (const Trial& trial : harness.experiment.trials()) {
    CHECK(trial.started == harness.experiment.trials().front().started);
  }
}
