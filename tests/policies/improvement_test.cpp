#include "searchers/improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "searchers/acquisition.h"
#include "searchers/normal.h"
#include "tests/support/catch.h"
#include "tuner/math/random.h"

using namespace tune;

namespace {

/// What the scores add to the hypervolume of the front, averaged over draws.
double drawn_improvement(const std::vector<Scores>& front, const Scores& reference,
                         const std::vector<Prediction>& there, int draws) {
  Random random(7);
  const double before = hypervolume(front, reference);
  double sum = 0;
  for (int i = 0; i < draws; ++i) {
    std::vector<Scores> with = front;
    Scores& drawn = with.emplace_back();
    for (const Prediction& one : there) {
      drawn.push_back(one.mean + std::sqrt(one.variance) * normal_quantile(random.uniform()));
    }
    const bool counts = std::equal(drawn.begin(), drawn.end(), reference.begin(), std::greater<>());
    if (counts) sum += hypervolume(std::move(with), reference) - before;
  }
  return sum / draws;
}

const std::vector<Scores> flat = {{0.2, 1.5}, {0.7, 0.9}, {0.8, 0.85}, {1.4, -0.2}};
const std::vector<Scores> solid = {{1, 0, 0},       {0, 1, 0.1},      {0.1, 0, 1},
                                   {0.6, 0.5, 0.4}, {0.5, 0.55, 0.6}, {0.5, 0.2, 0.9}};

}  // namespace

TEST_CASE("The expected improvement of the hypervolume is the average of what draws add",
          "[gp][statistics]") {
  constexpr int draws = 20'000;
  for (const double mean : {-0.3, 0.6, 1.3}) {
    for (const double variance : {0.01, 0.5}) {
      CAPTURE(mean, variance);
      const std::vector<Prediction> two = {{mean, variance}, {0.8, 0.3}};
      const double of_two = drawn_improvement(flat, {-0.5, -0.4}, two, draws);
      CHECK(std::exp(HypervolumeImprovement(flat, {-0.5, -0.4}).log_expected(two)) ==
            Approx(of_two).epsilon(0.05).margin(0.003));
      const std::vector<Prediction> three = {{mean, variance}, {0.5, 0.3}, {0.2, 0.2}};
      const Scores low = {-0.1, -0.2, -0.3};
      const double of_three = drawn_improvement(solid, low, three, draws);
      CHECK(std::exp(HypervolumeImprovement(solid, low).log_expected(three)) ==
            Approx(of_three).epsilon(0.05).margin(0.003));
    }
  }
}

TEST_CASE("Slopes of the improvement are its derivatives, however unlikely it is", "[gp]") {
  for (const double mean : {-200.0, -3.0, 0.6, 50.0}) {
    for (const double deviation : {1e-3, 0.3, 4.0}) {
      for (std::size_t scores = 2; scores <= 3; ++scores) {
        CAPTURE(mean, deviation, scores);
        const HypervolumeImprovement improvement(scores == 2 ? flat : solid, Scores(scores, -0.5));
        std::vector<double> means = {mean, 0.5, 0.4};
        std::vector<double> deviations = {deviation, 0.3, 0.2};
        const auto at = [&] {
          std::vector<Prediction> there;
          for (std::size_t j = 0; j < scores; ++j) {
            there.push_back({means[j], deviations[j] * deviations[j]});
          }
          return there;
        };
        std::vector<LogTerm> slopes;
        const double value = improvement.log_expected(at(), slopes);
        REQUIRE(std::isfinite(value));
        CHECK(improvement.log_expected(at()) == value);
        for (std::size_t j = 0; j < scores; ++j) {
          const auto slope = [&](double& x) {
            const double step = 1e-5 * deviations[j], middle = x;
            x = middle + step;
            const double above = improvement.log_expected(at());
            x = middle - step;
            const double below = improvement.log_expected(at());
            x = middle;
            return (above - below) / (2 * step);
          };
          const double rounding = 1e-14 * std::abs(value) / (1e-5 * deviations[j]);
          CHECK(slopes[j].by_mean == Approx(slope(means[j])).epsilon(1e-3).margin(1e-4 + rounding));
          CHECK(slopes[j].by_deviation ==
                Approx(slope(deviations[j])).epsilon(1e-3).margin(1e-4 + rounding));
        }
      }
    }
  }
}

TEST_CASE("Without a front all above the reference is an improvement", "[gp]") {
  const std::vector<Prediction> there = {{0.3, 0.2}, {-0.1, 0.4}, {1, 0.1}};
  const Scores reference = {0, 0.5, 0.9};
  double product = 0;
  for (std::size_t j = 0; j < 3; ++j) product += log_improvement(there[j], reference[j]).value;
  CHECK(HypervolumeImprovement({}, reference).log_expected(there) == Approx(product));
  // What is not above it in each score changes nothing.
  CHECK(HypervolumeImprovement({{9, 0.5, 9}, {-1, 9, 9}}, reference).log_expected(there) ==
        Approx(product));
}

TEST_CASE("Copies of a point, and points that nearly are, change the improvement hardly", "[gp]") {
  const std::vector<Prediction> there = {{0.6, 0.1}, {0.5, 0.2}, {0.4, 0.3}};
  const Scores low = {-1, -1, -1};
  const double expected = HypervolumeImprovement(solid, low).log_expected(there);
  for (const double apart : {0.0, 1e-16, 1e-13, 1e-9, 1e-7}) {
    std::vector<Scores> front = solid;
    for (const Scores& point : solid) {
      for (std::size_t j = 0; j < 3; ++j) {
        front.push_back(point);
        front.back()[j] += apart * (1 + static_cast<double>(j));
        front.back()[(j + 1) % 3] -= apart;
      }
    }
    CAPTURE(apart);
    std::vector<LogTerm> slopes;
    CHECK(HypervolumeImprovement(front, low).log_expected(there, slopes) ==
          Approx(expected).margin(1e-5));
    for (const LogTerm& slope : slopes) CHECK(std::isfinite(slope.by_mean));
  }
}

TEST_CASE("The improvement is a number for scores of any size, and points to the better", "[gp]") {
  for (const double size : {1e-9, 1.0, 1e9}) {
    for (const double deviation : {0.0, 1e-6, 1e3}) {
      std::vector<Scores> front = solid;
      for (Scores& point : front) {
        for (double& x : point) x *= size;
      }
      const HypervolumeImprovement improvement(front, {-size, -size, -size});
      const double variance = deviation * deviation;
      std::vector<LogTerm> slopes;
      CAPTURE(size, deviation);
      for (const double mean : {-1e3, 0.0, 1e3}) {
        const std::vector<Prediction> there(3, {mean, variance});
        CHECK(std::isfinite(improvement.log_expected(there, slopes)));
        for (const LogTerm& slope : slopes) {
          CHECK(slope.by_mean >= 0);
          CHECK(std::isfinite(slope.by_deviation));
        }
      }
    }
  }
}
