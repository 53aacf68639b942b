#include "searchers/parzen.h"

#include <cmath>
#include <limits>

#include "searchers/normal.h"
#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

namespace tune {
namespace {

using Values = std::vector<double>;

const Json five_kinds = R"({"a": {"uniform": [-5, 10]}, "b": {"loguniform": [1e-5, 1]},
    "c": {"choice": ["x", "y", "z"]}, "d": {"randint": [3, 41]}, "f": {"lograndint": [1, 501]}})"_json;

Axis axis(const Json& domain) { return axes_of(space_of({{"x", domain}}))[0]; }

/// With values, not coordinates, by axis.
Parzen model(const std::vector<Axis>& axes, const std::vector<Values>& seen, const Values& weights,
             const ParzenRules& rules = {}) {
  std::vector<ParzenColumn> columns;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Values at;
    for (const double value : seen[i]) at.push_back(axes[i].coordinate_of(value));
    auto order = ascending_order(at);
    columns.push_back({&axes[i], std::move(at), std::move(order)});
  }
  return {std::move(columns), weights, rules};
}

Values log_density(const Parzen& parzen, const std::vector<Axis>& axes,
                   const std::vector<Values>& values) {
  Values points;
  for (std::size_t k = 0; k < values[0].size(); ++k) {
    for (std::size_t i = 0; i < axes.size(); ++i)
      points.push_back(axes[i].coordinate_of(values[i][k]));
  }
  return parzen.log_density(points);
}

void check_equal(const Values& ours, const Values& expected) {
  REQUIRE(ours.size() == expected.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    CHECK(ours[i] == Approx(expected[i]).epsilon(1e-11));
}

double bell(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0)); }

/// The next of `numbers`, for ever.
Parzen::Uniforms repeat(Values numbers) {
  return [numbers, i = std::size_t{0}]() mutable { return numbers[i++ % numbers.size()]; };
}

}  // namespace

TEST_CASE("A density is what one computes by hand", "[parzen][unit]") {
  // Neighbours are 3 apart, the wide kernel stands at 5 with a deviation of 10; all are cut off at
  // 0 and 10.
  const std::vector<Axis> axes = {axis({{"uniform", {0, 10}}})};
  const Parzen parzen = model(axes, {{5, 2}}, {1, 1});
  const auto cut = [](double x, double mean, double deviation) {
    const double mass = normal_cdf((10 - mean) / deviation) - normal_cdf(-mean / deviation);
    return bell((x - mean) / deviation) / deviation / mass;
  };
  const double expected = (cut(4, 5, 3) + cut(4, 2, 3) + cut(4, 5, 10)) / 3;
  check_equal(log_density(parzen, axes, {{4}}), {std::log(expected)});
}

TEST_CASE("The chance of a choice's value is what one computes by hand", "[parzen][unit]") {
  // Rows of (1/3 + seen) / 2 for two values seen of three kernels, and one row of halves.
  const std::vector<Axis> axes = {axis({{"choice", {"x", "y"}}})};
  const Parzen parzen = model(axes, {{0, 0}}, {1, 1});
  const double seen = (1 / 3.0 + 1) / (2 / 3.0 + 1);
  check_equal(log_density(parzen, axes, {{0, 1}}),
              {std::log((2 * seen + 0.5) / 3), std::log((2 * (1 - seen) + 0.5) / 3)});
}

// From Optuna 5.0.0: _ParzenEstimator(observations, distributions, parameters).log_pdf(points).
TEST_CASE("Densities are Optuna's for every kind of domain", "[parzen][unit]") {
  const std::vector<Axis> axes = axes_of(space_of(five_kinds));
  const std::vector<Values> seen = {
      {1, 9.5, -4}, {1e-3, 0.5, 1e-3}, {0, 2, 2}, {17, 40, 3}, {1, 500, 20}};
  const std::vector<Values> at = {
      {0, 9.9, -5}, {1e-2, 0.9, 1e-5}, {1, 2, 0}, {15, 39, 3}, {2, 499, 1}};
  const std::vector<Values> alone = {{-2.59974636679861, -2.96474090825032, -2.66198261939297},
                                     {-2.31185800748351, -2.71541641385784, -2.95453134628508},
                                     {-1.65822807660353, -0.741937344729377, -1.09861228866811},
                                     {-3.53737922362173, -3.86969834997577, -3.54646125895488},
                                     {-2.63480808616655, -8.25034820623575, -1.95877624525167}};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    INFO(i);
    // Optuna does not divide by the value where the domain is a logarithmic one, nor do we.
    check_equal(log_density(model({axes[i]}, {seen[i]}, {1, 1, 1}), {axes[i]}, {at[i]}), alone[i]);
  }
  check_equal(log_density(model(axes, seen, {1, 1, 1}), axes, at),
              {-12.7066280838257, -16.8988358143519, -12.0993381814752});
  const ParzenRules rules{.prior_weight = 0.3, .magic_clip = false, .endpoints = true};
  check_equal(log_density(model(axes, seen, {1, 1, 1}, rules), axes, at),
              {-13.4992372471283, -16.5458561905392, -11.6680041371148});
  check_equal(log_density(model(axes, {{}, {}, {}, {}, {}}, {}), axes, at),
              {-12.4082893309053, -18.3422058120427, -12.0203525262547});
}

TEST_CASE("Densities sum to 1 over what can be drawn", "[parzen][unit]") {
  for (const char* text : {R"({"randint": [3, 41]})", R"({"lograndint": [1, 41]})",
                           R"({"quniform": [-1, 1, 0.125]})", R"({"qlograndint": [10, 400, 10]})",
                           R"({"choice": [1, 2, 3, 4]})", R"({"qrandn": [0.5, 2, 0.5]})"}) {
    INFO(text);
    const std::vector<Axis> axes = {axis(Json::parse(text))};
    const Axis& one = axes[0];
    Values values;
    const double from = one.bounded ? one.first : -40, to = one.bounded ? one.last : 40;
    for (double value = from; value <= to + one.step / 2; value += one.step)
      values.push_back(value);
    const double some = values[values.size() / 2], other = values[values.size() / 2 - 1];
    const Parzen parzen = model(axes, {{some, other, other}}, {1, 1, 1});
    double sum = 0;
    for (const double density : log_density(parzen, axes, {values})) sum += std::exp(density);
    CHECK(sum == Approx(1).epsilon(1e-10));
  }
  for (const char* text :
       {R"({"uniform": [-5, 10]})", R"({"loguniform": [1e-5, 1]})", R"({"randn": [1, 2]})"}) {
    INFO(text);
    const std::vector<Axis> axes = {axis(Json::parse(text))};
    const Axis& one = axes[0];
    const Parzen parzen =
        model(axes, {{one.first, one.last, one.value_at(one.low + 0.1)}}, {1, 2, 3});
    constexpr int parts = 20000;
    const double margin = one.bounded ? 0 : 10 * (one.high - one.low);
    const double width = (one.high - one.low + 2 * margin) / parts;
    Values points;
    for (int i = 0; i < parts; ++i) points.push_back(one.low - margin + (i + 0.5) * width);
    double sum = 0;
    for (const double density : parzen.log_density(points)) sum += std::exp(density) * width;
    CHECK(sum == Approx(1).epsilon(1e-5));
  }
}

TEST_CASE("A value far from all kernels has a density, not an infinity", "[parzen][unit]") {
  const std::vector<Axis> axes = {axis({{"qrandn", {0, 1, 0.5}}}), axis({{"randn", {0, 1}}})};
  // Both kernels have a deviation of 2: so far are mean -+ 2 deviations of the domain.
  const Values density = log_density(model(axes, {{0}, {0}}, {1}), axes, {{-300}, {70}});
  CHECK(density[0] == Approx(-(150.0 * 150 + 35 * 35) / 2).epsilon(0.01));
}

TEST_CASE("What is sampled lies in the domain and on its steps", "[parzen][unit]") {
  const std::vector<Axis> axes = axes_of(space_of(five_kinds));
  const Parzen parzen = model(axes, {{10, -5}, {1e-5, 1}, {0, 2}, {3, 40}, {1, 500}}, {1, 1});
  Random random(3);
  const std::size_t n = 2000;
  const Values points = parzen.sample(n, [&] { return random.uniform(); });
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Axis& one = axes[i % 5];
    const double value = one.value_at(points[i]);
    CHECK((value >= one.first && value <= one.last));
    if (one.step > 0) CHECK(value == std::round(value));
  }
}

TEST_CASE("The extreme random numbers give extreme values", "[parzen][unit]") {
  const std::vector<Axis> axes = {axis({{"uniform", {0, 10}}}), axis({{"randint", {0, 5}}})};
  const Parzen parzen = model(axes, {{5}, {2}}, {1});
  CHECK(parzen.sample(1, repeat({0}))[0] == 0);
  CHECK(parzen.sample(1, repeat({0}))[1] == 0);
  const double most = std::nextafter(1, 0);
  CHECK(parzen.sample(1, repeat({most}))[0] == Approx(10));
  CHECK(parzen.sample(1, repeat({most}))[1] == 4);
  const std::vector<Axis> endless = {axis({{"randn", {0, 1}}})};
  CHECK(std::isfinite(model(endless, {{0}}, {1}).sample(1, repeat({0}))[0]));
}

TEST_CASE("Quantiles undo the distribution function, far out too", "[parzen][unit]") {
  for (const double p : {1e-300, 1e-20, 1e-5, 0.05, 0.3, 0.5, 0.7, 0.999}) {
    CHECK(normal_cdf(normal_quantile(p)) == Approx(p).epsilon(1e-12));
  }
  CHECK(normal_quantile(1) == std::numeric_limits<double>::infinity());
  CHECK(truncated_normal_quantile(0.5, -1, 1) == Approx(0).margin(1e-15));
  CHECK(truncated_normal_quantile(0.25, 0, 40) == Approx(normal_quantile(0.625)).epsilon(1e-12));
  CHECK(log_normal_cdf(-40) == Approx(-804.608442013754).epsilon(1e-13));
  CHECK(log_normal_mass(-41, -40) == Approx(-804.608442013754).epsilon(1e-13));
  CHECK(log_normal_mass(3, 4) == Approx(std::log(normal_cdf(-3) - normal_cdf(-4))).epsilon(1e-12));
}

}  // namespace tune
