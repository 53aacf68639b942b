// Adds up logarithms and their slopes, which come from the models' predictions.
#include "searchers/acquisition.h"

namespace tune {

double Acquisition::at(const std::vector<double>& point) const {
  double sum = 0;
  if (improvement_) {
    std::vector<Prediction> there;
    for (const GaussianProcess* const model : scores_) there.push_back(model->predict(point));
    sum = improvement_->log_expected(there);
  }
  for (const auto& [model, least] : required_) sum += log_chance(model.predict(point), least).value;
  return sum + added_at(point);
}

double Acquisition::at(const std::vector<double>& point, std::vector<double>& gradient) const {
  gradient.assign(point.size(), 0);
  const auto add = [&](const LogTerm& term, const Prediction& there,
                       const GaussianProcess::Slopes& slopes) {
    const double by_variance = term.by_deviation / (2 * deviation_of(there));
    for (std::size_t j = 0; j < point.size(); ++j) {
      gradient[j] += term.by_mean * slopes.mean[j] + by_variance * slopes.variance[j];
    }
  };
  double sum = 0;
  if (improvement_) {
    std::vector<Prediction> there;
    std::vector<GaussianProcess::Slopes> slopes(scores_.size());
    for (std::size_t k = 0; k < scores_.size(); ++k) {
      there.push_back(scores_[k]->predict(point, slopes[k]));
    }
    std::vector<LogTerm> terms;
    sum = improvement_->log_expected(there, terms);
    for (std::size_t k = 0; k < scores_.size(); ++k) add(terms[k], there[k], slopes[k]);
  }
  for (const auto& [model, least] : required_) {
    GaussianProcess::Slopes slopes;
    const Prediction there = model.predict(point, slopes);
    const LogTerm term = log_chance(there, least);
    add(term, there, slopes);
    sum += term.value;
  }
  if (added_) sum += added_(point, &gradient);
  return sum;
}

std::vector<double> Acquisition::at_all(const std::vector<double>& points) const {
  std::vector<std::vector<Prediction>> scores;
  for (const GaussianProcess* const model : scores_) scores.push_back(model->predict_all(points));
  std::vector<double> all(scores.front().size(), 0);
  std::vector<Prediction> there(scores.size());
  for (std::size_t i = 0; improvement_ && i < all.size(); ++i) {
    for (std::size_t k = 0; k < scores.size(); ++k) there[k] = scores[k][i];
    all[i] = improvement_->log_expected(there);
  }
  for (const auto& [model, least] : required_) {
    const auto required = model.predict_all(points);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += log_chance(required[i], least).value;
  }
  const std::size_t width = all.empty() ? 0 : points.size() / all.size();
  for (std::size_t i = 0; added_ && i < all.size(); ++i) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(i * width);
    all[i] += added_({first, first + static_cast<std::ptrdiff_t>(width)}, nullptr);
  }
  return all;
}

}  // namespace tune
