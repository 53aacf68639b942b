// What freeze_thaw expects of learning curves, and whom it has train next: a Gaussian process over
// configs and epochs (Swersky, Snoek and Adams, "Freeze-Thaw Bayesian Optimization", 2014), and the
// probability of improvement with a horizon and a threshold drawn at random (Rakotoarison et al.,
// "In-Context Freeze-Thaw Bayesian Optimization for Hyperparameter Optimization", 2024).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tuner/math/gaussian_process.h"
#include "tuner/math/random.h"

namespace tune {

/// A trial's results at decision epochs, in their order.
struct LearningCurve {
  std::vector<double> point;   ///< its config, by dimension of GpDimensions
  std::vector<double> epochs;  ///< as shares of the longest training, above 0
  /// Larger is better. NaN: it has failed there. Minus infinity: as bad as any can be.
  std::vector<double> scores;
};

/// Of the kernel, then the noise; empty: none yet.
using CurveHyperparameters = std::vector<double>;

/// Scores with mean 0 and deviation 1, those far below the middle raised to twice the best's
/// distance from there: half of all configs may never learn, and would make all others alike.
/// Failures are left out. A score in their place would be a jump that no curve makes: it would be
/// taken for noise, and the model would be sure of nothing any more.
class CurveModel {
 public:
  /// `categorical`: by dimension. At least one curve has a score. Models `most` of the results: of
  /// each curve the first and the last two, and of more than these not the worst of the curves that
  /// have but one.
  CurveModel(const std::vector<bool>& categorical, const std::vector<LearningCurve>& curves,
             std::size_t most = 230);

  /// The likeliest hyperparameters under the priors, near `start`; at most 150 results are looked
  /// at, of the longest curves and of others drawn by `random`. O(most^3) for each of 30 steps.
  CurveHyperparameters fit(const CurveHyperparameters& start, Random random) const;

  /// Whatever follows needs this.
  void set(const CurveHyperparameters& hyperparameters);

  /// The best score so far, at whatever epoch; in deviations, as are all others here.
  double best() const { return best_; }

  /// Takes curve number `curve` (any beyond the known ones: a config at `point` that has not
  /// reported yet) to come to what is expected at `epoch`.
  void believe(std::size_t curve, const std::vector<double>& point, double epoch);

  /// Where a score is asked for; `curve`: nothing for a config that nobody has tried.
  struct Place {
    std::optional<std::size_t> curve;
    const std::vector<double>* point = nullptr;
    double epoch = 1;
  };
  std::vector<Prediction> predict(const std::vector<Place>& places) const;

 private:
  /// A result that is modelled.
  struct Row {
    std::size_t curve = 0;
    double epoch = 1;
    double score = 0;
  };
  std::vector<double> row_of(double curve, const std::vector<double>& point, double epoch) const;
  GaussianProcess process_of(const std::vector<Row>& rows) const;

  std::vector<bool> categorical_;
  std::vector<LearningCurve> curves_;
  std::vector<Row> rows_;
  double best_ = 0;
  std::optional<GaussianProcess> process_;
};

/// What is to be exceeded, and how far ahead that is looked for. One draw for all candidates of a
/// decision, so that they are compared by the same.
struct RandomHorizon {
  double epochs = 1;  ///< ahead, as a share of the longest training
  double threshold = 0;
};
/// `most`: at most so far ahead; `best` as CurveModel has it. The horizon is uniform; the threshold
/// is above the best by 10^-4 to 10^-1, log-uniform, of the best's own height, at least half a
/// deviation.
RandomHorizon draw_horizon(double most, double best, Random& random);

/// In deviations of the prediction: the larger, the likelier it is exceeded.
double margin(const Prediction& prediction, double threshold);

}  // namespace tune
