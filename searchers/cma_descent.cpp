// One run of CMA-ES: draws within bounds, collects a generation, ranks it, updates the
// distribution, and tests for convergence.
#include "searchers/cma_descent.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tuner/model/constraint.h"
#include "tuner/policy/policy_state.h"

namespace tune {

namespace {

constexpr int most_draws = 100;
/// A run ends when no hyperparameter varies by more than this share of its range.
constexpr double spent_deviation = 1e-10;
/// Scores that differ by less than this share of themselves are the same.
constexpr double least_difference = 1e-12;

double coordinate_at(const Axis& axis, double share) {
  return axis.low + share * (axis.high - axis.low);
}
double share_at(const Axis& axis, double value) {
  return (axis.coordinate_of(value) - axis.low) / (axis.high - axis.low);
}

int rank_of(const CmaOutcome& outcome) {
  if (outcome.how == Ended::failed) return 3;
  if (outcome.violation > 0) return 2;
  return outcome.how == Ended::stopped ? 1 : 0;
}

Json save_outcome(const CmaOutcome& outcome) {
  Json state = {static_cast<int>(outcome.how), outcome.iteration, encode_number(outcome.score)};
  if (outcome.violation > 0) state.push_back(encode_number(outcome.violation));
  return state;
}

CmaOutcome load_outcome(const Json& state) {
  const int how = state.at(0).get<int>();
  if (how < 0 || how > static_cast<int>(Ended::failed)) throw std::invalid_argument("no end");
  CmaOutcome outcome;
  outcome.how = static_cast<Ended>(how);
  outcome.iteration = load_whole<std::int64_t>(state.at(1));
  outcome.score = load_number(state.at(2));
  if (state.size() > 3) outcome.violation = load_number(state.at(3));
  return outcome;
}

}  // namespace

CmaOutcome::CmaOutcome(const Observation& last, Ended end)
    : how(end),
      iteration(last.iteration),
      score(last.scores.empty() ? NAN : last.scores[0]),
      violation(tune::violation(last.constraints)) {
  if (!std::isfinite(score)) how = Ended::failed;
}

bool CmaOutcome::is_better_than(const CmaOutcome& other) const {
  if (rank_of(*this) != rank_of(other)) return rank_of(*this) < rank_of(other);
  if (how == Ended::failed) return false;
  if (violation > 0) return violation < other.violation;
  if (how == Ended::stopped && iteration != other.iteration) return iteration > other.iteration;
  return score > other.score;
}

Json save_result(const CmaResult& result) {
  return {static_cast<std::uint32_t>(result.id), result.point, result.is_own,
          save_outcome(result.outcome)};
}

CmaResult load_result(const Json& state) {
  return {TrialId(load_whole<std::uint32_t>(state.at(0))), state.at(1).get<std::vector<double>>(),
          state.at(2).get<bool>(), load_outcome(state.at(3))};
}

CmaDescent::CmaDescent(const std::vector<Axis>& axes, CmaRun run, std::vector<double> mean,
                       std::vector<double> covariance)
    : axes_(&axes),
      distribution_(std::move(mean), run.sigma, run.population, std::move(covariance)),
      reach_(axes.size(), 1) {
  for (std::size_t j = 0; j < axes.size(); ++j) keep_margin(j);
}

bool CmaDescent::is_inside(const std::vector<double>& point) const {
  for (std::size_t j = 0; j < axes_->size(); ++j) {
    const bool has_bounds = (*axes_)[j].bounded && (*axes_)[j].step == 0;
    if (has_bounds && (point[j] < 0 || point[j] > 1)) return false;
  }
  return true;
}

CmaDrawn CmaDescent::draw(Random& random) const {
  CmaDrawn drawn;
  // Drawn again outside of the bounds (resampling), and clamped where that does not help.
  for (int draws = 0; draws < most_draws; ++draws) {
    drawn.point = distribution_.draw(random);
    if (is_inside(drawn.point)) break;
  }
  for (std::size_t j = 0; j < axes_->size(); ++j) {
    double& x = drawn.point[j];
    if ((*axes_)[j].bounded && (*axes_)[j].step == 0) x = std::clamp(x, 0.0, 1.0);
    const double mean = distribution_.mean()[j];
    // The distribution learns from `point`; the trial gets the point stretched by the margin.
    drawn.tried.push_back(mean + reach_[j] * (x - mean));
  }
  return drawn;
}

std::vector<double> CmaDescent::point_of(const std::vector<double>& tried) const {
  std::vector<double> point;
  for (std::size_t j = 0; j < axes_->size(); ++j) {
    const double mean = distribution_.mean()[j];
    point.push_back(mean + (tried[j] - mean) / reach_[j]);
  }
  return point;
}

CmaResult* CmaDescent::find(TrialId id) {
  const auto found = std::find_if(results_.begin(), results_.end(),
                                  [&](const CmaResult& result) { return result.id == id; });
  return found == results_.end() ? nullptr : &*found;
}

void CmaDescent::tell(CmaResult result) {
  results_.push_back(std::move(result));
  ++evaluations_;
  if (results_.size() < distribution_.population()) return;
  learn();
  results_.clear();
}

void CmaDescent::learn() {
  std::stable_sort(results_.begin(), results_.end(), [](const CmaResult& a, const CmaResult& b) {
    return a.outcome.is_better_than(b.outcome);
  });
  const CmaOutcome& best = results_.front().outcome;
  // Nothing can be ranked where even the best has failed.
  if (best.how == Ended::failed) return;
  std::vector<CmaDistribution::Member> ranked;
  for (const CmaResult& result : results_) ranked.push_back({result.point, result.is_own});
  distribution_.update(ranked);
  ++generation_;
  for (std::size_t j = 0; j < axes_->size(); ++j) keep_margin(j);

  best_scores_.push_back(best.score);
  const std::size_t remembered = 10 + (30 * axes_->size() - 1) / distribution_.population() + 1;
  if (best_scores_.size() > remembered) best_scores_.pop_front();
  const bool is_still = best_scores_.size() == remembered && is_flat();
  has_converged_ = is_still || distribution_.is_spent(spent_deviation);
}

/// Whether neither the last generation nor the best of those before differ.
bool CmaDescent::is_flat() const {
  const double excess = results_.front().outcome.violation;
  for (const CmaResult& result : results_) {
    if (result.outcome.violation != excess) return false;
  }
  double low = results_.front().outcome.score, high = low;
  const auto take = [&](double score) {
    low = std::min(low, score);
    high = std::max(high, score);
  };
  for (const CmaResult& result : results_) {
    if (result.outcome.how == Ended::complete) take(result.outcome.score);
  }
  for (const double score : best_scores_) take(score);
  return low == high || high - low <= least_difference * std::max(std::abs(low), std::abs(high));
}

void CmaDescent::keep_margin(std::size_t j) {
  const Axis& axis = (*axes_)[j];
  if (axis.step == 0) return;
  const double mean = distribution_.mean()[j];
  const double value = axis.value_at(coordinate_at(axis, mean));
  const bool is_first = axis.bounded && value <= axis.first;
  const bool is_last = axis.bounded && value >= axis.last;
  double below = share_at(axis, value - axis.step / 2);
  double above = share_at(axis, value + axis.step / 2);
  if (is_first) below = above;
  if (is_last) above = below;
  const double dimensions = static_cast<double>(axes_->size());
  const double margin = 1 / (dimensions * static_cast<double>(distribution_.population()));
  const MarginedAxis kept =
      with_margin({mean, reach_[j]}, distribution_.deviation(j), below, above, margin);
  distribution_.set_mean(j, kept.mean);
  reach_[j] = kept.scale;
}

Json CmaDescent::save() const {
  Json results = Json::array(), best_scores = Json::array();
  for (const CmaResult& result : results_) results.push_back(save_result(result));
  for (const double score : best_scores_) best_scores.push_back(encode_number(score));
  return {{"distribution", distribution_.save()}, {"reach", reach_},
          {"results", std::move(results)},        {"generation", generation_},
          {"evaluations", evaluations_},          {"best_scores", std::move(best_scores)},
          {"has_converged", has_converged_}};
}

void CmaDescent::load(const Json& state) {
  const auto check = [&](const std::vector<double>& point) {
    if (point.size() != axes_->size()) throw std::invalid_argument("a point of another space");
  };
  CmaDistribution distribution = CmaDistribution::load(state.at("distribution"));
  check(distribution.mean());
  auto reach = state.at("reach").get<std::vector<double>>();
  check(reach);
  std::vector<CmaResult> results;
  for (const Json& entry : state.at("results")) {
    results.push_back(load_result(entry));
    check(results.back().point);
  }
  if (results.size() >= distribution.population()) throw std::invalid_argument("too many results");
  std::deque<double> best_scores;
  for (const Json& score : state.at("best_scores")) best_scores.push_back(load_number(score));
  const auto generation = load_whole<std::uint64_t>(state.at("generation"));
  const auto evaluations = load_whole<std::size_t>(state.at("evaluations"));
  has_converged_ = state.at("has_converged").get<bool>();
  distribution_ = std::move(distribution);
  reach_ = std::move(reach);
  results_ = std::move(results);
  generation_ = generation;
  evaluations_ = evaluations;
  best_scores_ = std::move(best_scores);
}

}  // namespace tune
