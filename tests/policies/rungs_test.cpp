#include "schedulers/rungs.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr double nan_score = std::numeric_limits<double>::quiet_NaN();
constexpr double infinite = std::numeric_limits<double>::infinity();

Rung rung_of(const std::vector<double>& scores) {
  Rung rung;
  std::uint32_t id = 0;
  for (const double score : scores) rung.add({score, TrialId(id++)});
  return rung;
}

}  // namespace

TEST_CASE("Milestones grow by the factor and include the last one, rounding or not",
          "[rungs][unit]") {
  CHECK(rung_milestones(1, 100, 4) == std::vector<double>{1, 4, 16, 64});
  CHECK(rung_milestones(1, 81, 3) == std::vector<double>{1, 3, 9, 27, 81});
  // The quotient of the logarithms, 2.9999999999999996, is no whole number.
  CHECK(rung_milestones(1, 1000, 10).size() == 4);
  CHECK(rung_milestones(0.1, 0.9, 3).size() == 3);
  CHECK(rung_milestones(5, 5, 2) == std::vector<double>{5});
}

TEST_CASE("A quantile is that of numpy's percentile", "[rungs][unit]") {
  CHECK(rung_of({4, 1, 3, 2}).quantile(0.75) == 3.25);
  CHECK(rung_of({0.9, 0.1}).quantile(0.75) == Approx(0.7));
  CHECK(rung_of({7}).quantile(0.75) == 7);
  CHECK(rung_of({1, 2, 3}).quantile(0.5) == 2);
  CHECK(rung_of({3, 1, 4, 1, 5}).quantile(2.0 / 3) == Approx(3.6666666666666665));
  CHECK(rung_of({1, 2}).quantile(1) == 2);
}

TEST_CASE("A quantile that is a score is that score, and is reached by it", "[rungs][unit]") {
  for (const double factor : {1.5, 2.0, 3.0, 4.0, 7.0}) {
    for (std::size_t n = 1; n < 60; ++n) {
      std::vector<double> scores;
      for (std::size_t i = 0; i < n; ++i) scores.push_back(0.1 * static_cast<double>(i));
      const Rung rung = rung_of(scores);
      const double fraction = 1 - 1 / factor;
      const double place = static_cast<double>(n - 1) * (factor - 1) / factor;
      INFO(factor << " of " << n);
      const double nearest = std::round(place);
      const bool is_score = std::abs(place - nearest) < 1e-12;
      CHECK(rung.is_reached(0.1 * (is_score ? nearest : place), fraction));
      CHECK_FALSE(rung.is_reached(0.1 * place - 1e-9, fraction));
      if (is_score) {
        CHECK(rung.quantile(fraction) == scores[static_cast<std::size_t>(nearest)]);
      }
    }
  }
  CHECK_FALSE(rung_of({1, 2}).is_reached(nan_score, 0.5));
  CHECK_FALSE(rung_of({1, infinite}).is_reached(1e300, 0.5));
  CHECK(rung_of({-infinite, -infinite}).is_reached(-infinite, 0.5));
}

TEST_CASE("A quantile between scores that are as far apart as doubles can be is between them",
          "[rungs][unit]") {
  const Rung rung = rung_of({1.7e308, -1.7e308});
  CHECK(rung.quantile(0.5) == 0);
  CHECK(rung.quantile(0.75) == Approx(0.85e308));
  CHECK(rung.is_reached(1.6e308, 0.75));
  CHECK_FALSE(rung.is_reached(0, 0.75));
}

TEST_CASE("What is worse than somebody's score by one bit does not reach it", "[rungs][unit]") {
  CHECK(rung_of({1}).is_reached(1, 0.75));
  CHECK_FALSE(rung_of({1}).is_reached(std::nextafter(1, 0), 0.75));
  CHECK_FALSE(rung_of({1, 1, 2}).is_reached(std::nextafter(1, 0), 0.5));
}

TEST_CASE("Infinite scores make no quantile NaN", "[rungs][unit]") {
  CHECK(rung_of({-infinite, -infinite}).quantile(0.5) == -infinite);
  CHECK(rung_of({-infinite, 1}).quantile(0.5) == -infinite);
  CHECK(rung_of({1, infinite}).quantile(0.5) == infinite);
  CHECK(std::isinf(rung_of({-infinite, infinite}).quantile(0.5)));
}

TEST_CASE("The best score ranks first, what is not finite last, and of equals the older trial",
          "[rungs][unit]") {
  const Rung rung = rung_of({2, nan_score, 5, 2, -infinite});
  CHECK(rung.size() == 5);
  CHECK(rung.rank({5, TrialId(2)}) == 0);
  CHECK(rung.rank({2, TrialId(0)}) == 1);
  CHECK(rung.rank({2, TrialId(3)}) == 2);
  CHECK(rung.rank({nan_score, TrialId(1)}) == 3);
  CHECK(rung.rank({-infinite, TrialId(4)}) == 4);
}

TEST_CASE("A rung is the same after saving and loading", "[rungs][unit]") {
  const Json saved = rung_of({2, nan_score, 5, 2, -infinite, 0.1}).save();
  const Rung loaded = Rung::loaded(Json::parse(saved.dump()));
  CHECK(loaded.size() == 6);
  CHECK(loaded.save() == saved);
  CHECK_THROWS(Rung::loaded(Json::parse("[[1, 2], [0.5]]")));
  CHECK_THROWS(Rung::loaded(Json::object()));
}

TEST_CASE("Brackets are drawn with the softmax of their numbers of rungs", "[rungs][unit]") {
  Random random(7);
  std::vector<double> drawn(3);
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    drawn[static_cast<std::size_t>(draw_bracket(3, 5, random))] += 1.0 / draws;
  }
  // e^5, e^4 and e^3 over their sum.
  CHECK(drawn[0] == Approx(0.665).margin(0.01));
  CHECK(drawn[1] == Approx(0.245).margin(0.01));
  CHECK(drawn[2] == Approx(0.090).margin(0.01));
}

TEST_CASE("Nothing is drawn where there is one bracket", "[rungs][unit]") {
  Random random(7);
  const Json before = random.save();
  CHECK(draw_bracket(1, 5, random) == 0);
  CHECK(random.save() == before);
}
