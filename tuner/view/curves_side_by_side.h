// Curves of several trials at the iterations that all of them have.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/base/exact_number.h"
#include "tuner/model/objective.h"

namespace tune {

/// A metric by training iteration.
using MetricCurve = std::map<std::int64_t, ExactNumber>;

struct SharedPoint {
  std::int64_t iteration = 0;
  std::vector<ExactNumber> values;  ///< in the order of the curves
};

/// At each iteration that all curves have.
std::vector<SharedPoint> shared_points(const std::vector<MetricCurve>& curves);

/// Which curve is ahead of all others from some shared iteration on up to the last, and the first
/// such iteration; nothing if none is ahead at the end. What is not finite is ahead of nothing.
std::optional<std::pair<std::size_t, std::int64_t>> ahead_for_good(
    const std::vector<SharedPoint>& points, Mode mode);

/// At most `count` of them, evenly spread, the first and the last among them.
std::vector<SharedPoint> some_of(const std::vector<SharedPoint>& points, std::size_t count);

}  // namespace tune
