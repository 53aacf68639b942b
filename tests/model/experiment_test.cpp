#include "tuner/model/experiment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/support/catch.h"
#include "tuner/base/json_limits.h"

using namespace tune;

namespace {

/// An experiment with a clock that ticks once an event.
struct Story {
  Experiment experiment;
  bool saves_itself = false;

  Story& then(EventBody body) {
    const std::uint64_t number = experiment.last_event() + 1;
    experiment.apply({number, static_cast<Seconds>(number), std::move(body)});
    return *this;
  }
  Story& add() {
    return then(
        TrialAdded{TrialId{static_cast<std::uint32_t>(experiment.trials().size())}, "{}", "", ""});
  }
  Story& start(int checkpoint = 0) {
    return then(AttemptStarted{
        TrialId{0}, trial().attempt + 1, checkpoint, {}, std::nullopt, saves_itself});
  }
  Story& report(std::int64_t iteration, double loss = 1, Action action = Action::proceed,
                bool checkpoint = false) {
    Result result;
    result.training_iteration = iteration;
    result.time_total_s = static_cast<double>(iteration);
    result.metrics.numbers = {{"loss", loss}};
    result.metrics.text = "{}";
    return then(ResultReported{TrialId{0}, trial().attempt, result, {action, checkpoint}});
  }
  Story& save(int index, std::int64_t iteration) {
    Checkpoint checkpoint;
    checkpoint.index = index;
    checkpoint.iteration = iteration;
    checkpoint.time_total_s = static_cast<double>(iteration);
    return then(CheckpointCommitted{TrialId{0}, checkpoint});
  }
  Story& end(Outcome outcome, bool retry = false) {
    return then(AttemptEnded{TrialId{0}, trial().attempt, outcome, "why", retry});
  }
  const Trial& trial() const { return experiment.trial(TrialId{0}); }
};

}  // namespace

TEST_CASE("A trial goes through its states and is always counted once", "[experiment]") {
  Story story;
  story.add().add();
  CHECK(story.experiment.count(TrialState::pending) == 2);
  story.start().report(1).end(Outcome::paused);
  CHECK(story.trial().state == TrialState::paused);
  CHECK(story.experiment.paused().size() == 1);
  story.start().report(1).end(Outcome::failed, true);
  CHECK(story.trial().state == TrialState::pending);
  // It waits behind the one that has never run.
  CHECK(story.experiment.pending().rbegin()->second == TrialId{0});
  story.start().report(1).end(Outcome::completed);
  CHECK(story.trial().state == TrialState::terminated);
  CHECK(story.trial().error.empty());
  CHECK(story.trial().failures == 1);
  CHECK(story.experiment.count(TrialState::pending) == 1);
  CHECK(story.experiment.count(TrialState::terminated) == 1);
  CHECK(story.experiment.running().empty());
}

TEST_CASE("A restore rewinds the counters to the checkpoint's", "[experiment]") {
  Story story;
  story.add().start().report(1).report(2).save(1, 2).report(3).end(Outcome::failed, true);
  CHECK(story.trial().iteration == 3);
  story.start(1);
  CHECK(story.trial().iteration == 2);
  CHECK(story.trial().restored_iteration == 2);
  CHECK(story.trial().time_total_s == 2);
  story.end(Outcome::failed, true).start();
  CHECK(story.trial().iteration == 0);
}

TEST_CASE("Results whose iteration is a guess are known as such until a restore takes them back",
          "[experiment]") {
  Story story;
  const auto guess = [&](std::int64_t iteration) {
    Result result;
    result.training_iteration = iteration;
    result.iteration_is_guess = true;
    result.metrics.text = "{}";
    story.then(ResultReported{TrialId{0}, story.trial().attempt, result, {}});
  };
  story.add().start().report(1).report(2).save(1, 2);
  guess(3);
  guess(4);
  story.report(5);
  for (const std::int64_t i : {3, 4}) CHECK(story.trial().is_guess(i));
  for (const std::int64_t i : {1, 2, 5}) CHECK_FALSE(story.trial().is_guess(i));
  std::string line;
  story.experiment.append_trial(line, TrialId{0});
  Experiment loaded;
  loaded.load_trial(line);
  CHECK(loaded.trial(TrialId{0}).is_guess(4));
  CHECK_FALSE(loaded.trial(TrialId{0}).is_guess(5));
  story.end(Outcome::failed, true).start(1).report(3);
  for (const std::int64_t i : {3, 4}) CHECK_FALSE(story.trial().is_guess(i));
}

TEST_CASE("What was restored to a guess, and has had no result since, is at one", "[experiment]") {
  Story story;
  const auto save_guess = [&](int index, std::int64_t iteration) {
    Checkpoint checkpoint;
    checkpoint.index = index;
    checkpoint.iteration = iteration;
    checkpoint.is_guess = true;
    story.then(CheckpointCommitted{TrialId{0}, checkpoint});
  };
  story.add().add().start().report(1);
  save_guess(1, 1);
  story.report(2).save(2, 2);
  const auto clone = [&](int checkpoint, int attempt) {
    story.then(TrialExploited{TrialId{1}, {TrialId{0}, "{}", ""}});
    story.then(AttemptStarted{TrialId{1}, attempt, checkpoint, {}, TrialId{0}});
  };
  const auto& copy = [&]() -> const Trial& { return story.experiment.trial(TrialId{1}); };
  SECTION("a clone of it with nothing left to train") {
    clone(1, 1);
    CHECK(copy().iteration == 1);
    CHECK(copy().is_at_guess());
    Experiment loaded;
    for (const TrialId id : {TrialId{0}, TrialId{1}}) {
      std::string line;
      story.experiment.append_trial(line, id);
      loaded.load_trial(line);
    }
    CHECK(loaded.trial(TrialId{1}).is_at_guess());
  }
  SECTION("a clone of what is known") {
    clone(2, 1);
    CHECK_FALSE(copy().is_at_guess());
  }
  SECTION("the trial itself, until its next result") {
    story.end(Outcome::failed, true).start(1);
    CHECK(story.trial().is_at_guess());
    CHECK_FALSE(story.trial().is_guess(1));  // that result is counted
    story.report(2);
    CHECK_FALSE(story.trial().is_at_guess());
  }
}

TEST_CASE("What was restored to a known iteration is at that, whatever its own count was there",
          "[experiment]") {
  Story story;
  story.add().add().start().report(1).report(2).report(3).save(1, 3);
  story.then(AttemptStarted{TrialId{1}, 1, 0, {}});
  for (const std::int64_t iteration : {1, 2, 3, 4}) {
    Result result;
    result.training_iteration = iteration;
    result.iteration_is_guess = iteration == 2 || iteration == 4;
    result.metrics.text = "{}";
    story.then(ResultReported{TrialId{1}, 1, result, {}});
  }
  const auto& copy = [&]() -> const Trial& { return story.experiment.trial(TrialId{1}); };
  CHECK(copy().is_at_guess());
  story.then(AttemptEnded{TrialId{1}, 1, Outcome::exploiting, "", false});
  story.then(TrialExploited{TrialId{1}, {TrialId{0}, "{}", ""}});
  story.then(AttemptStarted{TrialId{1}, 2, 1, {}, TrialId{0}});
  REQUIRE(copy().iteration == 3);
  CHECK_FALSE(copy().is_at_guess());
}

TEST_CASE("An attempt interrupted after a pause was decided on is paused, if it was saved",
          "[experiment]") {
  Story story;
  story.add().start().report(1, 1, Action::pause, true);
  SECTION("it was") {
    story.save(1, 1).end(Outcome::interrupted);
    CHECK(story.trial().state == TrialState::paused);
  }
  SECTION("it was not") {
    story.end(Outcome::interrupted);
    CHECK(story.trial().state == TrialState::pending);
  }
  SECTION("the pause failed and it went on") {
    story.report(2).save(1, 2).end(Outcome::interrupted);
    CHECK(story.trial().state == TrialState::pending);
  }
}

TEST_CASE("A damaged checkpoint rewinds an attempt that has just begun with it", "[experiment]") {
  Story story;
  story.add().start().report(1).save(1, 1).report(2).save(2, 2).end(Outcome::failed, true);
  story.start(2).then(CheckpointDamaged{TrialId{0}, 2, "bytes"});
  CHECK(story.trial().iteration == 1);
  CHECK(story.trial().checkpoints.size() == 1);
}

TEST_CASE("An interrupted trial whose end was decided has ended, once its last save is in",
          "[experiment]") {
  Story story;
  story.add().start();
  TrialState expected = TrialState::terminated;
  SECTION("there was nothing to save") { story.report(1, 1, Action::stop); }
  SECTION("it was saved") { story.report(1, 1, Action::stop, true).save(1, 1); }
  SECTION("saving has failed") {
    story.report(1, 1, Action::stop, true).then(CheckpointFailed{TrialId{0}, 1, "full"});
  }
  SECTION("it was not saved") {
    story.report(1, 1, Action::stop, true);
    expected = TrialState::pending;
  }
  SECTION("only the one before was saved") {
    story.report(1, 1, Action::proceed, true).report(2, 1, Action::stop, true).save(1, 1);
    expected = TrialState::pending;
  }
  SECTION("it was not saved, and a user has asked for its end") {
    story.then(TrialStopRequested{TrialId{0}}).report(1, 1, Action::stop, true);
  }
  story.end(Outcome::interrupted);
  CHECK(story.trial().state == expected);
}

TEST_CASE("A trial that is queued again is counted once and has no failures", "[experiment]") {
  Story story;
  story.add().start().report(1, 4).save(1, 1).report(2, 3).end(Outcome::failed);
  REQUIRE(story.experiment.count(TrialState::error) == 1);
  SECTION("going on, it keeps what it has") {
    story.then(TrialRequeued{TrialId{0}, false});
    CHECK(story.trial().checkpoints.size() == 1);
    CHECK(story.trial().summary("loss")->min == 3);
    story.start(1);
    CHECK(story.trial().iteration == 1);
  }
  SECTION("from scratch, it has nothing but its numbers") {
    story.then(TrialRequeued{TrialId{0}, true});
    CHECK(story.trial().checkpoints.empty());
    CHECK(story.trial().summaries.empty());
    CHECK(story.trial().last_metrics.empty());
    CHECK(story.trial().iteration == 0);
    CHECK(story.trial().saves == 1);
    story.start();
  }
  CHECK(story.trial().attempt == 2);
  CHECK(story.trial().failures == 0);
  CHECK(story.trial().ended == 0);
  CHECK(story.experiment.count(TrialState::error) == 0);
  CHECK(story.experiment.running().size() == 1);
  story.report(3, 1, Action::stop).end(Outcome::completed);
  REQUIRE(story.experiment.count(TrialState::terminated) == 1);
  story.then(TrialRequeued{TrialId{0}, false});
  CHECK(story.experiment.count(TrialState::terminated) == 0);
  CHECK(story.experiment.pending().size() == 1);
  // Its end was decided once, but not any more.
  CHECK_FALSE(story.trial().stopping);
}

TEST_CASE("A trial that was paused by hand is not, once it has ended", "[experiment]") {
  Story story;
  story.add().start().report(1).then(TrialHeld{TrialId{0}, false});
  REQUIRE(story.trial().held);
  story.report(2, 1, Action::stop).end(Outcome::completed);
  CHECK_FALSE(story.trial().held);
  story.then(TrialRequeued{TrialId{0}, false});
  CHECK(story.trial().state == TrialState::pending);
}

TEST_CASE("The end of the last session is known until the next one begins", "[experiment]") {
  Story story;
  story.then(SessionStarted{});
  CHECK(story.experiment.session_end().empty());
  story.then(SessionEnded{"finished"});
  CHECK(story.experiment.session_end() == "finished");
  story.then(SessionStarted{});
  CHECK(story.experiment.session_end().empty());
}

TEST_CASE("A trial knows where its last attempt ran, and with which gpus, over a snapshot too",
          "[experiment]") {
  Story story;
  story.then(SessionStarted{"pine", 1, "1"}).add();
  CHECK(std::string_view(story.trial().host).empty());
  story.then(AttemptStarted{TrialId{0}, 1, 0, {0, 1}});
  CHECK(*story.trial().gpus == "0,1");
  story.end(Outcome::interrupted).then(SessionStarted{"oak", 1, "1"});
  CHECK(story.trial().host == "pine");
  story.then(AttemptStarted{TrialId{0}, 2, 0, {3}, {}, false, "GPU-4f"});
  std::string line;
  story.experiment.append_trial(line, TrialId{0});
  Experiment read;
  read.load_trial(line);
  for (const Trial* const trial : {&story.trial(), &read.trials().front()}) {
    CHECK(trial->host == "oak");
    CHECK(*trial->gpus == "GPU-4f");
  }
  // On another machine than its driver's.
  story.end(Outcome::interrupted);
  story.then(AttemptStarted{TrialId{0}, 3, 0, {}, {}, false, {}, false, "elm"});
  CHECK(story.trial().host == "elm");
}

TEST_CASE("Records that contradict the state are refused", "[experiment]") {
  Story story;
  story.add();
  CHECK_THROWS_AS(story.then(TrialRequeued{TrialId{0}, false}), std::invalid_argument);
  CHECK_THROWS_AS(story.report(1), std::invalid_argument);                // it does not run
  CHECK_THROWS_AS(story.start(5), std::invalid_argument);                 // no such checkpoint
  CHECK_THROWS_AS(story.end(Outcome::completed), std::invalid_argument);  // it does not run
  CHECK_THROWS_AS(story.then(AttemptStarted{TrialId{9}, 1, 0, {}}), std::invalid_argument);
  CHECK_THROWS_AS(story.then(CheckpointsDropped{TrialId{0}, {1}}), std::invalid_argument);
  story.start().report(1);
  CHECK_THROWS_AS(story.report(1), std::invalid_argument);  // once
  CHECK_THROWS_AS(story.start(), std::invalid_argument);    // it runs already
  story.save(1, 1);
  CHECK_THROWS_AS(story.save(1, 1), std::invalid_argument);
  CHECK_THROWS_AS(story.experiment.apply({99, 0, StopRequested{""}}), std::invalid_argument);
}

TEST_CASE("A trial that is to stop ends TERMINATED, however its attempt ends", "[experiment]") {
  Story story;
  story.add().start().report(1);
  const auto stop = [&] { story.then(TrialStopRequested{TrialId{0}, "by hand"}); };
  stop();
  CHECK(story.trial().state == TrialState::running);
  SECTION("with a result that says go on, and the driver's death") {
    story.report(2).end(Outcome::interrupted);
    CHECK(story.trial().state == TrialState::terminated);
    CHECK_THROWS_AS(stop(), std::invalid_argument);  // it has ended
  }
  SECTION("but a later attempt knows nothing of it") {
    story.end(Outcome::failed, true).start().end(Outcome::interrupted);
    CHECK(story.trial().state == TrialState::pending);
    stop();  // it does not run
    CHECK(story.trial().state == TrialState::terminated);
    CHECK(story.experiment.count(TrialState::pending) == 0);
    CHECK(story.experiment.count(TrialState::terminated) == 1);
  }
}

TEST_CASE("Metric summaries leave NaN out, but remember that it was last", "[experiment]") {
  Story story;
  story.add().start();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {4, nan, 1, 2, 3, 10, 20, 30, 40, 50, 60, nan};
  std::int64_t iteration = 0;
  for (const double value : values) story.report(++iteration, value);
  const MetricSummary& loss = *story.trial().summary("loss");
  CHECK(std::isnan(loss.last));
  CHECK(loss.min == 1);
  CHECK(loss.max == 60);
  CHECK(loss.count == 10);
  CHECK(loss.average() == Approx(22));
  CHECK(story.trial().average_of_last_5(loss) == Approx((30 + 40 + 50 + 60) / 4.0));
  CHECK(story.trial().average_of_last_10(loss) ==
        Approx((1 + 2 + 3 + 10 + 20 + 30 + 40 + 50 + 60) / 9.0));
  CHECK(story.trial().summary("other") == nullptr);
}

TEST_CASE("A trial of many metrics has one summary each, in whatever order they come",
          "[experiment]") {
  Story story;
  story.add().start();
  const auto report = [&](std::int64_t iteration, bool is_turned) {
    Result result;
    result.training_iteration = iteration;
    for (int i = 0; i < 100; ++i) {
      result.metrics.numbers.push_back({"metric_" + std::to_string(i), static_cast<double>(i)});
    }
    if (is_turned) std::ranges::reverse(result.metrics.numbers);
    result.metrics.text = "{}";
    story.then(ResultReported{TrialId{0}, 1, result, {}});
  };
  const auto check_summaries = [&](const Experiment& experiment, std::uint32_t count) {
    const auto& summaries = experiment.trial(TrialId{0}).summaries;
    REQUIRE(summaries.size() == 100);
    for (std::size_t i = 0; i < 100; ++i) {
      REQUIRE(summaries[i].name == "metric_" + std::to_string(i));
      REQUIRE(summaries[i].last == static_cast<double>(i));
      REQUIRE(summaries[i].count == count);
    }
  };
  report(1, false);
  report(2, true);
  check_summaries(story.experiment, 2);

  Experiment read;  // which has not seen in which order they came
  std::string line;
  story.experiment.append_trial(line, TrialId{0});
  read.load_trial(line);
  read.load_totals(story.experiment.save_totals({}));
  std::swap(story.experiment, read);
  report(3, true);
  check_summaries(story.experiment, 3);
}

TEST_CASE("A trial that has ended keeps its averages, and no room for more", "[experiment]") {
  Story story;
  story.add().start();
  for (int i = 1; i <= 12; ++i) story.report(i, i);
  for (int i = 1; i <= 3; ++i) story.save(i, i);
  story.then(CheckpointsDropped{TrialId{0}, {1, 2}}).end(Outcome::completed);
  const Trial& trial = story.trial();
  const MetricSummary& loss = *trial.summary("loss");
  CHECK(trial.average_of_last_5(loss) == 10);
  CHECK(trial.average_of_last_10(loss) == 7.5);
  CHECK(trial.recent.capacity() == 0);
  CHECK(trial.summaries.capacity() == 1);
  CHECK(trial.checkpoints.capacity() == 1);

  // Taken up again it goes back. Which values are the last of all, its rows know.
  story.then(TrialRequeued{TrialId{0}, false}).start(3);
  CHECK(trial.summaries_in_doubt);
  story.report(4, 100).report(5, 200);
  CHECK(trial.average_of_last_5(loss) == 150);
  CHECK(loss.min == 1);
}

TEST_CASE("A trial that has not ended keeps its recent values over a pause and a retry",
          "[experiment]") {
  Story story;
  story.add().start().report(1, 1, Action::pause, true).save(1, 1).end(Outcome::paused);
  story.start(1).report(2, 2, Action::proceed, true).save(2, 2).end(Outcome::failed, true);
  story.start(2).report(3, 6);
  CHECK(story.trial().average_of_last_5(*story.trial().summary("loss")) == 3);
}

TEST_CASE("Trials and totals, written and read at any time, make an equal experiment that goes on",
          "[experiment]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<EventBody> bodies = {SessionStarted{"host", 1, "1"},
                                   TrialAdded{TrialId{0}, R"({"lr":0.1})", "lr=0.1", ""},
                                   TrialAdded{TrialId{1}, R"({"lr":0.2})", "lr=0.2", "/from"}};
  const auto report = [&](std::uint32_t trial, int attempt, std::int64_t iteration,
                          std::vector<Metric> numbers) {
    Result result;
    result.training_iteration = iteration;
    result.metrics = {R"({"metrics":"text","config":{}})", std::move(numbers)};
    bodies.push_back(ResultReported{TrialId{trial}, attempt, result, {}});
  };
  bodies.push_back(AttemptStarted{TrialId{0}, 1, 0, {}});
  for (int i = 1; i <= 13; ++i) report(0, 1, i, {{"loss", 1.0 / i}, {"er", i % 3 ? i : nan}});
  bodies.push_back(AttemptStarted{TrialId{1}, 1, 0, {}});
  report(1, 1, 1, {{"er", 5}});
  report(1, 1, 2, {{"loss", 7}, {"er", nan}});
  std::get<ResultReported>(bodies.back()).decision = {.action = Action::pause,
                                                      .resources = Resources{{"cpu", 2.5}}};
  bodies.push_back(CheckpointCommitted{TrialId{0}, {.index = 1, .iteration = 13}});
  bodies.push_back(AttemptEnded{TrialId{0}, 1, Outcome::completed, ""});
  bodies.push_back(AttemptEnded{TrialId{1}, 1, Outcome::failed, "it broke"});
  bodies.push_back(TrialRequeued{TrialId{0}, false});
  bodies.push_back(TrialRequeued{TrialId{1}, true});
  bodies.push_back(AttemptStarted{TrialId{0}, 2, 1, {}});
  report(0, 2, 14, {{"er", 1}, {"new", 2}});
  report(0, 2, 15, {});
  bodies.push_back(AttemptEnded{TrialId{0}, 2, Outcome::completed, ""});
  bodies.push_back(CheckpointsDropped{TrialId{0}, {1}});

  std::vector<Event> events;
  for (auto& body : bodies) {
    const std::uint64_t number = events.size() + 1;
    events.push_back({number, static_cast<Seconds>(number), std::move(body)});
  }
  Experiment whole;
  for (const auto& event : events) whole.apply(event);
  Experiment experiment;
  for (std::size_t i = 0; i < events.size(); ++i) {
    experiment.apply(events[i]);
    Experiment read;
    for (const auto& trial : experiment.trials()) {
      std::string line;
      experiment.append_trial(line, trial.id);
      read.load_trial(line);
    }
    read.load_totals(Json::parse(experiment.save_totals({}).dump()));
    CAPTURE(i);
    REQUIRE(read.save() == experiment.save());
    for (std::size_t j = i + 1; j < events.size(); ++j) read.apply(events[j]);
    REQUIRE(read.save() == whole.save());
  }
}

TEST_CASE("A trial's line whose config is not as long as it says is refused", "[experiment]") {
  Experiment experiment;
  experiment.apply({1, 1, TrialAdded{TrialId{0}, R"({"x":1})", "x=1", ""}});
  std::string line;
  experiment.append_trial(line, TrialId{0});
  const std::string length = R"("config_bytes":7)";
  const std::size_t at = line.find(length);
  REQUIRE(at != std::string::npos);
  for (const char* const wrong : {"-1", "-9223372036854775808", "0", "6", "8", "18", "19", "20",
                                  "300", "9223372036854775807"}) {
    std::string changed = line;
    changed.replace(at, length.size(), std::string(R"("config_bytes":)") + wrong);
    CAPTURE(changed);
    Experiment read;
    CHECK_THROWS_AS(read.load_trial(changed), std::invalid_argument);
  }
  Experiment read;
  CHECK_THROWS_AS(read.load_trial(line + " "), std::invalid_argument);
  CHECK_NOTHROW(read.load_trial(line));
}

TEST_CASE("JSON that a trial's line keeps as a text is no deeper than any other", "[experiment]") {
  Story story;
  story.add().add().start();
  story.then(TrialExploited{TrialId{1}, {TrialId{0}, R"({"x":1})", ""}});
  std::string line;
  story.experiment.append_trial(line, TrialId{1});
  const std::string old = R"("old_config":"{}")";
  const std::size_t at = line.find(old);
  REQUIRE(at != std::string::npos);
  const auto with_levels = [&](std::size_t levels) {
    const std::string deep = std::string(levels, '[') + std::string(levels, ']');
    return std::string(line).replace(at, old.size(), R"("old_config":")" + deep + '"');
  };
  Experiment read;
  CHECK_NOTHROW(read.load_trial(with_levels(most_file_levels)));
  CHECK_THROWS_AS(read.load_trial(with_levels(most_file_levels + 1)), std::invalid_argument);
}

TEST_CASE("A trial's line with more recent values than are kept is refused", "[experiment]") {
  Story story;
  story.add().start();
  for (int i = 1; i <= 10; ++i) story.report(i, i);
  std::string line;
  story.experiment.append_trial(line, TrialId{0});
  const std::string values = "[1,2,3,4,5,6,7,8,9,10]";
  const std::size_t at = line.find(values);
  REQUIRE(at != std::string::npos);
  Experiment read;
  CHECK_NOTHROW(read.load_trial(line));
  line.replace(at, values.size(), "[1,2,3,4,5,6,7,8,9,10,11]");
  CHECK_THROWS_AS(read.load_trial(line), std::invalid_argument);
}

TEST_CASE("Saves are counted and measured over all trials", "[experiment]") {
  Story story;
  story.add().start();
  const auto save = [&](int index, std::uint64_t bytes, double save_s, double commit_s) {
    Checkpoint checkpoint;
    checkpoint.index = index;
    checkpoint.iteration = index;
    checkpoint.bytes = bytes;
    checkpoint.save_s = save_s;
    checkpoint.commit_s = commit_s;
    checkpoint.slowest_rank = 3;
    story.report(index).then(CheckpointCommitted{TrialId{0}, checkpoint});
  };
  save(1, 100, 0.5, 0.25);
  save(2, 300, 0.25, 2);
  story.then(CheckpointFailed{TrialId{0}, 3, "no room"});
  const SaveStatistics saves = story.experiment.saves();
  CHECK(saves.committed == 2);
  CHECK(saves.failed == 1);
  CHECK(saves.bytes == 400);
  CHECK(saves.save_s == 0.75);
  CHECK(saves.commit_s == 2.25);
  CHECK(saves.max_save_s == 0.5);
  CHECK(saves.max_commit_s == 2);
  CHECK(saves.slowest == std::map<int, std::uint64_t>{{3, 2}});
  Experiment read;
  std::string line;
  story.experiment.append_trial(line, TrialId{0});
  read.load_trial(line);
  read.load_totals(Json::parse(story.experiment.save_totals({}).dump()));
  CHECK(read.saves().slowest == saves.slowest);
}

TEST_CASE("The order of a kind of save is that of its newest checkpoint of which it was known",
          "[experiment]") {
  Story story;
  story.add().start();
  const auto save = [&](int index, std::optional<SavedWhen> order, std::string kind = "last") {
    Checkpoint checkpoint;
    checkpoint.kind = std::move(kind);
    checkpoint.index = index;
    checkpoint.iteration = index;
    checkpoint.order = order;
    story.report(index).then(CheckpointCommitted{TrialId{0}, checkpoint});
  };
  save(1, {});
  CHECK(story.experiment.save_orders().empty());
  save(2, SavedWhen::after_result);
  save(3, SavedWhen::before_result);
  save(4, {});
  save(5, SavedWhen::after_result, "best");
  const std::map<std::string, SavedWhen> orders = {{"best", SavedWhen::after_result},
                                                   {"last", SavedWhen::before_result}};
  CHECK(story.experiment.save_orders() == orders);
  Experiment read;
  std::string line;
  story.experiment.append_trial(line, TrialId{0});
  read.load_trial(line);
  read.load_totals(Json::parse(story.experiment.save_totals({}).dump()));
  CHECK(read.save_orders() == orders);
  CHECK(read.trial(TrialId{0}).checkpoints.at(4).kind == "best");
  CHECK(read.trial(TrialId{0}).checkpoints.at(1).order == SavedWhen::after_result);
}

TEST_CASE("Totals are refused without the line of one of their trials", "[experiment]") {
  Experiment experiment;
  for (std::uint32_t i = 0; i < 3; ++i) {
    experiment.apply({i + 1, 1, TrialAdded{TrialId{i}, "{}", "", ""}});
  }
  std::vector<std::string> lines(3);
  for (std::uint32_t i = 0; i < 3; ++i) experiment.append_trial(lines[i], TrialId{i});
  const Json totals = Json::parse(experiment.save_totals({}).dump());
  Experiment lacking;
  lacking.load_trial(lines[0]);
  lacking.load_trial(lines[2]);
  CHECK_THROWS_WITH(lacking.load_totals(totals),
                    Catch::Matchers::Contains("there is no line for trial_00001"));
  Experiment short_of_the_last;
  short_of_the_last.load_trial(lines[0]);
  short_of_the_last.load_trial(lines[1]);
  CHECK_THROWS_WITH(short_of_the_last.load_totals(totals),
                    Catch::Matchers::Contains("it speaks of 3 trials, there are 2"));
}

TEST_CASE("Trials that somebody added are counted apart, also once they are read again",
          "[experiment]") {
  Story story;
  story.add().then(TrialAdded{TrialId{1}, "{}", "", "", true});
  CHECK(story.experiment.added_by_hand() == 1);
  Experiment read;
  for (const Trial& trial : story.experiment.trials()) {
    std::string line;
    story.experiment.append_trial(line, trial.id);
    read.load_trial(line);
  }
  read.load_totals(story.experiment.save_totals({}));
  CHECK(read.added_by_hand() == 1);
}

TEST_CASE("Running time counts sessions, not the time between", "[experiment]") {
  Experiment experiment;
  std::uint64_t number = 0;
  const auto at = [&](Seconds time, EventBody body) { experiment.apply({++number, time, body}); };
  at(100, SessionStarted{});
  CHECK(experiment.running_s(110) == 10);
  at(120, SessionEnded{"interrupted"});
  CHECK(experiment.running_s(500) == 20);
  at(1000, SessionStarted{});
  at(1005, StopRequested{"budget"});
  CHECK(experiment.stop_reason() == "budget");
  // That driver died: it counts up to its last record.
  at(2000, SessionStarted{});
  CHECK(experiment.running_s(2001) == 26);
  CHECK(experiment.stop_reason().empty());
  CHECK(experiment.sessions() == 3);
}

TEST_CASE("Trial ids are read as they are written, and by their number", "[trial]") {
  CHECK(to_string(TrialId{12}) == "trial_00012");
  CHECK(to_string(TrialId{1234567}) == "trial_1234567");
  CHECK(parse_trial_id("trial_00012") == TrialId{12});
  CHECK(parse_trial_id("12") == TrialId{12});
  for (const char* text : {"", "trial_", "trial_x", "-1", "12x", "99999999999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_trial_id(text));
  }
}

TEST_CASE("Triggers are named, and read back from their names", "[checkpoint]") {
  Triggers triggers;
  CHECK(triggers.to_string().empty());
  triggers.add(Trigger::callback);
  triggers.add(Trigger::at_end);
  CHECK(triggers.to_string() == "at_end,callback");
  CHECK(Triggers::parse("at_end,callback").to_string() == "at_end,callback");
  CHECK(Triggers::parse("odd,pause").to_string() == "pause");
}

TEST_CASE("A trial that has ended says who has ended it, and why", "[experiment]") {
  const auto reported = [](Story& story, bool done, Decision decision) {
    Result result;
    result.training_iteration = 1;
    result.done = done;
    story.then(ResultReported{TrialId{0}, 1, result, std::move(decision)});
  };
  Story story;
  story.add().start();
  EndedBy by = EndedBy::nobody;
  auto how = TrialEnd::completed;
  std::string why;
  SECTION("itself, whatever else would have") {
    reported(story, true, {.action = Action::stop, .why = Rationale().add("rung", 4)});
    by = EndedBy::done;
  }
  SECTION("a rule") {
    reported(
        story, false,
        {.action = Action::stop,
         .by_rule = true,
         .why = Rationale().add("metric", "loss").add("value", 0.123456789).add("bound", 0.2)});
    by = EndedBy::rule;
    why = "loss 0.12346, bound 0.2";
  }
  SECTION("the scheduler, with what it went by") {
    reported(story, false,
             {.action = Action::stop, .why = Rationale().add("rung", 16).add("cut_off", 0.5)});
    by = EndedBy::scheduler;
    how = TrialEnd::pruned;
    why = "rung 16, cut off 0.5";
  }
  SECTION("the scheduler, which lets no trial train longer") {
    reported(story, false,
             {.action = Action::stop, .at_max = true, .why = Rationale().add("max_t", 16)});
    by = EndedBy::scheduler;
    why = "max t 16";
  }
  SECTION("the run that ends") {
    story.then(StopRequested{"it failed (fail_fast)", false});
    reported(story, false, {.action = Action::stop});
    by = EndedBy::run;
    how = TrialEnd::stopped;
    why = "it failed (fail_fast)";
  }
  SECTION("the user, before a result that ends it as well") {
    story.then(TrialStopRequested{TrialId{0}, std::string(stopped_by_user), EndedBy::user});
    reported(story, true, {.action = Action::stop});
    by = EndedBy::user;
    how = TrialEnd::stopped;
    why = stopped_by_user;
  }
  SECTION("the scheduler, by an order") {
    story.then(TrialStopRequested{TrialId{0}, "it is too slow"});
    by = EndedBy::scheduler;
    how = TrialEnd::pruned;
    why = "it is too slow";
  }
  SECTION("its program") {
    reported(story, false, {});
    by = EndedBy::exit;
  }
  const bool fails = by == EndedBy::nobody;
  if (fails) {
    by = EndedBy::failure;
    how = TrialEnd::failed;
    story.then(AttemptEnded{TrialId{0}, 1, Outcome::failed, "oh\nand more", false});
    why = "oh";
  } else {
    story.end(Outcome::completed);
  }
  CHECK(story.trial().ended_by == by);
  CHECK(story.trial().end() == how);
  CHECK(story.trial().why == why);
  for (const TrialEnd each : trial_ends) {
    CHECK(story.experiment.count(each) == (each == how ? 1 : 0));
  }
  std::string text;
  story.experiment.append_trial(text, TrialId{0});
  Experiment read;
  read.load_trial(text);
  CHECK(read.trial(TrialId{0}).ended_by == by);
  CHECK(read.trial(TrialId{0}).end() == how);
  CHECK(read.trial(TrialId{0}).why == why);
  story.then(TrialRequeued{TrialId{0}, false});
  CHECK(story.trial().ended_by == EndedBy::nobody);
  CHECK(story.trial().end() == std::nullopt);
  CHECK(story.experiment.count(how) == 0);
  CHECK(story.trial().why.empty());
}

TEST_CASE("Of a snapshot that does not say whether a trial was at its end, the reason tells it",
          "[experiment]") {
  const auto read = [](const std::string& why) {
    Story story;
    story.add().start();
    Result result;
    result.training_iteration = 1;
    story.then(ResultReported{TrialId{0}, 1, result, {.action = Action::stop}});
    story.end(Outcome::completed);
    std::string text;
    story.experiment.append_trial(text, TrialId{0});
    const std::string now = "\"at_max\":0";
    text.replace(text.find(now), now.size(), "\"why\":\"" + why + "\"");
    Experiment experiment;
    experiment.load_trial(text);
    return experiment.trial(TrialId{0}).end();
  };
  CHECK(read("max t 81") == TrialEnd::completed);
  CHECK(read("rung 16, score 0.5") == TrialEnd::pruned);
  CHECK(read("max t 81, score 0.5") == TrialEnd::pruned);
}

TEST_CASE("A trial that is read again is what its last line says, and no more", "[experiment]") {
  Story story;
  std::string waiting, ended, again;
  story.add().experiment.append_trial(waiting, TrialId{0});
  story.start().report(1).end(Outcome::completed);
  story.experiment.append_trial(ended, TrialId{0});
  Experiment read;
  read.load_trial(waiting);
  read.load_trial(ended);
  read.load_totals(story.experiment.save_totals({}));
  read.append_trial(again, TrialId{0});
  CHECK(again == ended);
}

TEST_CASE("A trial that a scheduler has paused says why until it goes on", "[experiment]") {
  Story story;
  story.add().start();
  Result result;
  result.training_iteration = 1;
  story.then(ResultReported{
      TrialId{0}, 1, result, {.action = Action::pause, .why = Rationale().add("rung", 4)}});
  story.end(Outcome::paused);
  CHECK(story.trial().why == "rung 4");
  CHECK(story.trial().ended_by == EndedBy::nobody);
  story.start();
  CHECK(story.trial().why.empty());
}

TEST_CASE("A trial stays where it is when it goes on from a checkpoint ahead of it",
          "[experiment]") {
  Story story;
  story.saves_itself = true;
  story.add().start().report(1).report(2).report(3, 0.5, Action::pause).save(1, 6);
  story.end(Outcome::paused).start(1);
  CHECK(story.trial().iteration == 3);
  CHECK(story.trial().restored_iteration == 3);
  CHECK(story.trial().summary("loss")->count == 3);

  SECTION("Killed on the way there, it goes on from where it was") {
    story.report(4).end(Outcome::interrupted).start(1);
    CHECK(story.trial().iteration == 4);
    CHECK(story.trial().summary("loss")->count == 4);
  }
  SECTION("Once it has passed it, it is taken back to it") {
    story.report(4, 0.4).report(5, 0.3).report(6, 0.2).report(7, 0.1).end(Outcome::interrupted);
    story.start(1);
    CHECK(story.trial().iteration == 6);
    CHECK(story.trial().summary("loss")->min == 0.2);
    CHECK_FALSE(story.trial().summaries_in_doubt);
  }
  SECTION("Interrupted while it was to pause, it has paused") {
    story.report(4, 0.4, Action::pause).end(Outcome::interrupted);
    CHECK(story.trial().state == TrialState::paused);
  }
}
