#include "tuner/core/objective.h"

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

TEST_CASE("NaN is worse than everything in both modes and no better than itself",
          "[objective][unit]") {
  for (const Mode mode : {Mode::min, Mode::max}) {
    for (const double number : {0.0, infinity, -infinity}) {
      CHECK(better(mode, number, not_a_number));
      CHECK_FALSE(better(mode, not_a_number, number));
    }
    CHECK_FALSE(better(mode, not_a_number, not_a_number));
  }
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
