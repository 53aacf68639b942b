// The searcher bohb: its model against densities worked out the long way, and what it learns from.
#include <cmath>
#include <limits>
#include <numbers>

#include "searchers/bohb_model.h"
#include "searchers/normal.h"
#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/math/random.h"

using namespace tune;

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

Axis unit_axis() {
  Axis axis;
  axis.last = axis.high = 1;
  return axis;
}

Axis choice_axis(std::size_t choices) {
  Axis axis;
  axis.choices = choices;
  axis.last = axis.high = static_cast<double>(choices - 1);
  return axis;
}

/// As statsmodels' KDEMultivariate has it, with one number and one choice of `c` values.
struct PlainDensity {
  std::vector<std::vector<double>> points;
  double c;
  double bandwidth(std::size_t k) const {
    const auto n = static_cast<double>(points.size());
    double mean = 0, square = 0;
    for (const auto& p : points) mean += p[k] / n;
    for (const auto& p : points) square += (p[k] - mean) * (p[k] - mean) / n;
    const double h = std::max(1.06 * std::sqrt(square) * std::pow(n, -1.0 / 6), 1e-3);
    return k == 0 ? h : std::min(h, (c - 1) / c);
  }
  double at(const std::vector<double>& x) const {
    const double h = bandwidth(0), g = bandwidth(1);
    double sum = 0;
    for (const auto& p : points) {
      const double z = (x[0] - p[0]) / h;
      sum += std::exp(-z * z / 2) / (h * std::sqrt(2 * std::numbers::pi)) *
             (x[1] == p[1] ? 1 - g : g / (c - 1));
    }
    return sum / static_cast<double>(points.size());
  }
};

/// Numbers that a test can take again.
std::function<double()> numbers(std::uint64_t seed) {
  return [random = Random(seed)]() mutable { return random.uniform(); };
}

std::unique_ptr<Searcher> bohb(const Json& space, const Json& options, std::uint64_t seed = 1) {
  return make_searcher("bohb", space, -1, options, seed);
}

/// A trial whose config came otherwise.
void start(Searcher& searcher, std::uint32_t id, double x) {
  searcher.on_trial_add(TrialId(id), Json{{"x", x}}.dump());
}

double mean_of_next(Searcher& searcher) {
  double sum = 0;
  for (std::uint32_t id = 1000; id < 1020; ++id) {
    sum += next_config(searcher, id)["x"].get<double>() / 20;
  }
  return sum;
}

void report(Searcher& searcher, std::uint32_t id, std::int64_t iteration, double score) {
  searcher.on_result(TrialId(id), {iteration, {score}});
}

}  // namespace

TEST_CASE("From coordinates to the unit cube and back is the same place", "[bohb]") {
  Axis bounded = unit_axis();
  bounded.low = -3;
  bounded.high = 5;
  CHECK(to_unit(bounded, -1) == Approx(0.25));
  CHECK(from_unit(bounded, 0.25) == Approx(-1));
  Axis normal = bounded;  // two standard deviations of 2 around 1
  normal.bounded = false;
  CHECK(to_unit(normal, 1) == Approx(0.5));
  CHECK(to_unit(normal, 3) == Approx(normal_cdf(1)));
  for (const double unit : {0.01, 0.3, 0.9}) {
    CHECK(to_unit(bounded, from_unit(bounded, unit)) == Approx(unit));
    CHECK(to_unit(normal, from_unit(normal, unit)) == Approx(unit));
  }
}

TEST_CASE("Bohb suggests the candidate that is denser among the good by the largest factor",
          "[bohb][unit]") {
  const std::vector<Axis> axes = {unit_axis(), choice_axis(3)};
  BohbData data;
  for (int i = 0; i < 30; ++i) {
    data.points.push_back({std::fmod(0.37 * i, 1.0), static_cast<double>(i * i % 3)});
    data.scores.push_back(-std::abs(data.points.back()[0] - 0.3) - data.points.back()[1] / 9);
  }
  data.scores[4] = no_number;  // the worst
  BohbRules rules;
  rules.num_samples = 7;
  const auto found = next_by_bohb(axes, data, rules, numbers(5));

  std::vector<std::pair<double, std::vector<double>>> ranked;
  for (std::size_t i = 0; i < 30; ++i)
    ranked.push_back({i == 4 ? 9 : -data.scores[i], data.points[i]});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  PlainDensity good{{}, 3}, other{{}, 3};
  // 15 % of 30 are 4, which is more than the least of 3; 85 % are 25, so the worst one is left out.
  for (std::size_t i = 0; i < 29; ++i) (i < 4 ? good : other).points.push_back(ranked[i].second);
  const auto uniform = numbers(5);
  std::vector<double> best;
  double best_factor = 0;
  for (int i = 0; i < 7; ++i) {
    std::vector<double> x = good.points[static_cast<std::size_t>(uniform() * 4)];
    const double h = 3 * good.bandwidth(0);
    const double low = normal_cdf(-x[0] / h), high = normal_cdf((1 - x[0]) / h);
    x[0] += h * normal_quantile(low + uniform() * (high - low));
    if (uniform() >= 1 - good.bandwidth(1)) x[1] = std::floor(uniform() * 3);
    const double factor = good.at(x) / other.at(x);
    if (factor > best_factor) {
      best_factor = factor;
      best = x;
    }
  }
  CHECK(found[0] == Approx(best[0]));
  CHECK(found[1] == best[1]);
}

TEST_CASE("To bohb, what violates constraints is worse than all that does not, by how much",
          "[bohb][unit]") {
  const std::vector<Axis> axes = {unit_axis()};
  BohbData data, ranked;
  for (int i = 0; i < 8; ++i) {
    data.points.push_back({i / 8.0});
    data.scores.push_back(i);
    ranked.points.push_back({i / 8.0});
  }
  data.scores[2] = no_number;
  data.violations = {0, 0, 0, 3, 1, 2, std::numeric_limits<double>::infinity(), 0};
  // 7, 1, 0, then 4, 5, 3, 6, and 2 at last.
  ranked.scores = {6, 7, 1, 3, 5, 4, 2, 8};
  CHECK(next_by_bohb(axes, data, {}, numbers(5)) == next_by_bohb(axes, ranked, {}, numbers(5)));
  data.violations[7] = 9;
  CHECK(next_by_bohb(axes, data, {}, numbers(5)) != next_by_bohb(axes, ranked, {}, numbers(5)));
}

TEST_CASE("Bohb takes what a config lacks from the other ones", "[bohb][unit]") {
  const std::vector<Axis> axes = {unit_axis(), unit_axis()};
  BohbData data;
  for (int i = 0; i < 12; ++i) {
    data.points.push_back({i / 12.0, i % 2 == 0 ? no_number : 0.75});
    data.scores.push_back(i);
  }
  BohbRules rules;
  rules.num_samples = 1;
  rules.bandwidth_factor = 1e-6;
  const auto found = next_by_bohb(axes, data, rules, numbers(1));
  CHECK(found[1] == Approx(0.75));
}

TEST_CASE("Bohb takes values that belong together from one other config", "[bohb][unit]") {
  const std::vector<Axis> axes = {unit_axis(), unit_axis(), unit_axis()};
  BohbData data;
  for (int i = 0; i < 40; ++i) {
    const double both = i % 2 == 0 ? no_number : i % 4 == 1 ? 0.1 : 0.9;
    data.points.push_back({i / 40.0, both, both});
    data.scores.push_back(i);
  }
  BohbRules rules;
  rules.num_samples = 1;
  rules.bandwidth_factor = 1e-6;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const auto found = next_by_bohb(axes, data, rules, numbers(seed));
    CHECK(found[1] == Approx(found[2]).margin(0.01));
  }
}

TEST_CASE("Bohb asks the model of the largest budget that has one", "[bohb][unit]") {
  // On one iteration the small ones look good, on three the large ones are.
  const Json space = {{"x", {{"uniform", {0, 1}}}}};
  const auto searcher = bohb(space, {{"max_t", 9}, {"random_fraction", 0}});
  const auto x_of = [](std::uint32_t id) { return (id % 40 + 0.5) / 40; };
  for (std::uint32_t id = 0; id < 40; ++id) {
    start(*searcher, id, x_of(id));
    report(*searcher, id, 1, -x_of(id));
    report(*searcher, id, 2, x_of(id));  // no budget
  }
  CHECK(mean_of_next(*searcher) < 0.3);
  for (std::uint32_t id = 40; id < 80; ++id) {
    start(*searcher, id, x_of(id));
    // Its last result counts, and for the smaller budget, too.
    searcher->on_trial_end(TrialId(id), {3, {x_of(id)}}, Ended::stopped);
  }
  CHECK(mean_of_next(*searcher) > 0.7);
}

TEST_CASE("Bohb holds a failure against a config", "[bohb][unit]") {
  const auto searcher =
      bohb({{"x", {{"uniform", {0, 1}}}}}, {{"max_t", 1}, {"random_fraction", 0}});
  for (std::uint32_t id = 0; id < 40; ++id) {
    const double x = (id + 0.5) / 40;
    start(*searcher, id, x);
    if (x < 0.8) {
      searcher->on_trial_end(TrialId(id), {0, {}}, Ended::failed);
    } else {
      searcher->on_trial_end(TrialId(id), {1, {0.0}}, Ended::complete);
    }
  }
  CHECK(mean_of_next(*searcher) > 0.75);
}

TEST_CASE("Bohb keeps to where constraints are fulfilled", "[bohb][unit]") {
  const auto searcher =
      bohb({{"x", {{"uniform", {0, 1}}}}}, {{"max_t", 1}, {"random_fraction", 0}});
  for (std::uint32_t id = 0; id < 40; ++id) {
    const double x = (id + 0.5) / 40;
    start(*searcher, id, x);
    searcher->on_trial_end(TrialId(id), {1, {x}, {x - 0.5}}, Ended::complete);
  }
  CHECK(mean_of_next(*searcher) == Approx(0.43).margin(0.1));
}

TEST_CASE("Bohb means the budgets of the scheduler it works for", "[bohb][unit]") {
  const Json x = {{"x", {{"uniform", {0, 1}}}}};
  const SearchSpace space = space_of(x);
  PolicyContext context{space, {{"loss", Mode::min}}, -1, 1};
  context.scheduler = {{"type", "hyperband"}, {"max_t", 27}, {"reduction_factor", 3}};
  const Json state = all_policies().searchers.at("bohb")(nullptr, context)->save();
  const Json same = {{"max_t", 27}, {"reduction_factor", 3}};
  CHECK_NOTHROW(bohb(x, same)->load(state));
  CHECK_THROWS_AS(bohb(x, nullptr)->load(state), Error);  // 1, 3, 9, 27 and 81 iterations
}
