// The loop in virtual time: trials that fail, disks that fill, drivers that die.
#include <algorithm>
#include <cmath>
#include <csignal>
#include <map>
#include <numeric>
#include <utility>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tests/support/stride.h"
#include "tuner/base/error.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

FakeStep ok() { return {.metrics = R"({"loss":1})"}; }

/// Trial x=1 does `what` at its second iteration, once or always.
void let_fail(Harness& harness, const std::function<void(FakeStep&)>& what, bool always = true) {
  auto times = std::make_shared<int>(0);
  harness.program.step = [what, always, times](const Json& config, std::int64_t iteration) {
    FakeStep step = ok();
    if (config["x"] == 1 && iteration == 2 && (always || (*times)++ == 0)) what(step);
    return step;
  };
}

/// Fails in one of its calls once trial 1 has a result.
class FailingScheduler : public Scheduler {
 public:
  FailingScheduler(std::string where, std::function<void()> how)
      : where_(std::move(where)), how_(std::move(how)) {}
  Decision on_result(const Trial& trial, const Result& result) override {
    if (trial.id == TrialId{1} && result.training_iteration == 2) fail_in("on_result");
    if (trial.id != TrialId{1} || result.training_iteration != 2) return {};
    is_to_order_ = where_ == "order";
    return {.action = where_ == "on_trial_wait" ? Action::pause : Action::proceed};
  }
  void on_trial_wait(const Trial&) override { fail_in("on_trial_wait"); }
  std::optional<Order> order() const override {
    if (!is_to_order_) return std::nullopt;
    return Order{.trial = TrialId{99}, .exploit = std::nullopt, .reason = "why not"};
  }

 private:
  void fail_in(const std::string& place) const {
    if (where_ == place) how_();
  }

  const std::string where_;
  const std::function<void()> how_;
  bool is_to_order_ = false;
};

/// With the first result of trial 2 it wants two trials stopped, of which the first has ended.
class LateScheduler : public Scheduler {
 public:
  Decision on_result(const Trial& trial, const Result& result) override {
    if (trial.id == TrialId{2} && result.training_iteration == 1) {
      orders_ = {TrialId{0}, TrialId{3}};
    }
    return {};
  }
  std::optional<Order> order() const override {
    if (orders_.empty()) return std::nullopt;
    return Order{.trial = orders_.front(), .exploit = std::nullopt, .reason = "enough"};
  }
  void on_order(const Trial& trial) override { std::erase(orders_, trial.id); }
  void on_trial_end(const Trial& trial) override { std::erase(orders_, trial.id); }

 private:
  std::vector<TrialId> orders_;
};

}  // namespace

TEST_CASE("A failing trial stays alone, and says how it failed", "[loop][failure]") {
  Harness harness;
  std::string expected;
  SECTION("exit code") {
    let_fail(harness, [](FakeStep& step) { step.exits = 3; });
    expected = "it exited with code 3";
  }
  SECTION("signal") {
    let_fail(harness, [](FakeStep& step) { step.dies_of = 11; });
    expected = "it was killed by signal 11 (Segmentation fault)";
  }
  SECTION("its own message") {
    let_fail(harness, [](FakeStep& step) { step.faults = "out of luck"; });
    expected = "out of luck";
  }
  SECTION("silence") {
    harness.spec.trial_timeout_s = 100;
    let_fail(harness, [](FakeStep& step) { step.hangs = true; });
    expected = "it said nothing for 100 s (trial_timeout_s)";
  }
  SECTION("the metric is not there") {
    harness.spec.objectives = {{"loss", Mode::min}};
    let_fail(harness, [](FakeStep& step) { step.metrics = R"({"los":1,"acc":2})"; });
    expected =
        "the result of iteration 2 lacks the metric 'loss'; it has: los, acc; did you mean 'los'?";
  }
  SECTION("a counter that goes back") {
    let_fail(harness, [](FakeStep& step) { step.metrics = R"({"training_iteration":1})"; });
    expected = "it reported training_iteration 1 after 1";
  }
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(1).state == TrialState::error);
  CHECK(harness.trial(1).error->starts_with(expected));
  CHECK(harness.trial(1).error->find("see /exp/trial_00001/stderr.log") != std::string::npos);
  CHECK(harness.experiment.count(TrialState::terminated) == 3);
}

TEST_CASE(
    "A machine that cannot start processes costs no trial: launches pause, then the run leaves",
    "[loop][failure][circuit_breaker]") {
  const bool worked_once = GENERATE(false, true);
  Harness harness;
  if (worked_once) {
    harness.signals = {{1.5, SIGTERM}};
    (void)harness.run();
    REQUIRE(harness.experiment.results() > 0);
  }
  harness.program.cannot_launch = true;
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::given_up);
  CHECK_THAT(end.reason,
             Contains("the machine cannot run a trial (cannot run the simulated program)"));
  CHECK((harness.clock.time > 300) == worked_once);  // then it is patient
  CHECK(harness.launches < 20);
  CHECK(harness.experiment.count(TrialState::error) == 0);
  CHECK(harness.trial(0).failures == 0);
  harness.program.cannot_launch = false;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 4);
}

TEST_CASE(
    "What lies in a trial's directory and keeps it from being launched is that trial's failure",
    "[loop][failure]") {
  Harness harness;
  harness.program.cannot_launch = harness.program.is_trials_fault = true;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::error) == 4);
  CHECK(harness.trial(0).error->starts_with("cannot run the simulated program"));
}

TEST_CASE("A search whose first trials all fail before any result ends early and says why",
          "[loop][failure][circuit_breaker]") {
  const int samples = GENERATE(400, -1);
  Harness harness;
  harness.trials = 400;
  harness.spec.num_samples = samples;
  harness.program.step = [](const Json&, std::int64_t) { return FakeStep{.exits = 3}; };
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::given_up);
  CHECK_THAT(end.reason, Contains("the first 5 trials that were started have all failed alike, "
                                  "the first of them trial_"));
  CHECK_THAT(end.reason, Contains(": it exited with code 3"));
  CHECK_THAT(end.reason, Contains("there is no result yet"));
  CHECK(harness.experiment.trials().size() <= 6);
  CHECK(harness.experiment.count(TrialState::error) == 0);  // they are tried again at a resume
}

TEST_CASE("A search ends with the first result of all if that lacks its metric",
          "[loop][failure][circuit_breaker]") {
  Harness harness;
  harness.trials = 400;
  harness.spec.objectives = {{"loss", Mode::min}};
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"los":1})"};
  };
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::given_up);
  CHECK_THAT(end.reason, Contains("lacks the metric 'loss'; it has: los"));
  CHECK(harness.experiment.trials().size() == 2);  // as many as run at one time
  CHECK(harness.experiment.session_end() == "given up: " + end.reason);
}

TEST_CASE("A machine that breaks in the middle of a search costs it no trial",
          "[loop][failure][circuit_breaker]") {
  const bool recovers = GENERATE(false, true);
  Harness harness;
  harness.trials = 100;
  bool is_broken = false;
  harness.program.step = [&](const Json&, std::int64_t) {
    if (harness.clock.time > 20) is_broken = !recovers || harness.clock.time < 40;
    if (is_broken) return FakeStep{.takes_s = 0.1, .exits = 1};
    return FakeStep{.metrics = R"({"loss":1})"};
  };
  const LoopEnd end = harness.run();
  CHECK(end.kind == (recovers ? LoopEnd::Kind::finished : LoopEnd::Kind::given_up));
  CHECK(harness.experiment.count(TrialState::error) == 0);
  const auto is_explained = [](const std::string& line) {
    return line.starts_with(
        "notice 8 trials that were started have all failed alike, the first of");
  };
  CHECK(std::any_of(harness.told.begin(), harness.told.end(), is_explained));
  harness.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1})"};
  };
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 100);
}

TEST_CASE("Configs that cannot work are tried once more, and do not end a search that works",
          "[loop][failure][circuit_breaker]") {
  Harness harness;
  harness.trials = 40;
  harness.program.step = [](const Json& config, std::int64_t) {
    const int x = config.at("x");
    if (x >= 10 && x < 25) return FakeStep{.takes_s = 0.1, .exits = 1};
    return FakeStep{.metrics = R"({"loss":1})"};
  };
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::error) == 15);
  CHECK(harness.experiment.count(TrialState::terminated) == 25);
}

TEST_CASE("Configs that are too large pause no launch, however many come in a row",
          "[loop][failure][circuit_breaker]") {
  const bool is_known_for_it = GENERATE(true, false);
  Harness harness;
  harness.trials = 100;
  harness.program.step = [&](const Json& config, std::int64_t) {
    const int x = config.at("x");
    const bool is_early = x == 2 || x == 6;  // before that it is not known what such failures are
    if (is_early || (x >= 20 && x < 90)) {
      FakeStep step{.takes_s = 0.1};
      step.faults = is_known_for_it ? "RuntimeError: CUDA out of memory. Tried to allocate 20 GiB"
                                    : "the model is too large";
      return step;
    }
    return FakeStep{.metrics = R"({"loss":1})"};
  };
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::error) == 72);
  for (const std::string& line : harness.told) {
    INFO(line);
    CHECK(line.find("fault of the machine") == std::string::npos);
  }
}

TEST_CASE("A trial that a batch system ends is no failure of its config", "[loop][failure]") {
  const int code = GENERATE(143, 1);  // as a shell says SIGTERM
  Harness harness;
  let_fail(harness, [&](FakeStep& step) { step.exits = code; });
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(1).state == TrialState::error);
  int failures = 0;
  for (const Event& event : harness.events()) {
    const auto* const ended = std::get_if<AttemptEnded>(&event.body);
    if (ended == nullptr || ended->outcome != Outcome::failed) continue;
    ++failures;
    CHECK(ended->of_machine == (code == 143));
  }
  CHECK(failures == 1);
}

TEST_CASE("A failed trial is retried from its latest checkpoint, as often as allowed",
          "[loop][failure]") {
  Harness harness;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  SECTION("once is enough") {
    harness.spec.failure_config.max_failures = 2;
    let_fail(
        harness, [](FakeStep& step) { step.exits = 1; }, false);
    (void)harness.run();
    CHECK(harness.trial(1).state == TrialState::terminated);
    CHECK(harness.trial(1).failures == 1);
    CHECK(harness.trial(1).attempt == 2);
    CHECK(harness.trial(1).error.empty());
    CHECK(std::find(harness.told.begin(), harness.told.end(), "restore 1 from 1") !=
          harness.told.end());
  }
  SECTION("never works") {
    harness.spec.failure_config.max_failures = 2;
    let_fail(harness, [](FakeStep& step) { step.exits = 1; });
    (void)harness.run();
    CHECK(harness.trial(1).state == TrialState::error);
    CHECK(harness.trial(1).failures == 3);
    CHECK(harness.clock.time > 3);  // it waited 1 s, then 2 s
  }
}

TEST_CASE("A trial that fails again and again waits twice as long each time, at most a minute",
          "[loop][failure]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.failure_config.max_failures = 8;
  harness.program.step = [](const Json&, std::int64_t) { return FakeStep{.exits = 1}; };
  (void)harness.run();
  std::vector<long> waits_s;
  for (const Event& event : harness.events()) {
    const auto* const ended = std::get_if<AttemptEnded>(&event.body);
    if (ended != nullptr && ended->retry) {
      waits_s.push_back(std::lround(ended->not_before - event.time));
    }
  }
  CHECK(waits_s == std::vector<long>{1, 2, 4, 8, 16, 32, 60, 60});
  CHECK(harness.clock.time < std::accumulate(waits_s.begin(), waits_s.end(), 0) + 20);
}

TEST_CASE("However a trial ends after an interrupt, the resume goes on with it",
          "[loop][failure]") {
  // What interrupts the driver may reach its trials, too.
  Harness harness;
  const int code = GENERATE(0, 1, 128 + SIGTERM);
  let_fail(
      harness, [code](FakeStep& step) { step.exits = code; }, false);
  harness.signals = {{1.5, SIGINT}};
  CHECK(harness.run().kind == LoopEnd::Kind::interrupted);
  CHECK(harness.trial(1).failures == 0);
  CHECK(harness.trial(1).state == TrialState::pending);

  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 4);
}

TEST_CASE("A trial that a signal ends shortly before the driver's is interrupted with it",
          "[loop][failure]") {
  Harness harness;
  harness.resources = {{"cpu", 1}};
  std::optional<int> exits;
  std::optional<int> dies_of;
  bool comes_to_driver = true;
  SECTION("by the signal") { dies_of = SIGTERM; }
  SECTION("by what a shell makes of it") { exits = 128 + SIGINT; }
  SECTION("unless the driver is not meant") {
    dies_of = SIGHUP;
    comes_to_driver = false;
  }
  SECTION("nor by a signal that is a fault") { dies_of = SIGSEGV; }
  const bool is_fault = dies_of == SIGSEGV;
  bool has_died = false;
  Seconds died_at = 0;
  harness.program.step = [&](const Json&, std::int64_t iteration) {
    FakeStep step{.metrics = R"({"x": 1})"};
    if (iteration != 2 || std::exchange(has_died, true)) return step;
    step.exits = exits;
    step.dies_of = dies_of;
    died_at = harness.clock.time;
    if (comes_to_driver) {
      harness.executor->at(harness.clock.time + 1.5, Interrupted{SIGTERM});
    }
    return step;
  };
  const LoopEnd end = harness.run();
  if (!comes_to_driver) {
    CHECK(end.kind == LoopEnd::Kind::finished);
    CHECK(harness.trial(0).state == TrialState::error);
    return;
  }
  CHECK(end.kind == LoopEnd::Kind::interrupted);
  CHECK(harness.trial(0).state == (is_fault ? TrialState::error : TrialState::pending));
  if (!is_fault) CHECK(harness.clock.time < died_at + 1.6);  // and is not waited for
  // Until then nothing was started in its place.
  CHECK((harness.experiment.trials().size() > 1) == is_fault);
}

TEST_CASE("Rules decide which failures are retried, and the trial says which", "[loop][failure]") {
  Harness harness;
  FailureConfig& config = harness.spec.failure_config;
  config.max_failures = 1;
  int attempts = 2;
  std::string said;
  SECTION("out of memory is not, by itself") {
    let_fail(harness, [](FakeStep& step) { step.faults = "RuntimeError: CUDA out of memory."; });
    attempts = 1;
    said =
        "; not retried: /failure_config/never_retry_on/0 (out_of_memory) matched 'CUDA out of "
        "memory'";
  }
  SECTION("out of memory is, if that is wanted") {
    config.never_retry_on.clear();
    let_fail(harness, [](FakeStep& step) { step.faults = "RuntimeError: CUDA out of memory."; });
  }
  SECTION("a lost device is") {
    let_fail(harness,
             [](FakeStep& step) { step.faults = "CUDA error: unspecified launch failure"; });
  }
  SECTION("only what is asked for: another exit code") {
    config.retry_on = {{FailureRule{.exit_code = 75}}};
    let_fail(harness, [](FakeStep& step) { step.exits = 3; });
    attempts = 1;
    said = "; not retried: nothing in /failure_config/retry_on matched";
  }
  SECTION("only what is asked for: that exit code") {
    config.retry_on = {{FailureRule{.exit_code = 75}}};
    let_fail(harness, [](FakeStep& step) { step.exits = 75; });
  }
  SECTION("a signal that the driver sent is not the program's") {
    config.never_retry_on = {FailureRule{.signal = SIGTERM}};
    harness.spec.trial_timeout_s = 100;
    let_fail(harness, [](FakeStep& step) { step.hangs = true; });
  }
  SECTION("a signal that it died of") {
    config.never_retry_on = {FailureRule{.signal = SIGTERM}};
    let_fail(harness, [](FakeStep& step) { step.dies_of = SIGTERM; });
    attempts = 1;
    said = "; not retried: /failure_config/never_retry_on/0 matched signal 15";
  }
  (void)harness.run();
  CHECK(harness.trial(1).state == TrialState::error);
  CHECK(harness.trial(1).attempt == attempts);
  const std::string& error = harness.trial(1).error;
  CHECK((said.empty() ? error.find("not retried") == std::string::npos : error.ends_with(said)));
}

TEST_CASE("Rules say nothing where nothing would be retried anyway", "[loop][failure]") {
  Harness harness;
  let_fail(harness, [](FakeStep& step) { step.faults = "MemoryError"; });
  (void)harness.run();
  CHECK(harness.trial(1).error->find("not retried") == std::string::npos);
}

TEST_CASE("fail_fast ends the others in good order", "[loop][failure]") {
  Harness harness;
  harness.trials = 10;
  harness.iterations = 50;
  harness.spec.failure_config.fail_fast = FailFast::yes;
  let_fail(harness, [](FakeStep& step) { step.exits = 1; });
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::stopped);
  CHECK(end.reason.starts_with("trial_00001 failed (fail_fast)"));
  CHECK(harness.trial(0).state == TrialState::pending);  // not at fault
  CHECK(harness.experiment.trials().size() < 10);
}

TEST_CASE("fail_fast raise ends everything at once, and the others can be gone on with",
          "[loop][failure]") {
  Harness harness;
  harness.trials = 4;
  harness.spec.failure_config.fail_fast = FailFast::raise;
  let_fail(
      harness, [](FakeStep& step) { step.exits = 1; }, false);
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::raised);
  CHECK(end.reason.starts_with("trial_00001 failed (fail_fast)"));
  CHECK(harness.clock.time < 3);  // nobody was waited for
  CHECK(harness.trial(0).state == TrialState::pending);
  CHECK(harness.trial(1).state == TrialState::error);
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 3);
}

TEST_CASE("A function trainable cannot be asked to save: refused with what to do", "[loop]") {
  Harness harness;
  harness.program.is_function = true;
  harness.spec.checkpoint_config.checkpoint_at_end = true;
  CHECK_THROWS_WITH(harness.run(), Catch::Matchers::StartsWith("checkpoint_frequency and "));
}

TEST_CASE("A failed save is a warning, and training goes on", "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  int saves = 0;
  harness.program.save_error = [&saves]() -> std::optional<std::string> {
    return ++saves <= 2 ? std::optional<std::string>("no space") : std::nullopt;
  };
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).failed_saves == 2);
  CHECK(harness.trial(0).failed_saves_in_a_row == 0);
  CHECK(harness.trial(0).save_error->find("no space") != std::string::npos);
  CHECK(harness.checkpoint_dirs(0) == std::vector<std::string>{"checkpoint_000003"});
}

TEST_CASE("A trainable that dies while it saves leaves nothing behind", "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.spec.trial_timeout_s = 100;
  harness.program.hangs_in_save = true;
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::error);
  CHECK(harness.trial(0).error->starts_with("it said nothing for 100 s"));
  CHECK(harness.checkpoint_dirs(0).empty());
}

TEST_CASE("A damaged checkpoint is set aside and the one before is used", "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 4;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.spec.failure_config.max_failures = 1;
  bool failed = false;
  harness.program.step = [&](const Json&, std::int64_t iteration) {
    FakeStep step = ok();
    if (iteration == 3 && !failed) {
      failed = true;
      step.exits = 1;
      harness.files.put("/exp/trial_00000/checkpoint_000002/state", "9");
    }
    return step;
  };
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.files.exists("/exp/trial_00000/checkpoint_000002.corrupt"));
  CHECK(std::find(harness.told.begin(), harness.told.end(), "restore 0 from 1") !=
        harness.told.end());
  CHECK(harness.trial(0).iteration == 4);
}

TEST_CASE("A start checkpoint that cannot be trusted reaches no trial that has none of its own",
          "[loop][checkpoint]") {
  Harness harness;
  harness.trials = 2;
  harness.resources = {{"cpu", 1}};
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.spec.failure_config.max_failures = 1;
  harness.spec.resume_from_checkpoint = "/start";
  harness.files.put("/start/state", "0");
  bool failed = false;
  harness.program.step = [&](const Json&, std::int64_t iteration) {
    FakeStep step = ok();
    if (iteration == 2 && !failed) {
      failed = true;
      step.exits = 1;
      harness.files.put("/start/manifest.json", "{}");
    }
    return step;
  };
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(1).state == TrialState::error);
  CHECK_THAT(*harness.trial(1).error, Contains("/start cannot be trusted"));
}

TEST_CASE("A process that no signal ends is named, and holds what it has until it is gone",
          "[loop][failure]") {
  Harness harness;
  harness.trials = 3;
  harness.iterations = 10;
  harness.program.exit_s = 200;
  harness.program.step = [](const Json& config, std::int64_t iteration) -> FakeStep {
    const Seconds takes_s = config["x"] == 1 ? 200.0 : 1.0;
    if (config["x"] == 0) return {.metrics = R"({"loss":1})", .done = true};
    // The others leave by themselves.
    if (iteration == 2) return {.takes_s = takes_s, .exits = 0};
    return {.metrics = R"({"loss":1})", .takes_s = takes_s};
  };
  const Seconds began = harness.clock.now();
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(std::count(harness.told.begin(), harness.told.end(),
                   "notice process 1001 does not end, killed or not, and keeps what it holds") ==
        1);
  CHECK(harness.experiment.count(TrialState::terminated) == 3);
  std::map<TrialId, Seconds> starts;
  std::map<TrialId, Seconds> ends;
  for (const Event& event : harness.events()) {
    if (const auto* start = std::get_if<AttemptStarted>(&event.body)) {
      starts[start->trial] = event.time - began;
    } else if (const auto* end = std::get_if<AttemptEnded>(&event.body)) {
      ends[end->trial] = event.time - began;
    }
  }
  CHECK(ends.at(TrialId{0}) < 100);  // the trial is over before its process
  CHECK(starts.at(TrialId{2}) > 200);
  CHECK(starts.at(TrialId{2}) < 210);
}

TEST_CASE("A callback that throws is named and dropped, and the run goes on", "[loop][callback]") {
  class Thrower : public Callback {
   public:
    std::string name() const override { return "thrower"; }
    void on_trial_start(const Trial&) override { throw std::runtime_error("oops"); }
  };
  class Counter : public Callback {
   public:
    explicit Counter(int& starts) : starts_(starts) {}
    std::string name() const override { return "counter"; }
    void on_trial_start(const Trial&) override { ++starts_; }

   private:
    int& starts_;
  };
  Harness harness;
  int before = 0, after = 0;
  harness.callbacks.push_back(std::make_unique<Counter>(before));
  harness.callbacks.push_back(std::make_unique<Thrower>());
  harness.callbacks.push_back(std::make_unique<Counter>(after));
  (void)harness.run();
  CHECK(harness.experiment.count(TrialState::terminated) == 4);
  CHECK(before == 4);
  CHECK(after == 4);
  CHECK(std::count(harness.told.begin(), harness.told.end(),
                   "notice callback 'thrower' failed in on_trial_start and is no longer called: "
                   "oops") == 1);
}

TEST_CASE("Killed at any disk operation, a run recovers and ends with each iteration once",
          "[loop][crash]") {
  const auto prepare = [](Harness& harness) {
    harness.trials = 3;
    harness.iterations = 3;
    harness.spec.checkpoint_config = {
        .num_to_keep = 1, .checkpoint_frequency = 1, .checkpoint_at_end = true};
  };
  Harness unharmed;
  prepare(unharmed);
  (void)unharmed.run();
  const auto operations = unharmed.files.operations();
  REQUIRE(operations > 100);
  const bool power_fails = GENERATE(false, true);
  std::uint64_t deaths = 0;
  for (std::uint64_t k = 1; k <= operations; k += test::stride) {
    CAPTURE(k, power_fails);
    Harness harness;
    prepare(harness);
    harness.files.die_at_operation(k, k % 7);
    try {
      (void)harness.run();
    } catch (const Error&) {
      ++deaths;
    }
    power_fails ? harness.files.crash() : harness.files.restart();
    (void)harness.run();
    REQUIRE(harness.experiment.count(TrialState::terminated) == 3);
    Experiment folded;
    for (const auto& event : harness.events()) folded.apply(event);
    REQUIRE(folded.save() == harness.experiment.save());
    for (const auto& trial : harness.experiment.trials()) {
      REQUIRE(trial.iteration == 3);
      for (const auto& checkpoint : trial.checkpoints) {
        REQUIRE(harness.files.exists("/exp/" + to_string(trial.id) + "/checkpoint_00000" +
                                     std::to_string(checkpoint.index) + "/manifest.json"));
      }
    }
  }
  CHECK(deaths > operations / (2 * test::stride));
}

TEST_CASE(
    "A run that a fault ends has its end in the record, with why, and leaves no trial running",
    "[loop][fault]") {
  const std::string where = GENERATE(as<std::string>(), "on_result", "on_trial_wait", "order");
  const bool is_known = GENERATE(false, true);
  const bool is_slow = GENERATE(false, true);
  CAPTURE(where, is_known, is_slow);
  Harness harness;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.scheduler = std::make_unique<FailingScheduler>(where, [is_known] {
    if (is_known) throw user_error("the scheduler has had enough");
    throw std::runtime_error("out of thoughts");
  });
  if (is_slow) harness.slow_down_disk();
  std::string said;
  try {
    (void)harness.run();
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK_THAT(said, Contains(where == "order" ? "an order for trial_00099"
                            : is_known       ? "the scheduler has had enough"
                                             : "out of thoughts"));
  CAPTURE(harness.journal(), harness.told);
  const auto events = harness.events();
  const auto* const end = std::get_if<SessionEnded>(&events.back().body);
  REQUIRE(end != nullptr);
  CHECK(end->reason == said);
  Experiment recorded;
  for (const auto& event : events) recorded.apply(event);
  CHECK(recorded.running().empty());
  CHECK(recorded.count(TrialState::pending) > 0);
  CHECK(recorded.count(TrialState::error) == 0);
  CHECK(recorded.save() == harness.experiment.save());

  // It has been mended.
  harness.scheduler =
      std::make_unique<FailingScheduler>(where == "order" ? "nowhere" : where, [] {});
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.experiment.count(TrialState::terminated) == 4);
  CHECK(harness.journal().find("died") == std::string::npos);
}

TEST_CASE("Who is to be stopped and has ended holds up nobody who is to be stopped after him",
          "[loop][fault]") {
  Harness harness;
  harness.scheduler = std::make_unique<LateScheduler>();
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).iteration == 3);
  CHECK(harness.trial(2).iteration == 3);
  CHECK(harness.trial(3).iteration < 3);
}
