#include "searchers/history.h"

#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

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
