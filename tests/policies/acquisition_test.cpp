#include "searchers/acquisition.h"

#include <cmath>

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// Knows `targets` at points 0, 1, 2, ... of two dimensions, the second of which matters less.
GaussianProcess model_of(const std::vector<double>& targets) {
  std::vector<double> points;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    points.push_back(0.3 * static_cast<double>(i));
    points.push_back(static_cast<double>(i % 2));
  }
  GaussianProcess model(make_matern_kernel({false, false}), 2, points, targets);
  model.set({2, 0.3, 1.5, 1e-4});
  return model;
}

double below(double z) { return std::erfc(-z / std::sqrt(2.0)) / 2; }
double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * 3.14159265358979324); }

}  // namespace

TEST_CASE("The expected improvement is what its formula says", "[gp]") {
  const auto model = model_of({0.2, -1, 1.1});
  for (const double best : {-1.0, 0.3, 1.1}) {
    for (const double x : {-0.7, 0.1, 0.45, 2.0}) {
      const Prediction there = model.predict({x, 0.4});
      const double deviation = std::sqrt(there.variance);
      const double z = (there.mean - best) / deviation;
      const double expected = deviation * (density(z) + z * below(z));
      CHECK(std::exp(Acquisition(model, best).at({x, 0.4})) == Approx(expected).epsilon(1e-6));
    }
  }
}

TEST_CASE("Far from any improvement its logarithm is still a number that leads somewhere", "[gp]") {
  const auto model = model_of({0.2, -1, 1.1});
  const Acquisition hopeless(model, 1e4);
  std::vector<double> gradient;
  CHECK(std::isfinite(hopeless.at({0.5, 0.5}, gradient)));
  CHECK(gradient[0] != 0);
  CHECK(hopeless.at({0.6, 0.9}) > hopeless.at({0.3, 0.9}));  // nearer to where it is high
}

TEST_CASE("A constraint counts by the logarithm of its chance", "[gp]") {
  const auto scores = model_of({0.2, -1, 1.1});
  const auto margin = model_of({1, 0.5, -2});
  for (const double x : {-0.7, 0.1, 0.45, 2.0}) {
    const std::vector<double> point = {x, 0.4};
    const Prediction there = margin.predict(point);
    const double chance = below((there.mean - 0.25) / std::sqrt(there.variance));
    Acquisition both(scores, 0.3);
    const double alone = both.at(point);
    both.require(margin, 0.25);
    CHECK(both.at(point) - alone == Approx(std::log(chance)));
    Acquisition nothing_known(scores, std::nullopt);
    nothing_known.require(margin, 0.25);
    CHECK(nothing_known.at(point) == Approx(std::log(chance)));
  }
}

TEST_CASE("What is promised of many points is the same, and slopes are its derivatives", "[gp]") {
  const auto scores = model_of({0.2, -1, 1.1});
  const auto margin = model_of({1, 0.5, -2});
  for (const double best : {-0.5, 3.0}) {
    Acquisition acquisition(scores, best);
    acquisition.require(margin, 0.1);
    acquisition.require(margin, 4);  // hardly possible
    std::vector<double> flat;
    for (const double x : {-0.7, 0.1, 0.45, 2.0}) {
      const std::vector<double> point = {x, 0.4};
      flat.insert(flat.end(), point.begin(), point.end());
      std::vector<double> gradient;
      CHECK(acquisition.at(point, gradient) == Approx(acquisition.at(point)));
      for (std::size_t j = 0; j < 2; ++j) {
        auto up = point, down = point;
        up[j] += 1e-5;
        down[j] -= 1e-5;
        CHECK(
            gradient[j] ==
            Approx((acquisition.at(up) - acquisition.at(down)) / 2e-5).epsilon(1e-4).margin(1e-6));
      }
    }
    const auto all = acquisition.at_all(flat);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CHECK(all[i] == Approx(acquisition.at({flat[2 * i], flat[2 * i + 1]})));
    }
  }
}
