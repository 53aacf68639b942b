// Non-dominated sorting, exact hypervolume (by exclusive volumes, as WFG), greedy selection by
// hypervolume, and NSGA-II's crowding distance.
#include "tuner/math/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

#include "tuner/base/error.h"

namespace tune {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double box(const Scores& point, const Scores& reference) {
  double volume = 1;
  for (std::size_t j = 0; j < point.size(); ++j) volume *= point[j] - reference[j];
  return volume;
}

bool covers(const Scores& a, const Scores& b) {
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (!(a[j] >= b[j])) return false;
  }
  return true;
}

/// Places in `points` by falling scores: none dominates what comes before it.
std::vector<std::size_t> best_first(const std::vector<Scores>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return points[a] > points[b]; });
  return order;
}

/// Of `points`, one of each that no other covers, best first score first.
std::vector<Scores> front_of(std::vector<Scores> points) {
  std::sort(points.begin(), points.end(), std::greater<>());
  std::vector<Scores> front;
  for (Scores& point : points) {
    const bool is_covered = std::any_of(front.begin(), front.end(),
                                        [&](const Scores& other) { return covers(other, point); });
    if (!is_covered) front.push_back(std::move(point));
  }
  return front;
}

/// Of a front as front_of makes it.
double volume_of(const std::vector<Scores>& front, const Scores& reference) {
  double volume = 0;
  if (reference.size() == 2) {
    double height = reference[1];  // what the points before have covered
    for (const Scores& point : front) {
      volume += (point[0] - reference[0]) * (point[1] - height);
      height = point[1];
    }
    return volume;
  }
  for (std::size_t i = 0; i < front.size(); ++i) {
    std::vector<Scores> common;  // what those behind cover of this one's box
    for (std::size_t k = i + 1; k < front.size(); ++k) {
      Scores corner = front[k];
      for (std::size_t j = 0; j < corner.size(); ++j) corner[j] = std::min(corner[j], front[i][j]);
      common.push_back(std::move(corner));
    }
    volume += box(front[i], reference) - volume_of(front_of(std::move(common)), reference);
  }
  return volume;
}

/// Of what no point dominates, all with a second score above `floor`, while points with a third of
/// `top` or more are all that was looked at.
struct Strip {
  double left, right, floor, top;
};

/// Of three objectives. Goes down the third one and keeps strips, from high first scores to low
/// ones, of what is not dominated there; those that the next point cuts end at its height.
std::vector<Box> boxes_by_strips(std::vector<Scores> points, const Scores& reference) {
  std::sort(points.begin(), points.end(), [](const Scores& a, const Scores& b) {
    return std::tie(a[2], a[0], a[1]) > std::tie(b[2], b[0], b[1]);
  });
  std::vector<Box> boxes;
  std::vector<Strip> open = {{reference[0], infinity, reference[1], infinity}};
  for (const Scores& point : points) {
    const auto first =
        std::find_if(open.begin(), open.end(), [&](const Strip& s) { return s.left < point[0]; });
    const auto last =
        std::find_if(first, open.end(), [&](const Strip& s) { return s.floor >= point[1]; });
    if (first == last) continue;  // another point covers it
    const Strip before{point[0], first->right, first->floor, point[2]};
    const Strip own{std::prev(last)->left, point[0], point[1], point[2]};
    for (auto strip = first; strip != last; ++strip) {
      if (strip->top == point[2]) continue;
      boxes.push_back(
          {{strip->left, strip->floor, point[2]}, {strip->right, infinity, strip->top}});
    }
    const auto place = open.erase(first, last);
    const auto after = open.insert(place, own);
    if (before.right > before.left) open.insert(after, before);
  }
  for (const Strip& strip : open) {
    boxes.push_back({{strip.left, strip.floor, reference[2]}, {strip.right, infinity, strip.top}});
  }
  return boxes;
}

/// domination_ranks of the points without a violation, and behind these the others by theirs.
std::vector<std::size_t> constrained_ranks(const std::vector<Scores>& points,
                                           const std::vector<double>& violations,
                                           std::size_t enough) {
  if (violations.empty()) return domination_ranks(points, enough);
  std::vector<std::size_t> places;
  std::vector<Scores> feasible;
  std::set<double> levels;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (violations[i] > 0) {
      levels.insert(violations[i]);
    } else {
      places.push_back(i);
      feasible.push_back(points[i]);
    }
  }
  std::vector<std::size_t> ranks(points.size());
  std::size_t after = 0;  // the fronts of those without one
  const std::vector<std::size_t> ranks_before = domination_ranks(feasible, enough);
  for (std::size_t k = 0; k < places.size(); ++k) {
    ranks[places[k]] = ranks_before[k];
    after = std::max(after, ranks_before[k] + 1);
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(violations[i] > 0)) continue;
    const auto level = std::distance(levels.begin(), levels.find(violations[i]));
    ranks[i] = after + static_cast<std::size_t>(level);
  }
  return ranks;
}

}  // namespace

bool dominates(const Scores& a, const Scores& b) { return covers(a, b) && a != b; }

std::vector<std::size_t> domination_ranks(const std::vector<Scores>& points, std::size_t enough) {
  std::vector<std::size_t> order = best_first(points);
  std::vector<std::size_t> ranks(points.size());
  std::size_t done = 0;
  for (std::size_t rank = 0; !order.empty(); ++rank) {
    std::vector<std::size_t> front, rest;
    for (const std::size_t i : order) {
      // From the back: with two objectives the last one of the front decides.
      const bool is_dominated = std::any_of(front.rbegin(), front.rend(), [&](std::size_t other) {
        return dominates(points[other], points[i]);
      });
      (is_dominated ? rest : front).push_back(i);
      ranks[i] = rank;
    }
    done += front.size();
    if (done >= enough) {
      for (const std::size_t i : rest) ranks[i] = rank + 1;
      break;
    }
    order = std::move(rest);
  }
  return ranks;
}

double hypervolume(std::vector<Scores> points, const Scores& reference) {
  return volume_of(front_of(std::move(points)), reference);
}

std::vector<Box> undominated_boxes(std::vector<Scores> points, const Scores& reference) {
  const std::size_t objectives = reference.size();
  ensure(objectives >= 1 && objectives <= 3, "boxes are made of one to three objectives");
  std::erase_if(points, [&](const Scores& point) {
    return !std::equal(point.begin(), point.end(), reference.begin(), std::greater<>());
  });
  if (objectives == 1) {
    double best = reference[0];
    for (const Scores& point : points) best = std::max(best, point[0]);
    return {{{best}, {infinity}}};
  }
  // A third one that is lacking is the same for all points, which are all at the top then.
  Scores bottom = reference;
  bottom.resize(3, -infinity);
  for (Scores& point : points) point.resize(3, infinity);
  std::vector<Box> boxes = boxes_by_strips(std::move(points), bottom);
  for (Box& box : boxes) {
    box.lower.resize(objectives);
    box.upper.resize(objectives);
  }
  return boxes;
}

std::vector<std::size_t> select_by_hypervolume(const std::vector<Scores>& points, std::size_t n,
                                               const Scores& reference) {
  std::vector<std::size_t> order = best_first(points);
  std::vector<std::size_t> open, copies, chosen;
  for (const std::size_t i : order) {
    const bool is_copy = !open.empty() && points[open.back()] == points[i];
    (is_copy ? copies : open).push_back(i);
  }
  std::sort(copies.begin(), copies.end());

  // What a point adds only shrinks as more are chosen, so an old value is an upper bound.
  std::vector<double> gain;
  for (const std::size_t i : open) gain.push_back(box(points[i], reference));
  std::vector<Scores> taken;
  double volume = 0;
  while (chosen.size() < n && !open.empty()) {
    // With infinite scores there is nothing to compare: they come in the order of `open`.
    std::vector<bool> is_exact(open.size(), taken.empty());
    std::size_t best = 0;
    while (std::isfinite(volume)) {
      best = static_cast<std::size_t>(std::max_element(gain.begin(), gain.end()) - gain.begin());
      if (is_exact[best] || !(gain[best] < infinity)) break;
      std::vector<Scores> with = taken;
      with.push_back(points[open[best]]);
      gain[best] = hypervolume(std::move(with), reference) - volume;
      is_exact[best] = true;
    }
    chosen.push_back(open[best]);
    taken.push_back(points[open[best]]);
    volume = hypervolume(taken, reference);
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(best));
    gain.erase(gain.begin() + static_cast<std::ptrdiff_t>(best));
  }
  for (std::size_t i = 0; i < copies.size() && chosen.size() < n; ++i) chosen.push_back(copies[i]);
  return chosen;
}

std::vector<double> crowding_distances(const std::vector<Scores>& front) {
  std::vector<double> distances(front.size(), 0);
  std::vector<std::size_t> order(front.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t j = 0; !front.empty() && j < front[0].size(); ++j) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return front[a][j] < front[b][j]; });
    const double range = front[order.back()][j] - front[order.front()][j];
    if (range == 0) continue;  // all are alike
    distances[order.front()] = distances[order.back()] = infinity;
    for (std::size_t i = 1; i + 1 < order.size(); ++i) {
      distances[order[i]] += (front[order[i + 1]][j] - front[order[i - 1]][j]) / range;
    }
  }
  return distances;
}

std::vector<std::size_t> best_by_crowding(const std::vector<Scores>& points, std::size_t n,
                                          const std::vector<double>& violations) {
  const std::vector<std::size_t> ranks = constrained_ranks(points, violations, n);
  std::vector<std::size_t> best;
  for (std::size_t rank = 0; best.size() < std::min(n, points.size()); ++rank) {
    std::vector<std::size_t> places;
    std::vector<Scores> front;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (ranks[i] != rank) continue;
      places.push_back(i);
      front.push_back(points[i]);
    }
    const std::vector<double> room = crowding_distances(front);
    std::vector<std::size_t> order(front.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return room[a] > room[b]; });
    for (const std::size_t i : order) best.push_back(places[i]);
  }
  best.resize(std::min(n, points.size()));
  return best;
}

}  // namespace tune
