// The best value of an experiment over time: each event at which it improved.
#pragma once

#include <cstdint>
#include <vector>

#include "tuner/model/objective.h"
#include "tuner/result_grid.h"

namespace tune {

/// A result that was better than all before, or as good and of a trial with a lower number.
struct Improvement {
  std::uint64_t event = 0;
  Seconds time = 0;           ///< Unix time
  Seconds running_s = 0;      ///< of the experiment until then, without what was between sessions
  std::size_t trials = 0;     ///< how many had started by then
  std::uint64_t results = 0;  ///< how many were accepted by then
  TrialId trial{};
  std::int64_t iteration = 0;
  bool is_guess = false;  ///< it may be a later one, see Result
  ExactNumber value;
};

/// In the order in which they came; the last one is what `tune best` shows. Of results that count:
/// what a restore has taken back, or a trial had reported before it became a copy of another one,
/// is in none, nor are trials that do not fulfil the constraints. Reads the history and the
/// journal. Error (user) if events are not there any more.
std::vector<Improvement> improvements_of(const ResultGrid& grid, const Objective& objective);

}  // namespace tune
