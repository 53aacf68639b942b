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

TEST_CASE("An average is rounded once, however many numbers there are", "[core][wide_sum]") {
  CHECK(average({0.1, 0.2, 0.3}) == 0.2);
  CHECK(average({5e-324, 5e-324}) == 5e-324);
  CHECK(average({1e16, 1, -1e16, -1}) == 0);
  CHECK(average({1e16, 1, -1e16}) == 1.0 / 3);
  CHECK(average({1.7e308, 1.7e308, -1.7e308, -1.7e308, 1e-300}) == 1e-300 / 5);
  for (const double number : {0.1, 0.3, 1e-320, 1.7e308, -5e15}) {
    for (std::size_t n = 1; n < 100; ++n) {
      INFO(number << " " << n);
      CHECK(average(std::vector<double>(n, number)) == number);
    }
  }
}

TEST_CASE(
    "A deviation is right also of numbers whose squares no double holds, and of large ones "
    "that differ little",
    "[core][wide_sum]") {
  const auto of_sample = [](const std::vector<double>& numbers) {
    return standard_deviation_of(numbers, static_cast<double>(numbers.size() - 1));
  };
  CHECK(standard_deviation_of(std::vector<double>{0, 0, 3}, 3) == Approx(std::sqrt(2)));
  CHECK(of_sample({0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}) == 0);
  CHECK(of_sample({1e15 + 0.25, 1e15 + 0.5, 1e15 + 0.75}) == 0.25);
  // The average, 9007199254740993, is no double.
  CHECK(of_sample({9007199254740992, 9007199254740994}) == std::sqrt(2));
  CHECK(of_sample({1e-320, 2e-320, 3e-320}) == Approx(1e-320).margin(1e-323));
  CHECK(of_sample({1.7e308, -1.7e308, 0}) == Approx(1.7e308));
  CHECK(of_sample({0, 0}) == 0);
}

TEST_CASE("An infinite sum of an old record has no average", "[core][wide_sum]") {
  WideSum sum{std::numeric_limits<double>::infinity()};
  sum.add(1);
  CHECK(std::isnan(sum.average_of(2)));
}
