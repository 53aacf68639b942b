// How a search goes on when a run of CMA-ES has converged.
#pragma once

#include <cstddef>

#include "searchers/cma_es.h"
#include "tuner/math/random.h"

namespace tune {

struct CmaRun {
  std::size_t population;
  double sigma;  ///< at its start, as a share of each range
};

class CmaRunList {
 public:
  explicit CmaRunList(const CmaOptions& options);

  CmaRun current() const { return current_; }
  /// After a run of so many evaluations. Not for CmaRestarts::none.
  CmaRun next(std::size_t evaluations, Random& random);

  Json save() const;
  void load(const Json& state);

 private:
  const CmaRestarts strategy_;
  const CmaRun first_;
  CmaRun current_;
  std::size_t doublings_ = 0;
  bool is_small_ = true;  ///< of bipop; the first run counts as a small one
  std::size_t evaluations_small_ = 0, evaluations_large_ = 0;
};

}  // namespace tune
