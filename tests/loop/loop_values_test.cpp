// What comes in from trainables, searchers and callbacks, and what is remembered of it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

/// Decides nothing, and notes the times of the results that it is told.
class Watching : public Scheduler {
 public:
  explicit Watching(std::vector<double>& seen) : seen_(seen) {}
  Decision on_result(const Trial&, const Result& result) override {
    seen_.push_back(result.timestamp);
    return {};
  }

 private:
  std::vector<double>& seen_;
};

/// Takes its time, as far as the clock is concerned.
class Slow : public Callback {
 public:
  explicit Slow(VirtualClock& clock) : clock_(clock) {}
  std::string name() const override { return "slow"; }
  void on_trial_result(const Trial&, Result&) override { clock_.time += 0.125; }

 private:
  VirtualClock& clock_;
};

class Suggesting : public Searcher {
 public:
  explicit Suggesting(Json config) : config_(std::move(config)) {}
  Answer suggest(TrialId) override { return Suggestion{config_, ""}; }
  Json save() const override { return {}; }
  void load(const Json&) override {}

 private:
  Json config_;
};

class Remembering : public Callback {
 public:
  explicit Remembering(Json state) : state_(std::move(state)) {}
  std::string name() const override { return "remembering"; }
  Json save() const override { return state_; }

 private:
  Json state_;
};

Json nested(int levels) {
  Json json = 1;
  for (int i = 0; i < levels; ++i) json = Json{{"a", json}};
  return json;
}

}  // namespace

TEST_CASE("A policy sees the same times of results live and in a replay", "[loop][values]") {
  Harness harness;
  harness.trials = 1;
  std::vector<double> live;
  std::vector<double> replayed;
  harness.scheduler = std::make_unique<Watching>(live);
  harness.callbacks.push_back(std::make_unique<Slow>(harness.clock));
  (void)harness.run();
  harness.scheduler = std::make_unique<Watching>(replayed);
  (void)harness.run();
  REQUIRE(live.size() == 2);  // the stopper has the last one
  CHECK(replayed == live);
}

TEST_CASE("An iteration's time that cannot be is the driver's own, and totals stay numbers",
          "[loop][values]") {
  Harness harness;
  harness.trials = 1;
  harness.iterations = 4;
  harness.program.step = [](const Json&, std::int64_t iteration) {
    static const std::vector<std::string> times = {"NaN", "-5", "1e308", "2.5"};
    return FakeStep{.metrics = R"({"loss":1,"time_this_iter_s":)" +
                               times.at(static_cast<std::size_t>(iteration - 1)) + "}"};
  };
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::terminated);
  CHECK(harness.trial(0).time_total_s == Approx(1 + 1 + 1 + 2.5));
  CHECK(harness.journal().find(R"("time_this_iter_s":"NaN")") != std::string::npos);
}

TEST_CASE("A config that could not be read back or sent ends the run before it is recorded",
          "[loop][values]") {
  const auto& [config, why] = GENERATE(table<Json, std::string>(
      {{nested(64), "nested deeper than 63"}, {Json{{"a", "\xff"}}, "not UTF-8"}}));
  Harness harness;
  harness.make_searcher = [&config = config](int) { return std::make_unique<Suggesting>(config); };
  std::string said;
  try {
    (void)harness.run();
  } catch (const Error& error) {
    said = error.what();
  }
  CHECK(said.find("the searcher suggests for trial_00000 cannot be used") != std::string::npos);
  CHECK(said.find(why) != std::string::npos);
  harness.make_searcher = make_counting_searcher;
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
}

TEST_CASE("A callback's state that could not be read back costs that callback only",
          "[loop][values]") {
  Harness harness;
  harness.trials = 1;
  harness.spec.snapshot_period_s = 1;
  harness.callbacks.push_back(std::make_unique<Remembering>(nested(1000)));
  (void)harness.run();
  CHECK(harness.trial(0).iteration == 3);
  CHECK(std::any_of(harness.told.begin(), harness.told.end(), [](const auto& line) {
    return line.starts_with("notice callback 'remembering' failed in save");
  }));
  CHECK(harness.snapshots_taken > 0);
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
}

TEST_CASE("An iteration that cannot be counted is refused as what it is", "[loop][values]") {
  Harness harness;
  harness.trials = 1;
  harness.program.step = [](const Json&, std::int64_t iteration) {
    if (iteration == 1) return FakeStep{.metrics = R"({"loss":1})"};
    return FakeStep{.metrics = R"({"loss":1,"training_iteration":1e16})"};
  };
  (void)harness.run();
  CHECK(harness.trial(0).state == TrialState::error);
  CHECK(harness.trial(0).error->find("it reported training_iteration 1e+16: the last that can be "
                                     "counted is 9000000000000000") == 0);

  Harness last;
  last.trials = 1;
  last.program.step = [](const Json&, std::int64_t) {
    return FakeStep{.metrics = R"({"loss":1,"training_iteration":9000000000000000})"};
  };
  (void)last.run();
  CHECK(last.trial(0).state == TrialState::terminated);
  CHECK(last.trial(0).iteration == 9'000'000'000'000'000);
}

TEST_CASE("Saves that fail all the time are said at the first and the tenth", "[loop][values]") {
  Harness harness;
  harness.trials = 4;
  harness.iterations = 5;
  harness.spec.checkpoint_config.checkpoint_frequency = 1;
  harness.program.save_error = [] { return std::optional<std::string>("the disk is full"); };
  (void)harness.run();
  CHECK(harness.experiment.saves().failed == 20);
  std::vector<std::string> said;
  for (const auto& line : harness.told) {
    if (line.find("could not be saved") != std::string::npos) said.push_back(line);
  }
  REQUIRE(said.size() == 2);
  CHECK(said[1].find("(10 by now)") != std::string::npos);
}

TEST_CASE("Processes that are to be reused and cannot be are named once", "[loop][values]") {
  Harness harness;
  harness.spec.reuse_processes = true;
  const bool can_reset = GENERATE(false, true);
  harness.program.can_reset = can_reset;
  (void)harness.run();
  const auto said = std::count_if(harness.told.begin(), harness.told.end(), [](const auto& line) {
    return line.find("reuse_processes has no effect") != std::string::npos;
  });
  CHECK(said == (can_reset ? 0 : 1));
}

TEST_CASE("A metric that a rule waits for in vain is named once, soon enough", "[loop][values]") {
  Harness harness;
  harness.spec.stop = {{"acuracy", 0.9}};
  std::string expected;
  SECTION("after the first results of a long trial") {
    harness.iterations = 30;
    expected = "notice none of the first results of trial_0000";
  }
  SECTION("at the end of a short one") {
    harness.iterations = 3;
    expected = "notice no result of trial_0000";
  }
  SECTION("after three results that have one that is called almost so") {
    harness.iterations = 4;
    expected = "notice none of the first results of trial_0000";
    harness.program.step = [](const Json&, std::int64_t) {
      return FakeStep{.metrics = R"({"loss":1,"accuracy":0.1})"};
    };
  }
  SECTION("and not if it came at last") {
    harness.iterations = 9;
    harness.program.step = [](const Json&, std::int64_t iteration) {
      return FakeStep{.metrics = iteration < 8 ? R"({"loss":1})" : R"({"acuracy":0.1})"};
    };
  }
  (void)harness.run();
  std::vector<std::string> said;
  for (const std::string& line : harness.told) {
    const bool is_near = line.find("did you mean 'accuracy'?") != std::string::npos;
    if (is_near || line.find("is it another name?") != std::string::npos) said.push_back(line);
  }
  REQUIRE(said.size() == (expected.empty() ? 0 : 1));
  if (expected.empty()) return;
  CHECK(said[0].starts_with(expected));
  CHECK(said[0].find("'acuracy', by which a stop rule goes") != std::string::npos);
}
