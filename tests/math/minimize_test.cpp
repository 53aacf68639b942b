#include "tuner/math/minimize.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"

using namespace tune;

namespace {

double rosenbrock(const std::vector<double>& x, std::vector<double>& gradient) {
  const double a = 1 - x[0];
  const double b = x[1] - x[0] * x[0];
  gradient = {-2 * a - 400 * x[0] * b, 200 * b};
  return a * a + 100 * b * b;
}

}  // namespace

TEST_CASE("The minimum of Rosenbrock's function is found", "[minimize]") {
  const Minimum best = minimize(rosenbrock, {-1.2, 1}, {-5, -5}, {5, 5}, {200, 1e-8});
  CHECK(best.x[0] == Approx(1).margin(1e-5));
  CHECK(best.x[1] == Approx(1).margin(1e-5));
  CHECK(best.value < 1e-10);
}

TEST_CASE("A minimum at a bound is found, from outside of the bounds too", "[minimize]") {
  const Minimum best = minimize(rosenbrock, {-9, 9}, {-2, -2}, {0.5, 2}, {200, 1e-8});
  CHECK(best.x[0] == Approx(0.5));
  CHECK(best.x[1] == Approx(0.25).margin(1e-5));
}

TEST_CASE("No more evaluations than wanted, and the best of them is the answer", "[minimize]") {
  int count = 0;
  double least = 1e300;
  const auto counted = [&](const std::vector<double>& x, std::vector<double>& gradient) {
    ++count;
    const double value = rosenbrock(x, gradient);
    least = std::min(least, value);
    return value;
  };
  const Minimum best = minimize(counted, {-1.2, 1}, {-5, -5}, {5, 5}, {7, 1e-8});
  CHECK(count == 7);
  CHECK(best.evaluations == 7);
  CHECK(best.value == least);
}

TEST_CASE("A function that is no number somewhere ends the search where it was", "[minimize]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto wall = [&](const std::vector<double>& x, std::vector<double>& gradient) {
    gradient = {1};
    return x[0] < -0.5 ? nan : x[0];
  };
  const Minimum best = minimize(wall, {1}, {-5}, {5});
  CHECK(best.value <= 1);
  CHECK(std::isfinite(best.value));
  const auto nowhere = [&](const std::vector<double>&, std::vector<double>& gradient) {
    gradient = {nan};
    return nan;
  };
  CHECK(minimize(nowhere, {0.25}, {0}, {1}).x == std::vector<double>{0.25});
}

TEST_CASE("A flat function and equal bounds are no trouble", "[minimize]") {
  const auto flat = [](const std::vector<double>&, std::vector<double>& gradient) {
    gradient = {0, 0};
    return 3.0;
  };
  CHECK(minimize(flat, {0.5, 0.5}, {0, 0}, {1, 1}).value == 3);
  const Minimum fixed = minimize(rosenbrock, {0, 0}, {0.5, 0}, {0.5, 1}, {200, 1e-8});
  CHECK(fixed.x[0] == 0.5);
  CHECK(fixed.x[1] == Approx(0.25).margin(1e-4));
}
