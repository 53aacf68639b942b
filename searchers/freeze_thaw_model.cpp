// Chooses the results that are modelled, finds the likeliest hyperparameters, predicts.
#include "searchers/freeze_thaw_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tune {

namespace {

/// From the middle, in distances from there to the best.
constexpr double curve_cut_off_at = 2;
constexpr std::size_t most_curve_results = 150;
constexpr int curve_fit_evaluations = 30;

/// Of the logarithm of a hyperparameter: normal.
struct Prior {
  double mean = 0;
  double deviation = 1;
};

/// By hyperparameter: inverse squared lengths, what like configs share, what a curve has of its
/// own, the length in the logarithm of time, noise.
std::vector<Prior> priors_of(std::size_t dimensions) {
  std::vector<Prior> priors(dimensions, {-2 * std::log(0.7), 2});
  priors.push_back({0, 1});
  priors.push_back({std::log(0.1), 1.5});
  priors.push_back({std::log(1.5), 1});
  priors.push_back({std::log(1e-3), 1.5});
  return priors;
}

double log_curve_prior(const std::vector<Prior>& priors, const std::vector<double>& values,
                       std::vector<double>& gradient) {
  double density = 0;
  for (std::size_t j = 0; j < priors.size(); ++j) {
    const double away = (std::log(values[j]) - priors[j].mean) / priors[j].deviation;
    density -= away * away / 2;
    gradient[j] -= away / priors[j].deviation;
  }
  return density;
}

/// The least score that is not only bad.
double cut_off_of(const std::vector<LearningCurve>& curves) {
  std::vector<double> sorted;
  for (const LearningCurve& curve : curves) {
    for (const double score : curve.scores) {
      if (std::isfinite(score)) sorted.push_back(score);
    }
  }
  std::sort(sorted.begin(), sorted.end());
  const double middle = sorted[sorted.size() / 2];
  return middle - curve_cut_off_at * (sorted.back() - middle);
}

}  // namespace

CurveModel::CurveModel(const std::vector<bool>& categorical,
                       const std::vector<LearningCurve>& curves, std::size_t most)
    : categorical_(categorical), curves_(curves) {
  const double least = cut_off_of(curves);
  std::vector<double> scores;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const std::size_t n = curves[i].epochs.size();
    for (std::size_t k = 0; k < n; ++k) {
      const double score = curves[i].scores[k];
      if ((k > 0 && k + 2 < n) || std::isnan(score)) continue;
      rows_.push_back({i, curves[i].epochs[k], 0});
      scores.push_back(std::isfinite(score) ? std::max(score, least) : least);
    }
  }
  scores = standardize(std::move(scores)).values;
  for (std::size_t i = 0; i < rows_.size(); ++i) rows_[i].score = scores[i];
  best_ = *std::max_element(scores.begin(), scores.end());
  if (rows_.size() <= most) return;
  // Every second one of the worst that were left early: the others tell the same of where they are.
  std::vector<std::size_t> left_early;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (curves[rows_[i].curve].epochs.size() == 1) left_early.push_back(i);
  }
  std::stable_sort(left_early.begin(), left_early.end(),
                   [&](std::size_t a, std::size_t b) { return rows_[a].score < rows_[b].score; });
  const std::size_t surplus = rows_.size() - most;
  std::vector<bool> is_dropped(rows_.size(), false);
  std::size_t dropped = 0;
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    for (std::size_t i = first; i < left_early.size() && dropped < surplus; i += 2, ++dropped) {
      is_dropped[left_early[i]] = true;
    }
  }
  // Of trials beyond all that, the oldest go.
  for (std::size_t i = 0; i < rows_.size() && dropped < surplus; ++i) {
    if (is_dropped[i]) continue;
    is_dropped[i] = true;
    ++dropped;
  }
  std::vector<Row> kept;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!is_dropped[i]) kept.push_back(rows_[i]);
  }
  rows_ = std::move(kept);
}

std::vector<double> CurveModel::row_of(double curve, const std::vector<double>& point,
                                       double epoch) const {
  std::vector<double> row = point;
  row.push_back(std::log(epoch));
  row.push_back(curve);
  return row;
}

GaussianProcess CurveModel::process_of(const std::vector<Row>& rows) const {
  std::vector<double> points, targets;
  for (const Row& row : rows) {
    const auto point = row_of(static_cast<double>(row.curve), curves_[row.curve].point, row.epoch);
    points.insert(points.end(), point.begin(), point.end());
    targets.push_back(row.score);
  }
  return {make_curve_kernel(categorical_), categorical_.size() + 2, points, targets};
}

CurveHyperparameters CurveModel::fit(const CurveHyperparameters& start, Random random) const {
  const std::vector<Prior> priors = priors_of(categorical_.size());
  std::vector<Row> rows = rows_;
  if (rows.size() > most_curve_results) {
    // Whole curves: what the epochs tell of each other is half of what is looked for.
    std::vector<std::size_t> order(curves_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return curves_[a].epochs.size() > curves_[b].epochs.size();
    });
    for (std::size_t i = order.size() / 4; i + 1 < order.size(); ++i) {
      std::swap(order[i], order[i + random.below(order.size() - i)]);
    }
    std::vector<std::size_t> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const Row& a, const Row& b) { return place[a.curve] < place[b.curve]; });
    rows.resize(most_curve_results);
  }
  GaussianProcess process = process_of(rows);
  GaussianProcess::FitOptions options;
  std::vector<double> first;
  for (const Prior& prior : priors) {
    options.lower.push_back(std::exp(prior.mean - 5 * prior.deviation));
    options.upper.push_back(std::exp(prior.mean + 5 * prior.deviation));
    first.push_back(std::exp(prior.mean));
  }
  options.log_prior = [&](const std::vector<double>& values, std::vector<double>& gradient) {
    return log_curve_prior(priors, values, gradient);
  };
  options.max_evaluations = curve_fit_evaluations;
  return process.fit(start.size() == priors.size() ? start : first, options);
}

void CurveModel::set(const CurveHyperparameters& hyperparameters) {
  process_ = process_of(rows_);
  process_->set(hyperparameters);
}

void CurveModel::believe(std::size_t curve, const std::vector<double>& point, double epoch) {
  process_->believe(row_of(static_cast<double>(curve), point, epoch));
}

std::vector<Prediction> CurveModel::predict(const std::vector<Place>& places) const {
  constexpr double nobody = -1;
  std::vector<double> points;
  for (const Place& place : places) {
    const double curve = place.curve ? static_cast<double>(*place.curve) : nobody;
    const auto point = row_of(curve, *place.point, place.epoch);
    points.insert(points.end(), point.begin(), point.end());
  }
  return process_->predict_all(points);
}

RandomHorizon draw_horizon(double most, double best, Random& random) {
  constexpr double least_height = 0.5;
  const double ahead = most * random.uniform();
  const double share = std::pow(10, random.uniform(-4, -1));
  return {ahead, best + share * std::max(best, least_height)};
}

double margin(const Prediction& prediction, double threshold) {
  constexpr double least_deviation = 1e-6;
  return (prediction.mean - threshold) / std::max(std::sqrt(prediction.variance), least_deviation);
}

}  // namespace tune
