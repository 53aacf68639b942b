#include "tuner/math/random_forest.h"

#include <cmath>
#include <functional>
#include <numbers>

#include "tests/support/catch.h"
#include "tuner/math/random.h"

namespace tune {
namespace {

using Function = std::function<double(const std::vector<double>&)>;

RandomForest forest_of(const Function& function, std::size_t dimensions, std::size_t rows) {
  Random random(7);
  std::vector<std::vector<double>> points(rows, std::vector<double>(dimensions));
  std::vector<double> values;
  for (auto& point : points) {
    for (double& coordinate : point) coordinate = random.uniform();
    values.push_back(function(point));
  }
  return RandomForest(points, values);
}

}  // namespace

TEST_CASE("A forest finds shares of the variance that are known", "[forest]") {
  // A line of slope s over [0, 1] has the variance s^2 / 12: 84 %, 10 %, 6 % and nothing.
  const auto effects =
      forest_of(
          [](const std::vector<double>& x) {
            return std::sqrt(84) * x[0] - std::sqrt(10) * x[1] + std::sqrt(6) * x[2];
          },
          4, 400)
          .main_effects();
  CHECK(effects[0] == Approx(0.84).margin(0.05));
  CHECK(effects[1] == Approx(0.10).margin(0.04));
  CHECK(effects[2] == Approx(0.06).margin(0.04));
  CHECK(effects[3] < 0.01);
}

TEST_CASE("A forest sees what has no direction, and leaves out what dimensions do together",
          "[forest]") {
  // Ishigami's function: 31 %, 44 %, 0 %, and 24 % of the first and the third together.
  const double pi = std::numbers::pi;
  const auto effects =
      forest_of(
          [&](const std::vector<double>& x) {
            const double a = pi * (2 * x[0] - 1), b = pi * (2 * x[1] - 1), c = pi * (2 * x[2] - 1);
            return std::sin(a) + 7 * std::pow(std::sin(b), 2) + 0.1 * std::pow(c, 4) * std::sin(a);
          },
          3, 1000)
          .main_effects();
  CHECK(effects[0] == Approx(0.31).margin(0.08));
  // Too little: no first split along what swings twice over the domain gains anything.
  CHECK(effects[1] > 0.25);
  CHECK(effects[2] < 0.05);
}

TEST_CASE("A forest of equal values explains nothing, and knows its means", "[forest]") {
  const RandomForest flat = forest_of([](const std::vector<double>&) { return 1e9; }, 2, 20);
  CHECK(flat.main_effects().empty());
  // Too few rows for two parts of two each.
  const RandomForest few({{0.1}, {0.5}, {0.9}}, {1, 2, 3});
  CHECK(few.main_effects().empty());
  // Trees whose rows are too alike to be parted are no part of the mean.
  const RandomForest parted({{0.1}, {0.2}, {0.8}, {0.9}}, {1, 1, 2, 2});
  CHECK(parted.main_effects().at(0) == Approx(1));
  const RandomForest line = forest_of([](const std::vector<double>& x) { return x[0]; }, 2, 400);
  CHECK(line.mean_within(0, 0.25, 0.5) == Approx(0.375).margin(0.01));
  CHECK(line.mean_within(1, 0, 0.1) == Approx(0.5).margin(0.01));
}

TEST_CASE("A forest splits between neighbours among doubles", "[forest]") {
  // Half of the way between them rounds to the lower one, below which there is no row.
  const double below = 0.5, above = std::nextafter(0.5, 1);
  REQUIRE(below + (above - below) / 2 == below);
  std::vector<std::vector<double>> points;
  std::vector<double> values;
  for (int i = 0; i < 20; ++i) {
    points.push_back({i % 2 == 0 ? below : above});
    values.push_back(i % 2);
  }
  const RandomForest forest(points, values);
  CHECK(forest.mean_within(0, 0, below) == 0);
  CHECK(forest.mean_within(0, above, 1) == Approx(1));
}

}  // namespace tune
