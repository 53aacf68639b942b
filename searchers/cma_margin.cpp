// The margin correction for one axis: moves the mean and widens the axis so that neighbouring steps
// keep their least probability.
#include "searchers/cma_margin.h"

#include <algorithm>

#include "searchers/normal.h"

namespace tune {

MarginedAxis with_margin(const MarginedAxis& axis, double deviation, double below, double above,
                         double margin) {
  const double width = deviation * axis.scale;
  if (below == above) {
    const double distance = normal_quantile(1 - margin) * width;
    return {std::clamp(axis.mean, below - distance, above + distance), axis.scale};
  }
  const double less = normal_cdf((below - axis.mean) / width);
  const double more = normal_cdf((axis.mean - above) / width);
  if (std::min(less, more) >= margin / 2) return axis;
  // What they get more goes off both, as far as that is above the least, and off the middle.
  const double middle = 1 - less - more;
  double low = std::max(less, margin / 2), high = std::max(more, margin / 2);
  const double excess = (low + middle + high - 1) / (low + middle + high - 1.5 * margin);
  low -= excess * (low - margin / 2);
  high -= excess * (high - margin / 2);
  const double to_below = -normal_quantile(std::clamp(low, 1e-10, 0.5 - 1e-10));
  const double to_above = -normal_quantile(std::clamp(high, 1e-10, 0.5 - 1e-10));
  const double both = to_below + to_above;
  return {(below * to_above + above * to_below) / both, (above - below) / (both * deviation)};
}

}  // namespace tune
