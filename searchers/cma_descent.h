// One run of CMA-ES, from its start until it has converged: draws points, and learns from them a
// generation at a time. Points are shares of the axes' ranges, from 0 to 1.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "searchers/cma_distribution.h"
#include "searchers/cma_margin.h"
#include "searchers/cma_restarts.h"
#include "searchers/coordinates.h"
#include "tuner/policy/searcher.h"

namespace tune {

/// How a trial came out, for comparing it with others.
struct CmaOutcome {
  Ended how = Ended::failed;  ///< one without a finite number has failed, too; never `lost`
  std::int64_t iteration = 0;
  double score = 0;
  double violation = 0;  ///< of the experiment's constraints

  CmaOutcome() = default;
  CmaOutcome(const Observation& last, Ended end);
  /// Complete ones by score; then stopped ones, those that came farthest first; then those that
  /// violate constraints, by how much; then failed ones.
  bool is_better_than(const CmaOutcome& other) const;
};

struct CmaDrawn {
  std::vector<double> point;  ///< what the distribution is told
  std::vector<double> tried;  ///< what is to be tried: within the bounds, but not yet on a step
};

struct CmaResult {
  TrialId id{};
  std::vector<double> point;
  bool is_own = true;  ///< drawn from the distribution as it was when the generation began
  CmaOutcome outcome;
};

Json save_result(const CmaResult& result);
CmaResult load_result(const Json& state);

class CmaDescent {
 public:
  /// `axes` are numbers with more than one value, and outlive it. `covariance` as in
  /// CmaDistribution.
  CmaDescent(const std::vector<Axis>& axes, CmaRun run, std::vector<double> mean,
             std::vector<double> covariance = {});

  CmaDrawn draw(Random& random) const;
  std::uint64_t generation() const { return generation_; }

  /// A result with a point of its own, or one from elsewhere. A generation ends with as many as its
  /// population, and is not learnt from if all have failed.
  void tell(CmaResult result);
  /// As a point of its own, for one that was tried and is from elsewhere.
  std::vector<double> point_of(const std::vector<double>& tried) const;
  /// The result of a trial in the current generation; nullptr if it is not there.
  CmaResult* find(TrialId id);

  bool has_converged() const { return has_converged_; }
  std::size_t evaluations() const { return evaluations_; }
  const CmaDistribution& distribution() const { return distribution_; }

  Json save() const;
  /// Throws what load_state (tuner/policy/policy_state.h) takes for a state that is not its own.
  void load(const Json& state);

 private:
  bool is_inside(const std::vector<double>& point) const;
  void learn();
  void keep_margin(std::size_t j);
  bool is_flat() const;

  const std::vector<Axis>* axes_;
  CmaDistribution distribution_;
  std::vector<double> reach_;  ///< by axis, MarginedAxis::scale
  std::vector<CmaResult> results_;
  std::uint64_t generation_ = 0;
  std::size_t evaluations_ = 0;
  std::deque<double> best_scores_;  ///< of the last generations
  bool has_converged_ = false;
};

}  // namespace tune
