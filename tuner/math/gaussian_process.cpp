// Cholesky factor with jitter and incremental rows, marginal likelihood with its gradient,
// predictions, and the fit by L-BFGS-B.
#include "tuner/math/gaussian_process.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/math/minimize.h"

namespace tune {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// As shares of the kernel's variance: the first try beside 0, and what is enough for anything.
constexpr double least_jitter = 1e-10;
constexpr double most_jitter = 1;

constexpr Index room_to_grow = 32;

}  // namespace

Standardized standardize(std::vector<double> values) {
  Standardized result;
  double worst = std::numeric_limits<double>::infinity();
  for (const double value : values) {
    if (std::isfinite(value)) worst = std::min(worst, value);
  }
  if (!std::isfinite(worst)) worst = 0;
  for (double& value : values) {
    if (!std::isfinite(value)) value = worst;
  }
  // Divided first: the sum of what is finite need not be.
  const auto n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value - result.mean));
  if (!std::isfinite(largest)) {
    // No double holds a difference that far from the mean.
    for (double& value : values) value /= 4;
    result = standardize(std::move(values));
    result.mean *= 4;
    result.deviation *= 4;
    return result;
  }
  for (double& value : values) value -= result.mean;
  if (largest > 0) {
    double square = 0;
    for (const double value : values) square += (value / largest) * (value / largest) / n;
    result.deviation = largest * std::sqrt(square);
  }
  for (double& value : values) value /= result.deviation;
  result.values = std::move(values);
  return result;
}

struct GaussianProcess::Impl {
  std::unique_ptr<Kernel> kernel;
  Index n = 0;
  MatrixXd points;   ///< a row each; more rows than n
  MatrixXd factor;   ///< of the covariances, lower triangle; more rows and columns than n
  VectorXd targets;  ///< n
  VectorXd weights;  ///< covariances^-1 * targets
  double noise = 0;
  double jitter = 0;
  Index believed = 0;  ///< so many of the last have no noise
  bool is_set = false;

  PointColumns columns(Index count) const {
    return {points.data(), static_cast<std::size_t>(count),
            static_cast<std::size_t>(points.rows())};
  }
  VectorXd point(Index i) const { return points.row(i); }
  auto triangle() const { return factor.topLeftCorner(n, n).triangularView<Eigen::Lower>(); }
  auto transposed() const {
    return factor.topLeftCorner(n, n).transpose().triangularView<Eigen::Upper>();
  }

  VectorXd covariances(const double* x) const {
    VectorXd out(n);
    kernel->covariances(x, columns(n), out.data());
    return out;
  }

  void set(const std::vector<double>& hyperparameters) {
    kernel->set(hyperparameters.data());
    noise = hyperparameters.back();
    is_set = true;
    MatrixXd all = MatrixXd::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      const VectorXd x = point(i);
      kernel->covariances(x.data(), columns(n), all.col(i).data());
    }
    factorize(all);
    solve();
  }

  void factorize(const MatrixXd& all) {
    // Points that are almost equal make the matrix numerically singular: the diagonal grows tenfold
    // until it can be factorized.
    for (jitter = 0; jitter <= most_jitter * kernel->variance();
         jitter = std::max(10 * jitter, least_jitter * kernel->variance())) {
      MatrixXd more = all;
      more.diagonal().array() += jitter;
      for (Index i = 0; i < n - believed; ++i) more(i, i) += noise;
      const Eigen::LLT<Eigen::Ref<MatrixXd>> cholesky(more);
      if (cholesky.info() != Eigen::Success || !more.diagonal().allFinite()) continue;
      factor.topLeftCorner(n, n) = more;
      return;
    }
    ensure(false, "covariances are finite numbers");
  }

  void solve() {
    weights = triangle().solve(targets);
    transposed().solveInPlace(weights);
  }

  void add(const std::vector<double>& x, double target, double with_noise) {
    ensure(is_set, "a Gaussian process has hyperparameters before it is asked");
    // One more row of the Cholesky factor, in O(n^2), instead of a new factorization in O(n^3).
    const VectorXd row = triangle().solve(covariances(x.data()));
    const double least = least_jitter * kernel->variance();
    const double rest = kernel->variance() + with_noise + jitter - row.squaredNorm();
    reserve(n);
    factor.row(n).head(n) = row.transpose();
    // Rounding may take `rest` below 0 where the point is there already.
    factor(n, n) = std::sqrt(std::max(rest, least));
    points.row(n) = Eigen::Map<const VectorXd>(x.data(), points.cols()).transpose();
    targets.conservativeResize(n + 1);
    targets[n] = target;
    ++n;
    solve();
  }

  void reserve(Index more_than) {
    if (points.rows() > more_than) return;
    const Index rows = more_than + room_to_grow;
    points.conservativeResize(rows, Eigen::NoChange);
    factor.conservativeResize(rows, rows);
  }
};

GaussianProcess::GaussianProcess(std::unique_ptr<Kernel> kernel, std::size_t dimensions,
                                 const std::vector<double>& points,
                                 const std::vector<double>& targets)
    : impl_(std::make_unique<Impl>()) {
  ensure(points.size() == dimensions * targets.size(), "there is a target for every point");
  impl_->kernel = std::move(kernel);
  impl_->points.resize(0, static_cast<Index>(dimensions));
  impl_->reserve(static_cast<Index>(targets.size()));
  impl_->n = static_cast<Index>(targets.size());
  impl_->points.topRows(impl_->n) =
      Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
          points.data(), impl_->n, static_cast<Index>(dimensions));
  impl_->targets = Eigen::Map<const VectorXd>(targets.data(), impl_->n);
  ensure(impl_->points.topRows(impl_->n).allFinite() && impl_->targets.allFinite(),
         "points and targets are finite");
}

GaussianProcess::~GaussianProcess() = default;
GaussianProcess::GaussianProcess(GaussianProcess&&) noexcept = default;
GaussianProcess& GaussianProcess::operator=(GaussianProcess&&) noexcept = default;

std::size_t GaussianProcess::size() const { return static_cast<std::size_t>(impl_->n); }
double GaussianProcess::jitter() const { return impl_->jitter; }

void GaussianProcess::set(const std::vector<double>& hyperparameters) {
  ensure(hyperparameters.size() == impl_->kernel->hyperparameters() + 1,
         "there is a value for every hyperparameter");
  impl_->set(hyperparameters);
}

std::vector<double> GaussianProcess::fit(const std::vector<double>& start,
                                         const FitOptions& options) {
  const auto transform = [](std::vector<double> values, double (*by)(double)) {
    std::transform(values.begin(), values.end(), values.begin(), by);
    return values;
  };
  constexpr double (*log)(double) = std::log;
  constexpr double (*exp)(double) = std::exp;
  // In logarithms, since hyperparameters are positive and differ by orders of magnitude.
  const auto loss = [&](const std::vector<double>& logs, std::vector<double>& gradient) {
    const std::vector<double> values = transform(logs, exp);
    set(values);
    double density = log_likelihood();
    gradient = log_likelihood_gradient();
    if (options.log_prior) density += options.log_prior(values, gradient);
    for (double& slope : gradient) slope = -slope;
    return -density;
  };
  const Minimum best =
      minimize(loss, transform(start, log), transform(options.lower, log),
               transform(options.upper, log), {options.max_evaluations, options.tolerance});
  const std::vector<double> values = transform(best.x, exp);
  set(values);
  return values;
}

double GaussianProcess::log_likelihood() const {
  const Impl& it = *impl_;
  const double determinant = it.factor.diagonal().head(it.n).array().log().sum();  // half of it
  return -it.targets.dot(it.weights) / 2 - determinant -
         static_cast<double>(it.n) / 2 * std::log(2 * std::numbers::pi);
}

std::vector<double> GaussianProcess::log_likelihood_gradient() const {
  const Impl& it = *impl_;
  // For each covariance the derivative of the likelihood by it: (w w^T - K^-1) / 2.
  const MatrixXd inverse_factor = it.triangle().solve(MatrixXd::Identity(it.n, it.n));
  MatrixXd slopes = MatrixXd::Zero(it.n, it.n);
  slopes.selfadjointView<Eigen::Upper>().rankUpdate(inverse_factor.transpose(), -0.5);
  slopes.selfadjointView<Eigen::Upper>().rankUpdate(it.weights, 0.5);
  std::vector<double> gradient(it.kernel->hyperparameters() + 1, 0);
  gradient.back() = slopes.diagonal().sum() * it.noise;
  for (Index i = 0; i < it.n; ++i) {
    VectorXd row = 2 * slopes.col(i).head(i + 1);  // the other triangle is the same
    row[i] /= 2;
    const VectorXd x = it.point(i);
    it.kernel->add_gradient(x.data(), it.columns(i + 1), row.data(), gradient.data());
  }
  return gradient;
}

Prediction GaussianProcess::predict(const std::vector<double>& x) const {
  const Impl& it = *impl_;
  const VectorXd covariances = it.covariances(x.data());
  const double explained = it.triangle().solve(covariances).squaredNorm();
  return {covariances.dot(it.weights), std::max(it.kernel->variance() - explained, 0.0)};
}

Prediction GaussianProcess::predict(const std::vector<double>& x, Slopes& slopes) const {
  const Impl& it = *impl_;
  const VectorXd covariances = it.covariances(x.data());
  VectorXd solved = it.triangle().solve(covariances);
  const double explained = solved.squaredNorm();
  it.transposed().solveInPlace(solved);
  slopes.mean.assign(x.size(), 0);
  slopes.variance.assign(x.size(), 0);
  const PointColumns points = it.columns(it.n);
  it.kernel->add_point_gradient(x.data(), points, it.weights.data(), slopes.mean.data());
  solved *= -2;
  it.kernel->add_point_gradient(x.data(), points, solved.data(), slopes.variance.data());
  return {covariances.dot(it.weights), std::max(it.kernel->variance() - explained, 0.0)};
}

std::vector<Prediction> GaussianProcess::predict_all(const std::vector<double>& points) const {
  const Impl& it = *impl_;
  const auto dimensions = static_cast<std::size_t>(it.points.cols());
  const auto count = static_cast<Index>(points.size() / dimensions);
  MatrixXd covariances(it.n, count);
  for (Index i = 0; i < count; ++i) {
    it.kernel->covariances(points.data() + static_cast<std::size_t>(i) * dimensions,
                           it.columns(it.n), covariances.col(i).data());
  }
  const VectorXd means = covariances.transpose() * it.weights;
  it.triangle().solveInPlace(covariances);
  const VectorXd explained = covariances.colwise().squaredNorm();
  std::vector<Prediction> predictions(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) {
    predictions[static_cast<std::size_t>(i)] = {
        means[i], std::max(it.kernel->variance() - explained[i], 0.0)};
  }
  return predictions;
}

void GaussianProcess::add(const std::vector<double>& x, double target) {
  ensure(impl_->believed == 0, "what is believed comes last");
  impl_->add(x, target, impl_->noise);
}

void GaussianProcess::believe(const std::vector<double>& x) {
  const double mean = predict(x).mean;
  impl_->add(x, mean, 0);
  ++impl_->believed;
}

}  // namespace tune
