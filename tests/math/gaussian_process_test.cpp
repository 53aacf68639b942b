#include "tuner/math/gaussian_process.h"

#include <cmath>
#include <limits>

#include "tests/support/catch.h"
#include "tuner/math/random.h"

using namespace tune;

namespace {

/// A function of `dimensions` numbers at random places, which may be nothing but its own.
struct Sample {
  std::vector<double> points, targets;
};

Sample sample_of(std::size_t n, std::size_t dimensions, std::uint64_t seed = 1) {
  Random random(seed);
  Sample sample;
  for (std::size_t i = 0; i < n; ++i) {
    double value = 0;
    for (std::size_t j = 0; j < dimensions; ++j) {
      sample.points.push_back(random.uniform());
      value += std::sin(static_cast<double>(j + 3) * sample.points.back());
    }
    sample.targets.push_back(value + 0.1 * random.uniform());
  }
  return sample;
}

struct Named {
  std::string name;
  std::unique_ptr<Kernel> (*make)();
  std::vector<double> hyperparameters;  ///< and the noise
};

/// Kernels of three dimensions.
const std::vector<Named>& kernels() {
  static const std::vector<Named> all = {
      {"matern",
       [] {
         return make_matern_kernel({false, false, false});
       },
       {2, 0.5, 9, 1.3, 0.01}},
      {"time varying", [] { return make_time_varying_kernel(3); }, {1.5, 0.4, 0.3, 0.02}},
      {"learning curves", [] { return make_curve_kernel({false}); }, {2, 1.4, 0.3, 0.8, 0.01}},
  };
  return all;
}

GaussianProcess process_of(const Named& kernel, const Sample& sample) {
  GaussianProcess process(kernel.make(), 3, sample.points, sample.targets);
  process.set(kernel.hyperparameters);
  return process;
}

/// Of the likelihood with hyperparameter j multiplied by e^step.
double moved_likelihood(const Named& kernel, const Sample& sample, std::size_t j, double step) {
  GaussianProcess process(kernel.make(), 3, sample.points, sample.targets);
  std::vector<double> moved = kernel.hyperparameters;
  moved[j] *= std::exp(step);
  process.set(moved);
  return process.log_likelihood();
}

}  // namespace

TEST_CASE("Between two points the posterior is what the formula gives by hand", "[gp]") {
  GaussianProcess process(make_matern_kernel({false}), 1, {0, 1}, {1, 1});
  process.set({1, 1, 0});
  const Prediction middle = process.predict({0.5});
  CHECK(middle.mean == Approx(2 * 0.828649 / 1.523994).epsilon(1e-5));
  CHECK(middle.variance == Approx(1 - 2 * 0.828649 * 0.828649 / 1.523994).epsilon(1e-5));
  // log N((1, 1); 0, K): the inverse times (1, 1) is 1 / 1.523994 twice, det K = 1 - 0.523994^2.
  const double by_hand =
      -0.5 * 2 / 1.523994 - 0.5 * std::log(1 - 0.523994 * 0.523994) - std::log(2 * 3.14159265);
  CHECK(process.log_likelihood() == Approx(by_hand).epsilon(1e-5));
}

TEST_CASE("The time-varying covariance is the one of its paper", "[gp]") {
  const auto kernel = make_time_varying_kernel(3);
  const double values[] = {2, 0.5, 0.19};
  kernel->set(values);
  const double points[] = {0.5, 0, 1, 0.3, 0.1, 0.4};  // two points, dimension by dimension
  const double x[] = {0.5, 0.7, 0.1};
  double out[2];
  kernel->covariances(x, {points, 2, 2}, out);
  CHECK(out[0] == Approx(2 * std::exp(-0.3 * 0.3 / (2 * 0.25))));
  CHECK(out[1] ==
        Approx(2 * std::exp(-(0.4 * 0.4 + 0.3 * 0.3) / (2 * 0.25)) * std::pow(0.81, 0.5 / 2)));
}

TEST_CASE("Learning curves have a mean curve in common, like configs more, and one curve most",
          "[gp]") {
  const auto kernel = make_curve_kernel({false, true});
  const double values[] = {1 / 0.25, 1, 2, 0.3, 1.5};  // lengths 0.5 and 1
  kernel->set(values);
  CHECK(kernel->variance() == Approx(3.3));
  // Config, category, log of the time, number of the curve: dimension by dimension.
  const double points[] = {0.2, 0.2, 90, 0, 0, 1, -1, -1, -1, 7, 8, 9};
  const double x[] = {0.2, 0, -1 - 1.5 / std::sqrt(3), 7};
  double out[3];
  kernel->covariances(x, {points, 3, 3}, out);
  const double by_time = 2 * std::exp(-1);
  CHECK(out[0] == Approx(by_time * 3.3));
  CHECK(out[1] == Approx(by_time * 3));
  CHECK(out[2] == Approx(by_time));
}

TEST_CASE("Without noise the posterior goes through the points and is certain there", "[gp]") {
  for (Named kernel : kernels()) {
    INFO(kernel.name);
    kernel.hyperparameters.back() = 0;
    const Sample sample = sample_of(20, 3);
    const GaussianProcess process = process_of(kernel, sample);
    for (std::size_t i = 0; i < 20; ++i) {
      const auto at = sample.points.begin() + static_cast<std::ptrdiff_t>(3 * i);
      const Prediction there = process.predict({at, at + 3});
      CHECK(there.mean == Approx(sample.targets[i]).margin(1e-5));
      CHECK(there.variance < 1e-6);
    }
    const Prediction far = process.predict({100, 100, 100});
    CHECK(std::abs(far.mean) < 1e-3);
    CHECK(far.variance > 1);
  }
}

TEST_CASE("The likelihood's derivatives are those of finite differences", "[gp]") {
  for (const Named& kernel : kernels()) {
    const Sample sample = sample_of(25, 3);
    const auto gradient = process_of(kernel, sample).log_likelihood_gradient();
    REQUIRE(gradient.size() == kernel.hyperparameters.size());
    constexpr double step = 1e-5;
    for (std::size_t j = 0; j < gradient.size(); ++j) {
      INFO(kernel.name << ", hyperparameter " << j);
      const double difference =
          (moved_likelihood(kernel, sample, j, step) - moved_likelihood(kernel, sample, j, -step)) /
          (2 * step);
      CHECK(gradient[j] == Approx(difference).epsilon(1e-5).margin(1e-5));
    }
  }
}

TEST_CASE("A prediction's slopes are those of finite differences", "[gp]") {
  for (const Named& kernel : kernels()) {
    const GaussianProcess process = process_of(kernel, sample_of(25, 3));
    const std::vector<double> x = {0.31, 0.62, 0.47};
    GaussianProcess::Slopes slopes;
    const Prediction there = process.predict(x, slopes);
    CHECK(there.mean == process.predict(x).mean);
    CHECK(there.variance == process.predict(x).variance);
    constexpr double step = 1e-5;
    for (std::size_t j = 0; j < 3; ++j) {
      INFO(kernel.name << ", coordinate " << j);
      std::vector<double> up = x, down = x;
      up[j] += step;
      down[j] -= step;
      const Prediction above = process.predict(up);
      const Prediction below = process.predict(down);
      CHECK(slopes.mean[j] == Approx((above.mean - below.mean) / (2 * step)).margin(1e-6));
      CHECK(slopes.variance[j] ==
            Approx((above.variance - below.variance) / (2 * step)).margin(1e-6));
    }
  }
}

TEST_CASE("A point added later counts as if it had been there from the first on", "[gp]") {
  for (const Named& kernel : kernels()) {
    INFO(kernel.name);
    // More than there is room for at first.
    Sample sample = sample_of(120, 3);
    const GaussianProcess whole = process_of(kernel, sample);
    Sample first = sample;
    first.points.resize(3 * 20);
    first.targets.resize(20);
    GaussianProcess grown = process_of(kernel, first);
    for (std::size_t i = 20; i < 120; ++i) {
      const auto at = sample.points.begin() + static_cast<std::ptrdiff_t>(3 * i);
      grown.add({at, at + 3}, sample.targets[i]);
    }
    CHECK(grown.size() == 120);
    CHECK(grown.log_likelihood() == Approx(whole.log_likelihood()));
    const std::vector<double> somewhere = sample_of(50, 3, 7).points;
    const auto one = grown.predict_all(somewhere);
    const auto other = whole.predict_all(somewhere);
    for (std::size_t i = 0; i < 50; ++i) {
      CHECK(one[i].mean == Approx(other[i].mean).margin(1e-9));
      CHECK(one[i].variance == Approx(other[i].variance).margin(1e-9));
    }
  }
}

TEST_CASE("Many predictions at once are those one by one", "[gp]") {
  const GaussianProcess process = process_of(kernels()[0], sample_of(40, 3));
  const std::vector<double> points = sample_of(10, 3, 5).points;
  const auto all = process.predict_all(points);
  for (std::size_t i = 0; i < 10; ++i) {
    const auto at = points.begin() + static_cast<std::ptrdiff_t>(3 * i);
    const Prediction one = process.predict({at, at + 3});
    CHECK(all[i].mean == Approx(one.mean));
    CHECK(all[i].variance == Approx(one.variance).margin(1e-12));
  }
}

TEST_CASE("A point that is believed changes no mean, and makes its surroundings certain", "[gp]") {
  Named kernel = kernels()[0];
  kernel.hyperparameters.back() = GENERATE(0.01, 100.0);  // the noise
  GaussianProcess process = process_of(kernel, sample_of(15, 3));
  const std::vector<double> near = {0.5, 0.5, 0.5};
  const std::vector<double> x = {0.45, 0.55, 0.5};
  const Prediction before = process.predict(x);
  process.believe(near);
  CHECK(process.predict(x).mean == Approx(before.mean));
  CHECK(process.predict(x).variance < before.variance / 2);
  CHECK(process.predict(near).variance < 1e-6);
  process.set(kernel.hyperparameters);
  CHECK(process.predict(near).variance < 1e-6);
}

TEST_CASE("The same point many times does no harm", "[gp]") {
  Sample sample = sample_of(5, 3);
  for (int i = 0; i < 30; ++i) {
    sample.points.insert(sample.points.end(), {0.5, 0.5, 0.5});
    sample.targets.push_back(i % 2 == 0 ? 1 : 2);
  }
  Named without_noise = kernels()[0];
  without_noise.hyperparameters.back() = 0;
  GaussianProcess process = process_of(without_noise, sample);
  CHECK(process.jitter() > 0);
  process.add({0.5, 0.5, 0.5}, 1.5);
  const Prediction there = process.predict({0.5, 0.5, 0.5});
  CHECK(there.mean == Approx(1.5).margin(0.01));
  CHECK(there.variance < 1e-4);
}

TEST_CASE("Where nothing is known the prediction is the prior", "[gp]") {
  GaussianProcess process(make_matern_kernel({false, false, false}), 3, {}, {});
  process.set({1, 1, 1, 2, 0.1});
  CHECK(process.predict({0, 0, 0}).mean == 0);
  CHECK(process.predict({0, 0, 0}).variance == 2);
  process.add({0, 0, 0}, 3);
  CHECK(process.predict({0, 0, 0}).mean == Approx(3 * 2 / 2.1));
}

TEST_CASE("Categories are alike or not, whatever their numbers", "[gp]") {
  GaussianProcess process(make_matern_kernel({true}), 1, {0, 1}, {1, -1});
  process.set({1, 1, 0.1});
  CHECK(process.predict({2}).mean == Approx(0).margin(1e-12));
  CHECK(process.predict({2}).variance == process.predict({17}).variance);
  GaussianProcess::Slopes slopes;
  (void)process.predict({1}, slopes);
  CHECK(slopes.mean[0] == 0);
  // The derivative by its length, too, is right.
  const double up = [] {
    GaussianProcess other(make_matern_kernel({true}), 1, {0, 1}, {1, -1});
    other.set({std::exp(1e-5), 1, 0.1});
    return other.log_likelihood();
  }();
  CHECK(process.log_likelihood_gradient()[0] ==
        Approx((up - process.log_likelihood()) / 1e-5).epsilon(1e-3));
}

TEST_CASE("Fitting finds which dimension matters, and the noise", "[gp]") {
  Random random(3);
  std::vector<double> points, targets;
  for (int i = 0; i < 80; ++i) {
    const double x = random.uniform();
    points.insert(points.end(), {x, random.uniform()});
    targets.push_back(std::sin(6 * x) + random.normal(0, 0.1));
  }
  GaussianProcess process(make_matern_kernel({false, false}), 2, points,
                          standardize(targets).values);
  const auto fitted =
      process.fit({1, 1, 1, 0.1}, {{1e-4, 1e-4, 1e-3, 1e-6}, {1e4, 1e4, 1e3, 10}, {}, 200, 1e-3});
  CHECK(fitted[0] > 100 * fitted[1]);
  const double deviation = standardize(targets).deviation;
  CHECK(std::sqrt(fitted[3]) * deviation == Approx(0.1).epsilon(0.3));
  // At the top the likelihood is level, but where a bound is in the way.
  CHECK(std::abs(process.log_likelihood_gradient()[0]) < 0.02);
}

TEST_CASE("A prior pulls the hyperparameters to where it is high", "[gp]") {
  const Sample sample = sample_of(4, 3);
  GaussianProcess process(kernels()[0].make(), 3, sample.points,
                          standardize(sample.targets).values);
  GaussianProcess::FitOptions options{std::vector<double>(5, 1e-4), std::vector<double>(5, 1e4)};
  options.log_prior = [](const std::vector<double>& values, std::vector<double>& gradient) {
    double density = 0;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double off = std::log(values[j]) - 1;
      density -= 1e4 * off * off / 2;
      gradient[j] -= 1e4 * off;
    }
    return density;
  };
  for (const double value : process.fit({1, 1, 1, 1, 0.1}, options)) {
    CHECK(std::log(value) == Approx(1).margin(0.01));
  }
}

TEST_CASE("Standardized values have mean 0 and deviation 1, and nothing that is no number",
          "[gp]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Standardized all = standardize({1, nan, 5, infinity, -infinity, 3});
  CHECK(all.values[1] == all.values[0]);
  CHECK(all.values[3] == all.values[0]);
  CHECK(all.values[4] == all.values[0]);
  CHECK(all.values[2] * all.deviation + all.mean == Approx(5));
  double sum = 0, square = 0;
  for (const double value : all.values) sum += value, square += value * value;
  CHECK(sum == Approx(0).margin(1e-12));
  CHECK(square == Approx(6));
  CHECK(standardize({nan, nan}).values == std::vector<double>{0, 0});
  CHECK(standardize({7, 7, 7}).values == std::vector<double>{0, 0, 0});
  CHECK(standardize({}).values.empty());
  // No double holds how far the largest is from the mean.
  const Standardized wide = standardize({1.7e308, -1.7e308, -1.7e308});
  CHECK(wide.mean == Approx(-1.7e308 / 3));
  CHECK(wide.values[0] == Approx(std::sqrt(2)));
  CHECK(wide.values[1] == Approx(-std::sqrt(0.5)));
}
