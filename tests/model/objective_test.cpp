#include "tuner/model/objective.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

using namespace tune;

namespace {
const double not_a_number = std::numeric_limits<double>::quiet_NaN();
const double infinity = std::numeric_limits<double>::infinity();
}  // namespace

TEST_CASE("A score is better if it is larger for max and smaller for min", "[objective][unit]") {
  CHECK(better(Mode::max, 2, 1));
  CHECK_FALSE(better(Mode::max, 1, 2));
  CHECK(better(Mode::min, 1, 2));
  CHECK_FALSE(better(Mode::min, 2, 1));
  CHECK_FALSE(better(Mode::max, 1, 1));
  CHECK_FALSE(better(Mode::min, 1, 1));
}

TEST_CASE("What is not finite is worse than every number in both modes, and no better than another",
          "[objective][unit]") {
  const double others[] = {not_a_number, infinity, -infinity};
  for (const Mode mode : {Mode::min, Mode::max}) {
    for (const double other : others) {
      for (const double number : {0.0, 1e300, -1e300}) {
        CHECK(better(mode, number, other));
        CHECK_FALSE(better(mode, other, number));
      }
      for (const double another : others) CHECK_FALSE(better(mode, other, another));
      CHECK(std::isnan(score_of(mode, other)));
    }
    CHECK(std::isnan(score_of(mode, std::nullopt)));
  }
  CHECK(score_of(Mode::min, 2) == -2);
  CHECK(score_of(Mode::max, 2) == 2);
}

TEST_CASE("An experiment has a sole objective if it has one and no other", "[objective][unit]") {
  const Objective loss{"loss", Mode::min}, speed{"speed", Mode::max};
  const std::vector<Objective> none, one = {loss}, two = {loss, speed};
  CHECK(sole(none) == nullptr);
  CHECK(sole(one) == &one[0]);
  CHECK(sole(two) == nullptr);
  CHECK(find_objective(two, "speed") == &two[1]);
  CHECK(find_objective(two, "accuracy") == nullptr);
}

TEST_CASE("A mode's text is read back as the mode, and other text is not", "[objective][unit]") {
  for (const Mode mode : {Mode::min, Mode::max}) CHECK(parse_mode(to_string(mode)) == mode);
  CHECK_FALSE(parse_mode("Max"));
  CHECK_FALSE(parse_mode(""));
}
