// A long curve as a picture needs it: few points that hide no spike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tuner/base/exact_number.h"

namespace tune {

/// What a metric was in neighbouring results.
struct CurveBucket {
  std::int64_t iteration = 0;    ///< of the last of them
  ExactNumber last = 0;          ///< value of that
  ExactNumber min = 0, max = 0;  ///< of the finite ones among them; NaN if there is none
};

struct CurvePoint {
  std::int64_t iteration = 0;
  ExactNumber value = 0;
};

/// At most `most` buckets of as many points each, in the order of `points`. With as few points as
/// that, each has its own.
std::vector<CurveBucket> sample_curve(const std::vector<CurvePoint>& points, std::size_t most);

}  // namespace tune
