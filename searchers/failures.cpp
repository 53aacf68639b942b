// Counts failures among the nearest neighbours.
#include "searchers/failures.h"

#include <algorithm>
#include <utility>

namespace tune {

double share_of_failures_near(const std::vector<double>& point, const std::vector<Axis>& axes,
                              const std::vector<TrialOutcome>& outcomes) {
  constexpr std::size_t most_neighbours = 5;  // fewer would go by what fails at random
  if (outcomes.empty()) return 0;
  std::vector<std::pair<double, bool>> nearest;
  for (const auto& [other, has_failed] : outcomes) {
    nearest.emplace_back(distance_between(axes, point, *other), has_failed);
  }
  const std::size_t count = std::min(nearest.size(), most_neighbours);
  const auto last = nearest.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(nearest.begin(), last, nearest.end());
  const auto failed =
      std::count_if(nearest.begin(), last, [](const auto& one) { return one.second; });
  return static_cast<double>(failed) / static_cast<double>(count);
}

}  // namespace tune
