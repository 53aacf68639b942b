#include "searchers/history.h"

#include <cmath>

#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

History history_of(std::size_t objectives, History::Curves curves) {
  return History(space_of({{"x", {{"uniform", {0, 1}}}}}), objectives, curves);
}

}  // namespace

TEST_CASE("A trial that is told of again keeps its place and begins anew", "[history]") {
  using State = History::State;
  History history(space_of({{"x", {{"uniform", {0, 10}}}}}), 2);
  CHECK(history.add(TrialId(4), R"({"x": 1})") == 0);
  CHECK(history.add(TrialId(9), R"({"x": 2})") == 1);
  REQUIRE(history.end(TrialId(4), {7, {0.5, 2}, {-1}}, Ended::complete) == 0);
  CHECK_FALSE(history.end(TrialId(5), {7, {0.5, 2}, {-1}}, Ended::complete));
  CHECK(history.count(State::complete) == 1);
  CHECK(history.rows()[0].scores == std::vector<double>{0.5, 2});
  CHECK(history.rows()[0].constraints == std::vector<double>{-1});
  CHECK(history.rows()[0].iteration == 7);

  CHECK(history.add(TrialId(4), R"({"x": 3})") == 0);
  const History::Row& row = history.rows()[0];
  CHECK(row.state == State::running);
  CHECK(row.iteration == 0);
  CHECK(row.scores.empty());
  CHECK(row.constraints.empty());
  CHECK(row.point == std::vector<double>{3});
  CHECK(history.count(State::complete) == 0);
  CHECK(history.count(State::running) == 2);

  history.end(TrialId(9), {3, {1}, {}}, Ended::complete);  // a number is missing
  CHECK(history.rows()[1].scores.size() == 2);
  CHECK(history.count(State::failed) == 1);
}

TEST_CASE("A history that keeps curves gives all results of a trial by iteration", "[history]") {
  History history = history_of(2, History::Curves::kept);
  history.add(TrialId{3}, R"({"x":0.5})");
  history.add(TrialId{4}, R"({"x":0.7})");
  history.report(TrialId{3}, {1, {0.1, 5}});
  history.report(TrialId{3}, {4, {0.4, NAN}});
  history.report(TrialId{3}, {4, {0.4, NAN}});  // with its pause
  history.report(TrialId{9}, {1, {1, 1}});      // it knows no such trial
  history.end(TrialId{3}, {6, {0.6, 7}}, Ended::complete);
  history.end(TrialId{4}, {0, {NAN, NAN}}, Ended::failed);
  const History::Curve& curve = history.curve(0);
  CHECK(curve.iterations == std::vector<std::int64_t>{1, 4, 6});
  REQUIRE(curve.scores.size() == 6);
  CHECK(curve.scores[2] == 0.4);
  CHECK(std::isnan(curve.scores[3]));
  CHECK(curve.scores[5] == 7);
  CHECK(history.curve(1).iterations.empty());
  SECTION("also after its state was saved") {
    History other = history_of(2, History::Curves::kept);
    other.load(Json::parse(history.save().dump()));
    CHECK(other.curve(0).iterations == curve.iterations);
    CHECK(other.curve(0).scores[5] == 7);
    CHECK(other.save() == history.save());
  }
  SECTION("from where it is trained once more anew") {
    history.report(TrialId{3}, {2, {0.3, 1}});
    CHECK(curve.iterations == std::vector<std::int64_t>{1, 2});
    CHECK(curve.scores == std::vector<double>{0.1, 5, 0.3, 1});
  }
  SECTION("of its present config alone") {
    history.add(TrialId{3}, R"({"x":0.6})");
    CHECK(history.curve(0).iterations.empty());
    history.report(TrialId{3}, {7, {0.7, 8}});
    CHECK(history.curve(0).iterations == std::vector<std::int64_t>{7});
  }
}

TEST_CASE("Curves that nobody asks for cost nothing, neither in memory nor in the state",
          "[history]") {
  History history = history_of(1, History::Curves::none);
  history.add(TrialId{0}, R"({"x":0.5})");
  history.report(TrialId{0}, {1, {0.1}});
  history.end(TrialId{0}, {2, {0.2}}, Ended::complete);
  CHECK(history.curve(0).iterations.empty());
  CHECK_FALSE(history.save().contains("curves"));
  // A searcher that asks for them from a new version on has none of before.
  History keeping = history_of(1, History::Curves::kept);
  keeping.load(history.save());
  CHECK(keeping.curve(0).iterations.empty());
}
