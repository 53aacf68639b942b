// Update of mean, step size and covariance with active (negative) weights, and its
// eigendecomposition (Eigen).
#include "searchers/cma_distribution.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

using Eigen::Index;
using Eigen::Map;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double most_condition = 1e14;
constexpr double most_sigma = 1e32;
/// In one update, by a factor of e (Hansen 2011).
constexpr double most_growth = 1;

Index signed_size(const std::vector<double>& numbers) { return static_cast<Index>(numbers.size()); }
Map<VectorXd> vector_in(std::vector<double>& numbers) {
  return {numbers.data(), signed_size(numbers)};
}
Map<const VectorXd> vector_in(const std::vector<double>& numbers) {
  return {numbers.data(), signed_size(numbers)};
}
Map<MatrixXd> matrix_in(std::vector<double>& numbers, Index n) { return {numbers.data(), n, n}; }
Map<const MatrixXd> matrix_in(const std::vector<double>& numbers, Index n) {
  return {numbers.data(), n, n};
}

/// Weights and rates for a number of dimensions and a population (table 1).
struct Rates {
  std::vector<double> weights;  ///< by rank; the worse half are negative
  double effective = 0;         ///< so many of the better half count
  double rank_one, rank_mu;     ///< of the covariance
  double sigma_path, sigma_damping, covariance_path;
  double expected_length;  ///< of a standard normal vector

  Rates(double n, std::size_t population) {
    const auto size = static_cast<double>(population);
    double positive = 0, negative = 0, positive_squares = 0, negative_squares = 0;
    for (std::size_t i = 0; i < population; ++i) {  // (49)
      const double weight = std::log((size + 1) / 2) - std::log(static_cast<double>(i + 1));
      weights.push_back(weight);
      (weight >= 0 ? positive : negative) += std::abs(weight);
      (weight >= 0 ? positive_squares : negative_squares) += weight * weight;
    }
    effective = positive * positive / positive_squares;  // (8)
    const double negative_effective = negative * negative / negative_squares;

    sigma_path = (effective + 2) / (n + effective + 5);  // (55)
    sigma_damping = 1 + 2 * std::max(0.0, std::sqrt((effective - 1) / (n + 1)) - 1) + sigma_path;
    covariance_path = (4 + effective / n) / (n + 4 + 2 * effective / n);  // (56)
    rank_one = 2 / ((n + 1.3) * (n + 1.3) + effective);                   // (57)
    rank_mu = std::min(1 - rank_one, 2 * (0.25 + effective + 1 / effective - 2) /
                                         ((n + 2) * (n + 2) + effective));          // (58)
    const double balance = std::min({1 + rank_one / rank_mu,                        // (50)
                                     1 + 2 * negative_effective / (effective + 2),  // (51)
                                     (1 - rank_one - rank_mu) / (n * rank_mu)});    // (52)
    for (double& weight : weights)
      weight *= weight >= 0 ? 1 / positive : balance / negative;  // (53)
    expected_length = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  }
};

}  // namespace

CmaDistribution::CmaDistribution(std::vector<double> mean, double sigma, std::size_t population,
                                 std::vector<double> covariance)
    : population_(population),
      mean_(std::move(mean)),
      sigma_(sigma),
      covariance_(std::move(covariance)),
      sigma_path_(mean_.size(), 0),
      covariance_path_(mean_.size(), 0) {
  ensure(population_ >= 2, "a generation has at least 2 points");
  if (covariance_.empty()) {
    covariance_.resize(mean_.size() * mean_.size(), 0);
    matrix_in(covariance_, signed_size(mean_)).setIdentity();
  }
  decompose();
}

void CmaDistribution::decompose() {
  const Index n = signed_size(mean_);
  const Eigen::SelfAdjointEigenSolver<MatrixXd> solver(matrix_in(covariance_, n));
  basis_.resize(mean_.size() * mean_.size());
  scales_.resize(mean_.size());
  matrix_in(basis_, n) = solver.eigenvectors();
  const double largest = std::max(solver.eigenvalues().maxCoeff(), 1e-300);
  vector_in(scales_) = solver.eigenvalues().cwiseMax(1e-20 * largest).cwiseSqrt();
}

std::vector<double> CmaDistribution::draw(Random& random) const {
  const Index n = signed_size(mean_);
  VectorXd z(n);
  for (Index i = 0; i < n; ++i) z[i] = random.normal(0, 1);
  std::vector<double> point(mean_);  // (38) to (40)
  vector_in(point) += sigma_ * (matrix_in(basis_, n) * z.cwiseProduct(vector_in(scales_)));
  return point;
}

void CmaDistribution::update(const std::vector<Member>& ranked) {
  ensure(ranked.size() == population_, "a distribution learns from a whole generation");
  const Index n = signed_size(mean_);
  const auto dimensions = static_cast<double>(n);
  const Rates rates(dimensions, population_);
  const auto basis = matrix_in(basis_, n);
  const auto scales = vector_in(scales_);
  auto covariance = matrix_in(covariance_, n);
  auto mean = vector_in(mean_), sigma_path = vector_in(sigma_path_);
  auto covariance_path = vector_in(covariance_path_);

  MatrixXd steps(n, static_cast<Index>(population_));
  std::vector<double> lengths;  // as this distribution sees them
  const double most_length = std::sqrt(dimensions) + 2 * dimensions / (dimensions + 2);
  for (std::size_t i = 0; i < population_; ++i) {
    auto step = steps.col(static_cast<Index>(i));
    step = (vector_in(ranked[i].point) - mean) / sigma_;
    double length = (basis.transpose() * step).cwiseQuotient(scales).norm();
    // A point that it did not draw may be far away: one such step must not dominate the covariance.
    if (!ranked[i].is_own && length > most_length) {
      step *= most_length / length;
      length = most_length;
    }
    lengths.push_back(length);
  }

  VectorXd move = VectorXd::Zero(n);  // (41)
  for (std::size_t i = 0; i < population_; ++i) {
    if (rates.weights[i] > 0) move += rates.weights[i] * steps.col(static_cast<Index>(i));
  }
  mean += sigma_ * move;  // (42)

  // Step-size control, (43) and (44).
  const double keep = 1 - rates.sigma_path;
  const VectorXd whitened = basis * (basis.transpose() * move).cwiseQuotient(scales);
  sigma_path = keep * sigma_path +
               std::sqrt(rates.sigma_path * (2 - rates.sigma_path) * rates.effective) * whitened;
  const double length = sigma_path.norm();
  const double growth =
      rates.sigma_path / rates.sigma_damping * (length / rates.expected_length - 1);
  sigma_ = std::min(sigma_ * std::exp(std::min(growth, most_growth)), most_sigma);

  // Covariance, (45) to (47). A path that is suddenly long says more of the step size.
  ++updates_;
  const double settled = std::sqrt(1 - std::pow(keep, 2 * static_cast<double>(updates_)));
  const bool is_steady = length / settled < (1.4 + 2 / (dimensions + 1)) * rates.expected_length;
  const double rate = rates.covariance_path;
  covariance_path *= 1 - rate;
  if (is_steady) covariance_path += std::sqrt(rate * (2 - rate) * rates.effective) * move;
  const double missing = is_steady ? 0 : rate * (2 - rate);
  double sum = 0;
  for (const double weight : rates.weights) sum += weight;
  covariance *= 1 + rates.rank_one * missing - rates.rank_one - rates.rank_mu * sum;
  covariance += rates.rank_one * (covariance_path * covariance_path.transpose());
  for (std::size_t i = 0; i < population_; ++i) {
    const auto step = steps.col(static_cast<Index>(i));
    double weight = rates.weights[i];
    if (weight < 0) weight *= dimensions / (lengths[i] * lengths[i] + 1e-8);
    covariance += rates.rank_mu * weight * (step * step.transpose());
  }
  // Rounding makes it slightly asymmetric, and the eigendecomposition wants it symmetric.
  const MatrixXd transposed = covariance.transpose();
  covariance = (covariance + transposed) / 2;
  decompose();
}

double CmaDistribution::deviation(std::size_t i) const {
  return sigma_ * std::sqrt(covariance_[i * mean_.size() + i]);
}

bool CmaDistribution::is_spent(double least) const {
  double widest = 0;
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    widest = std::max({widest, deviation(i), sigma_ * std::abs(covariance_path_[i])});
  }
  const auto [narrow, wide] = std::minmax_element(scales_.begin(), scales_.end());
  const double condition = (*wide / *narrow) * (*wide / *narrow);
  return widest < least || condition > most_condition || !(widest < most_sigma);
}

Json CmaDistribution::save() const {
  return {{"population", population_}, {"mean", mean_},
          {"sigma", sigma_},           {"covariance", covariance_},
          {"sigma_path", sigma_path_}, {"covariance_path", covariance_path_},
          {"updates", updates_}};
}

CmaDistribution CmaDistribution::load(const Json& state) {
  const auto mean = state.at("mean").get<std::vector<double>>();
  auto covariance = state.at("covariance").get<std::vector<double>>();
  auto sigma_path = state.at("sigma_path").get<std::vector<double>>();
  auto covariance_path = state.at("covariance_path").get<std::vector<double>>();
  const auto population = load_whole<std::size_t>(state.at("population"));
  const std::size_t n = mean.size();
  if (covariance.size() != n * n || sigma_path.size() != n || covariance_path.size() != n ||
      population < 2) {
    throw std::invalid_argument("a distribution of other dimensions");
  }
  CmaDistribution distribution(mean, state.at("sigma").get<double>(), population,
                               std::move(covariance));
  distribution.sigma_path_ = std::move(sigma_path);
  distribution.covariance_path_ = std::move(covariance_path);
  distribution.updates_ = load_whole<std::size_t>(state.at("updates"));
  return distribution;
}

}  // namespace tune
