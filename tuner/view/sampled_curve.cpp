#include "tuner/view/sampled_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tune {

std::vector<CurveBucket> sample_curve(const std::vector<CurvePoint>& points, std::size_t most) {
  std::vector<CurveBucket> buckets;
  const std::size_t count = std::min(points.size(), most);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * points.size() / count;
    const std::size_t end = (i + 1) * points.size() / count;
    CurveBucket bucket{points[end - 1].iteration, points[end - 1].value,
                       std::numeric_limits<double>::quiet_NaN(),
                       std::numeric_limits<double>::quiet_NaN()};
    for (std::size_t at = begin; at < end; ++at) {
      const ExactNumber& value = points[at].value;
      if (!std::isfinite(value.value())) continue;
      // Nothing is less than NaN, which both begin with.
      if (std::isnan(bucket.min.value()) || value < bucket.min) bucket.min = value;
      if (std::isnan(bucket.max.value()) || bucket.max < value) bucket.max = value;
    }
    buckets.push_back(bucket);
  }
  return buckets;
}

}  // namespace tune
