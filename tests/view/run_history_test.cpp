#include "tuner/view/run_history.h"

#include <utility>

#include "tests/support/catch.h"

namespace tune {
namespace {

/// Takes in events at moments that the test says.
struct World {
  Experiment experiment;
  HistoryReader reader{experiment};

  World() { at(0, SessionStarted{"here", 1, "0"}); }
  void at(Seconds time, EventBody body) {
    const Event event{experiment.last_event() + 1, time, std::move(body)};
    experiment.apply(event);
    reader.take(event);
  }
  void add(Seconds time, std::uint32_t trial) {
    at(time, TrialAdded{TrialId{trial}, "{}", "", ""});
  }
  void start(Seconds time, std::uint32_t trial, int attempt, int gpu) {
    at(time, AttemptStarted{TrialId{trial}, attempt, 0, {gpu}});
  }
  void end(Seconds time, std::uint32_t trial, int attempt, Outcome outcome, bool retry = false,
           Seconds not_before = 0) {
    at(time, AttemptEnded{TrialId{trial}, attempt, outcome,
                          outcome == Outcome::failed ? "it broke" : "", retry, not_before});
  }
  RunHistory history() { return std::move(reader).history(); }
};

TEST_CASE("Launches have their times, devices and outcomes", "[run_history][unit]") {
  World world;
  world.add(1, 0);
  world.start(2, 0, 1, 3);
  world.end(5, 0, 1, Outcome::failed, true, 6);
  world.start(7, 0, 2, 3);
  const RunHistory history = world.history();
  REQUIRE(history.attempts.size() == 2);
  CHECK(history.attempts[0].gpus == "3");
  CHECK(history.attempts[0].node == "here");
  CHECK(history.attempts[0].start == 2);
  CHECK(history.attempts[0].end == 5);
  CHECK(history.attempts[0].outcome == "failed");
  CHECK(history.attempts[0].reason == "it broke");
  CHECK(history.attempts[1].end == 0);
}

TEST_CASE("A GPU is free because of what waits meanwhile", "[run_history][unit]") {
  World world;
  world.add(1, 0);
  world.add(1, 1);
  world.start(1, 0, 1, 0);
  world.start(1, 1, 1, 1);
  SECTION("nothing is left to start") {
    world.end(10, 0, 1, Outcome::completed);
    world.end(40, 1, 1, Outcome::completed);
    world.at(41, SessionEnded{"finished", {}, SessionEnd::finished});
    const RunHistory history = world.history();
    REQUIRE(history.idle.size() == 1);
    CHECK(history.idle[0].gpu == "0");
    CHECK(history.idle[0].to - history.idle[0].from == 31);
    CHECK(history.idle[0].why == "no trial was left to start");
  }
  SECTION("a failed trial backs off") {
    world.end(10, 0, 1, Outcome::failed, true, 30);
    world.end(20, 1, 1, Outcome::completed);
    world.start(30, 0, 2, 0);
    const RunHistory history = world.history();
    REQUIRE(history.idle.size() == 1);
    CHECK(history.idle[0].why.starts_with("those that waited had just failed"));
  }
  SECTION("the others are paused") {
    world.end(10, 0, 1, Outcome::paused);
    world.end(20, 1, 1, Outcome::completed);
    world.start(30, 0, 2, 0);
    const RunHistory history = world.history();
    REQUIRE(history.idle.size() == 1);
    CHECK(history.idle[0].why.starts_with("the trials that were left were paused"));
  }
  SECTION("the searcher comes late") {
    world.end(10, 0, 1, Outcome::completed);
    world.end(20, 1, 1, Outcome::completed);
    world.add(30, 2);
    world.start(30, 2, 1, 0);
    const RunHistory history = world.history();
    REQUIRE(history.idle.size() == 1);
    CHECK(history.idle[0].why == "the searcher had no new config yet");
  }
}

TEST_CASE("A driver that died leaves launches without an end and no free GPU",
          "[run_history][unit]") {
  World world;
  world.add(1, 0);
  world.start(1, 0, 1, 0);
  world.at(50, SessionStarted{"there", 2, "0"});
  world.end(51, 0, 1, Outcome::interrupted);
  world.start(60, 0, 2, 0);
  const RunHistory history = world.history();
  REQUIRE(history.attempts.size() == 2);
  CHECK(history.attempts[0].node == "here");
  CHECK(history.attempts[1].node == "there");
  CHECK(history.idle.empty());
}

TEST_CASE("What a scheduler compared is kept of results that it judged", "[run_history][unit]") {
  World world;
  world.add(1, 0);
  world.start(1, 0, 1, 0);
  Decision decision;
  decision.why.add("rung", 4).add("score", 0.5).add("cutoff", 0.4);
  Result result;
  result.training_iteration = 4;
  world.at(2, ResultReported{TrialId{0}, 1, result, decision});
  const RunHistory history = world.history();
  REQUIRE(history.judgements.size() == 1);
  CHECK(history.judgements[0].rung == 4);
  CHECK(history.judgements[0].cutoff == Approx(0.4));
  CHECK(history.judgements[0].went_on);
}

}  // namespace
}  // namespace tune
