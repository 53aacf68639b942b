// Averages whose sum no double holds.
#include "tuner/base/wide_sum.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tests/support/catch.h"

using namespace tune;

namespace {

double average(const std::vector<double>& numbers) {
  WideSum sum;
  for (const double number : numbers) sum.add(number);
  return sum.average_of(static_cast<double>(numbers.size()));
}

}  // namespace

TEST_CASE("An average is right whose sum is more than the largest double", "[core][wide_sum]") {
  const double most = std::numeric_limits<double>::max();
  CHECK(average({1e308, 1.5e308}) == 1.25e308);
  CHECK(average({-1e308, -1e308, -1e308}) == -1e308);
  CHECK(average({most, most, -most}) == Approx(most / 3));
  CHECK(average({1e308, 1e308, -1e308, -1e308, 1}) == 0.2);
  CHECK(average(std::vector<double>(1000, most)) == most);
}

TEST_CASE("A sum that a double holds is what it always was", "[core][wide_sum]") {
  CHECK(average({0.1, 0.2, 0.3}) == (0.1 + 0.2 + 0.3) / 3);
  CHECK(average({5e-324, 5e-324}) == 5e-324);
}

TEST_CASE("An infinite sum of an old record has no average", "[core][wide_sum]") {
  WideSum sum{std::numeric_limits<double>::infinity()};
  sum.add(1);
  CHECK(std::isnan(sum.average_of(2)));
}
