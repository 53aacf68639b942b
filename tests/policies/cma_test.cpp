// The parts of cma_es: the distribution, the margin, one run, and the list of runs.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "searchers/cma_descent.h"
#include "searchers/normal.h"
#include "tests/support/catch.h"
#include "tuner/policy/policy_state.h"

using namespace tune;

namespace {

using Point = std::vector<double>;
using Function = std::function<double(const Point&)>;

double sphere(const Point& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}
double ellipsoid(const Point& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(x.size() - 1);
    sum += std::pow(10, 6 * share) * x[i] * x[i];
  }
  return sum;
}
double rosenbrock(const Point& x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double a = x[i + 1] - x[i] * x[i], b = 1 - x[i];
    sum += 100 * a * a + b * b;
  }
  return sum;
}

/// The same seen from a turned position: by 36 degrees in each plane of neighbouring axes.
Point turned(Point x) {
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    const double a = x[i], b = x[i + 1];
    x[i] = 0.8 * a - 0.6 * b;
    x[i + 1] = 0.6 * a + 0.8 * b;
  }
  return x;
}

/// How often `function` has to be evaluated until it is below `target`; at most `limit`.
std::size_t evaluations_to(double target, const Function& function, const Point& start,
                           std::size_t limit) {
  Random random(11);
  CmaDistribution distribution(start, 0.5,
                               4 + static_cast<std::size_t>(3 * std::log(start.size())));
  std::size_t evaluations = 0;
  while (evaluations < limit) {
    std::vector<std::pair<double, Point>> generation;
    for (std::size_t i = 0; i < distribution.population(); ++i) {
      Point point = distribution.draw(random);
      const double value = function(point);
      ++evaluations;
      if (value < target) return evaluations;
      generation.emplace_back(value, std::move(point));
    }
    std::sort(generation.begin(), generation.end());
    std::vector<CmaDistribution::Member> ranked;
    for (const auto& [value, point] : generation) ranked.push_back({point, true});
    distribution.update(ranked);
  }
  return limit;
}

Axis axis_in(const Json& domain) {
  std::vector<Problem> problems;
  return axis_of(*parse_domain(domain, "", problems));
}

CmaOutcome complete(double score) { return {{1, {score}}, Ended::complete}; }

/// Runs the descent for `n` evaluations of points as they are on their steps.
void descend(CmaDescent& descent, const std::vector<Axis>& axes, const Function& score,
             std::size_t n, Random& random) {
  for (std::size_t i = 0; i < n && !descent.has_converged(); ++i) {
    const CmaDrawn drawn = descent.draw(random);
    Point values;
    for (std::size_t j = 0; j < axes.size(); ++j) {
      values.push_back(
          axes[j].value_at(axes[j].low + drawn.tried[j] * (axes[j].high - axes[j].low)));
    }
    descent.tell(
        {TrialId(static_cast<std::uint32_t>(i)), drawn.point, true, complete(score(values))});
  }
}

}  // namespace

TEST_CASE("CMA-ES comes down to a target in about as many evaluations as its author's", "[cma]") {
  // Rule of thumb: what pycma needs, and half as much again.
  CHECK(evaluations_to(1e-10, sphere, Point(5, 1), 2000) < 900);
  CHECK(evaluations_to(1e-10, sphere, Point(10, 1), 4000) < 1800);
  CHECK(evaluations_to(1e-10, ellipsoid, Point(5, 1), 4000) < 2400);
  CHECK(evaluations_to(1e-10, ellipsoid, Point(10, 1), 9000) < 6500);
  CHECK(evaluations_to(1e-10, rosenbrock, Point(5, 0), 9000) < 5000);
}

TEST_CASE("Updates of a distribution are those of another implementation, number by number",
          "[cma]") {
  std::ifstream file(CMAES_UPDATES);
  std::optional<CmaDistribution> distribution;
  int run = -1, updates = 0;
  for (std::string line; std::getline(file, line); ++updates) {
    const Json update = Json::parse(line);
    if (run != update["run"]) {
      run = update["run"];
      distribution.emplace(update["mean"].get<Point>(), update["sigma"].get<double>(),
                           update["population"].get<std::size_t>());
    }
    std::vector<CmaDistribution::Member> ranked;
    for (const Json& point : update["points"]) ranked.push_back({point.get<Point>(), true});
    distribution->update(ranked);
    CAPTURE(run, updates);
    const Json state = distribution->save();
    const auto check = [&](const char* name, const Json& expected) {
      CAPTURE(name);
      const auto is = state[name].get<Point>(), should = expected.get<Point>();
      REQUIRE(is.size() == should.size());
      for (std::size_t i = 0; i < is.size(); ++i) CHECK(is[i] == Approx(should[i]).margin(1e-12));
    };
    check("mean", update["new_mean"]);
    check("covariance", update["covariance"]);
    check("sigma_path", update["sigma_path"]);
    check("covariance_path", update["covariance_path"]);
    CHECK(distribution->sigma() == Approx(update["new_sigma"].get<double>()));
    for (std::size_t i = 0; i < distribution->mean().size(); ++i) {
      const std::size_t n = distribution->mean().size();
      const double variance = update["covariance"][i * n + i];
      CHECK(distribution->deviation(i) ==
            Approx(update["new_sigma"].get<double>() * std::sqrt(variance)));
    }
  }
  CHECK(updates == 24);
}

TEST_CASE("What is drawn has the mean and the covariance of its distribution", "[cma]") {
  const std::vector<double> covariance{2, 0.6, 0.6, 0.5};
  const CmaDistribution distribution({1, -2}, 0.5, 6, covariance);
  Random random(3);
  constexpr int n = 20000;
  double mean[2] = {}, products[4] = {};
  for (int i = 0; i < n; ++i) {
    const Point point = distribution.draw(random);
    for (std::size_t a = 0; a < 2; ++a) {
      mean[a] += point[a] / n;
      for (std::size_t b = 0; b < 2; ++b) {
        products[2 * a + b] +=
            (point[a] - distribution.mean()[a]) * (point[b] - distribution.mean()[b]) / n;
      }
    }
  }
  CHECK(mean[0] == Approx(1).margin(0.03));
  CHECK(mean[1] == Approx(-2).margin(0.03));
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(products[i] == Approx(0.25 * covariance[i]).margin(0.03));
  }
}

TEST_CASE("CMA-ES does not care how the axes lie", "[cma]") {
  const auto seen_turned = [](const Point& x) { return ellipsoid(turned(x)); };
  const std::size_t straight = evaluations_to(1e-8, ellipsoid, Point(6, 1), 9000);
  const std::size_t oblique = evaluations_to(1e-8, seen_turned, Point(6, 1), 9000);
  CHECK(oblique < 1.4 * straight);
  CHECK(straight < 1.4 * oblique);
}

TEST_CASE("Points from elsewhere lead no farther than points of one's own", "[cma]") {
  const auto moved = [](bool is_own) {
    CmaDistribution distribution({0, 0}, 0.1, 4);
    distribution.update({{{50, 0}, is_own}, {{0, 0}, true}, {{0, 0.1}, true}, {{0.1, 0}, true}});
    return distribution.mean()[0];
  };
  CHECK(moved(true) > 10);
  CHECK(moved(false) > 0.1);
  CHECK(moved(false) < 0.3);
}

TEST_CASE("A distribution draws the same after saving and loading", "[cma]") {
  CmaDistribution one({0.5, 0.5, 0.5}, 0.2, 6);
  Random random(4);
  for (int generation = 0; generation < 5; ++generation) {
    std::vector<CmaDistribution::Member> ranked;
    for (int i = 0; i < 6; ++i) ranked.push_back({one.draw(random), i % 3 != 2});
    one.update(ranked);
  }
  const CmaDistribution two = CmaDistribution::load(Json::parse(one.save().dump()));
  Random other = random;
  for (int i = 0; i < 5; ++i) CHECK(one.draw(random) == two.draw(other));
  CHECK(two.save() == one.save());
  Json bad = one.save();
  bad["covariance"].erase(0);
  CHECK_THROWS_AS(CmaDistribution::load(bad), std::invalid_argument);
}

TEST_CASE("A point that is within all bounds is not drawn again", "[cma]") {
  const std::vector<Axis> axes = {axis_in({{"uniform", {-1, 3}}}), axis_in({{"uniform", {0, 1}}})};
  const CmaDescent descent(axes, {6, 0.01}, {0.5, 0.5});
  const CmaDistribution distribution({0.5, 0.5}, 0.01, 6);
  Random random(3), same = random;
  for (int i = 0; i < 5; ++i) CHECK(descent.draw(random).point == distribution.draw(same));
}

TEST_CASE("A margin keeps the chance to leave a step", "[cma]") {
  const double margin = 0.1;
  const auto below = [](const MarginedAxis& axis, double deviation, double edge) {
    return normal_cdf((edge - axis.mean) / (deviation * axis.scale));
  };
  // In the middle of [2.5, 3.5], so narrow that nothing else would be drawn.
  MarginedAxis kept = with_margin({3, 1}, 0.01, 2.5, 3.5, margin);
  CHECK(below(kept, 0.01, 2.5) == Approx(0.05));
  CHECK(1 - below(kept, 0.01, 3.5) == Approx(0.05));
  // Near one of the edges, which is likely enough to be crossed, the other one gets its share.
  kept = with_margin({3.45, 1}, 0.05, 2.5, 3.5, margin);
  CHECK(below(kept, 0.05, 2.5) == Approx(0.05));
  CHECK(1 - below(kept, 0.05, 3.5) > 0.05);
  CHECK(1 - below(kept, 0.05, 3.5) < 1 - normal_cdf(1));
  // Wide enough: nothing changes.
  kept = with_margin({3, 1}, 1, 2.5, 3.5, margin);
  CHECK(kept.mean == 3);
  CHECK(kept.scale == 1);
  // On the last step there is but one edge.
  kept = with_margin({7, 1}, 0.1, 4.5, 4.5, margin);
  CHECK(below(kept, 0.1, 4.5) == Approx(0.1));
  CHECK(kept.scale == 1);
  kept = with_margin({1, 1}, 0.1, 1.5, 1.5, margin);
  CHECK(1 - below(kept, 0.1, 1.5) == Approx(0.1));
}

TEST_CASE("Integers do not get stuck, whatever real numbers have converged meanwhile", "[cma]") {
  // The integers matter so little beside the real numbers that these are found first.
  const std::vector<Axis> axes = {axis_in({{"uniform", {-5, 5}}}), axis_in({{"uniform", {-5, 5}}}),
                                  axis_in({{"randint", {-20, 21}}}),
                                  axis_in({{"quniform", {-8, 8, 0.5}}}),
                                  axis_in({{"lograndint", {1, 65}}})};
  const auto score = [](const Point& x) {
    const double reals = std::pow(x[0] - 1, 2) + std::pow(x[1] + 2, 2);
    return -1e4 * reals - std::abs(x[2] - 17) - std::abs(x[3] + 6.5) -
           std::abs(std::log2(x[4]) - 5);
  };
  int found = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    Random random(seed);
    double best = -1e300;
    const auto keep_best = [&](const Point& x) {
      const double value = score(x);
      best = std::max(best, value);
      return value;
    };
    CmaDescent descent(axes, {10, 1.0 / 6}, Point(5, 0.5));
    descend(descent, axes, keep_best, 3000, random);
    found += best > -0.5 ? 1 : 0;
  }
  CHECK(found >= 4);
}

TEST_CASE("All that is tried of axes with bounds is within them, and the optimum may lie on one",
          "[cma]") {
  const std::vector<Axis> axes = {axis_in({{"uniform", {0, 1}}}), axis_in({{"uniform", {0, 1}}}),
                                  axis_in({{"loguniform", {1e-5, 1}}})};
  Random random(2);
  CmaDescent descent(axes, {8, 1.0 / 6}, Point(3, 0.5));
  bool is_inside = true;
  for (std::uint32_t i = 0; i < 400; ++i) {
    const CmaDrawn drawn = descent.draw(random);
    for (const double x : drawn.tried) is_inside = is_inside && x >= 0 && x <= 1;
    descent.tell({TrialId(i), drawn.point, true,
                  complete(drawn.tried[0] - drawn.tried[1] - std::abs(drawn.tried[2] - 0.3))});
  }
  CHECK(is_inside);
  const Point& mean = descent.distribution().mean();
  CHECK(mean[0] > 0.98);
  CHECK(mean[1] < 0.02);
  CHECK(mean[2] == Approx(0.3).margin(0.02));
}

TEST_CASE("Complete trials come before stopped ones, and failures last", "[cma]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<CmaOutcome> ranked = {
      {{5, {2}}, Ended::complete}, {{9, {1}}, Ended::complete}, {{4, {3}}, Ended::stopped},
      {{3, {9}}, Ended::stopped},  {{3, {8}}, Ended::stopped},  {{9, {nan}}, Ended::complete}};
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    for (std::size_t j = 0; j < ranked.size(); ++j) {
      CHECK(ranked[i].is_better_than(ranked[j]) == (i < j));
    }
  }
  const CmaOutcome failed({9, {5}}, Ended::failed), none({0, {}}, Ended::stopped);
  CHECK_FALSE(failed.is_better_than(ranked.back()));
  CHECK_FALSE(none.is_better_than(failed));
  CHECK(ranked[4].is_better_than(none));
}

TEST_CASE("Trials that violate constraints come after all others but failures, by how much",
          "[cma]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<CmaOutcome> ranked = {
      {{5, {2}, {-1, 0}}, Ended::complete},    {{5, {1}, {-1, -9}}, Ended::complete},
      {{4, {3}, {0, 0}}, Ended::stopped},      {{1, {9}, {-5, 0.5}}, Ended::stopped},
      {{5, {8}, {0.5, 0.5}}, Ended::complete}, {{5, {8}, {-9, nan}}, Ended::complete},
      {{5, {nan}, {0, 0}}, Ended::complete}};
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    for (std::size_t j = 0; j < ranked.size(); ++j) {
      CHECK(ranked[i].is_better_than(ranked[j]) == (i < j));
    }
    const CmaResult saved = load_result(save_result({TrialId{1}, {0.5}, true, ranked[i]}));
    CHECK(saved.outcome.violation == ranked[i].violation);
  }
}

TEST_CASE("A generation of failures teaches nothing", "[cma]") {
  const std::vector<Axis> axes = {axis_in({{"uniform", {0, 1}}}), axis_in({{"uniform", {0, 1}}})};
  Random random(2);
  CmaDescent descent(axes, {6, 0.2}, {0.5, 0.5});
  const Json before = descent.distribution().save();
  for (std::uint32_t i = 0; i < 6; ++i) {
    descent.tell({TrialId(i), descent.draw(random).point, true, {{0, {}}, Ended::failed}});
  }
  CHECK(descent.distribution().save() == before);
  CHECK(descent.generation() == 0);
  CHECK(descent.evaluations() == 6);
}

TEST_CASE("A run ends when its scores do not change any more, and when it has converged", "[cma]") {
  const std::vector<Axis> axes = {axis_in({{"uniform", {0, 1}}}), axis_in({{"uniform", {0, 1}}})};
  for (const bool is_flat : {true, false}) {
    Random random(2);
    CmaDescent descent(axes, {6, 0.2}, {0.5, 0.5});
    const auto score = [&](const Point& x) {
      return is_flat ? 3 : -std::abs(x[0] - 0.3) - std::abs(x[1] - 0.6);
    };
    descend(descent, axes, score, 3000, random);
    CHECK(descent.has_converged());
  }
}

TEST_CASE("ipop doubles the population at each restart", "[cma]") {
  CmaOptions options{.population = 8, .sigma0 = 0.2, .restarts = CmaRestarts::ipop};
  CmaRunList runs(options);
  Random random(1);
  CHECK(runs.current().population == 8);
  for (const std::size_t population : {16, 32, 64}) {
    CHECK(runs.next(100, random).population == population);
    CHECK(runs.current().sigma == 0.2);
  }
}

TEST_CASE("bipop spends as many evaluations on small runs as on large ones", "[cma]") {
  CmaOptions options{.population = 8, .sigma0 = 0.2, .restarts = CmaRestarts::bipop};
  CmaRunList runs(options);
  Random random(1);
  CHECK(runs.next(100, random).population == 16);
  CHECK(runs.next(500, random).population < 16);  // 100 small, 500 large
  CHECK(runs.current().sigma < 0.2);
  CHECK(runs.current().sigma >= 0.002);
  CHECK(runs.next(300, random).population <= 16);  // 400 small, 500 large
  CmaRunList same(options);
  same.load(Json::parse(runs.save().dump()));
  Random other = random;
  CHECK(runs.next(200, random).population == 32);  // 600 small, 500 large
  CHECK(same.next(200, other).population == 32);
  CHECK(same.save() == runs.save());
}
