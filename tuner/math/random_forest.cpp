// Grows regression trees on bootstrap samples, and integrates each tree exactly over boxes for its
// marginals.
#include "tuner/math/random_forest.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "tuner/base/error.h"
#include "tuner/math/random.h"

namespace tune {

namespace {

struct Split {
  std::size_t dimension = 0;
  double threshold = 0;
  double gain = 0;  ///< of squared error
};

/// Grows one tree; rows of a node lie side by side in `rows_`.
class Grower {
 public:
  Grower(const std::vector<std::vector<double>>& points, const std::vector<double>& values,
         std::vector<std::size_t> rows, std::size_t least_rows)
      : points_(points), values_(values), rows_(std::move(rows)), least_rows_(least_rows) {}

  std::size_t rows() const { return rows_.size(); }

  double mean(std::size_t begin, std::size_t end) const {
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += values_[rows_[i]];
    return sum / static_cast<double>(end - begin);
  }

  /// The one that leaves the least squared error; nothing if none leaves less.
  std::optional<Split> best_split(std::size_t begin, std::size_t end) {
    const auto n = static_cast<double>(end - begin);
    if (end - begin < 2 * least_rows_) return std::nullopt;
    // Relative to the mean, so that sums of squares do not swallow what is left.
    const double middle = mean(begin, end);
    double squares = 0;
    for (std::size_t i = begin; i < end; ++i) {
      squares += (values_[rows_[i]] - middle) * (values_[rows_[i]] - middle);
    }
    Split best{.gain = squares * 1e-12};
    bool is_found = false;
    std::vector<std::size_t> sorted(rows_.begin() + static_cast<std::ptrdiff_t>(begin),
                                    rows_.begin() + static_cast<std::ptrdiff_t>(end));
    for (std::size_t d = 0; d < points_.front().size(); ++d) {
      std::sort(sorted.begin(), sorted.end(),
                [&](std::size_t a, std::size_t b) { return points_[a][d] < points_[b][d]; });
      double left = 0;
      for (std::size_t i = 1; i < sorted.size(); ++i) {
        left += values_[sorted[i - 1]] - middle;
        if (i < least_rows_ || sorted.size() - i < least_rows_) continue;
        const double below = points_[sorted[i - 1]][d], above = points_[sorted[i]][d];
        if (below == above) continue;
        const auto n_left = static_cast<double>(i);
        const double gain = left * left / n_left + left * left / (n - n_left);
        if (gain <= best.gain) continue;
        const double between = below + (above - below) / 2;
        // There is none between neighbours among doubles; and a split must leave both sides
        // smaller.
        best = {d, between > below ? between : above, gain};
        is_found = true;
      }
    }
    return is_found ? std::optional(best) : std::nullopt;
  }

  /// Answers where the second part begins.
  std::size_t divide(std::size_t begin, std::size_t end, const Split& split) {
    const auto at = [&](std::size_t i) { return rows_.begin() + static_cast<std::ptrdiff_t>(i); };
    const auto middle = std::stable_partition(at(begin), at(end), [&](std::size_t row) {
      return points_[row][split.dimension] < split.threshold;
    });
    return static_cast<std::size_t>(middle - rows_.begin());
  }

 private:
  const std::vector<std::vector<double>>& points_;
  const std::vector<double>& values_;
  std::vector<std::size_t> rows_;
  std::size_t least_rows_;
};

}  // namespace

RandomForest::RandomForest(const std::vector<std::vector<double>>& points,
                           const std::vector<double>& values, const ForestOptions& options)
    : dimensions_(points.empty() ? 0 : points.front().size()) {
  ensure(!points.empty() && points.size() == values.size(), "a value for each point");
  Random random(options.seed);
  const std::size_t drawn = std::min(points.size(), options.most_rows);
  for (std::size_t i = 0; i < options.trees; ++i) {
    std::vector<std::size_t> rows(drawn);
    for (std::size_t& row : rows) row = random.below(points.size());
    Grower grower(points, values, std::move(rows), options.least_rows);
    Tree& tree = trees_.emplace_back(1);
    struct Open {
      std::size_t node, begin, end;
    };
    std::vector<Open> open = {{0, 0, grower.rows()}};
    while (!open.empty()) {
      const auto [node, begin, end] = open.back();
      open.pop_back();
      const auto split = grower.best_split(begin, end);
      if (!split) {
        tree[node].value = grower.mean(begin, end);
        continue;
      }
      const std::size_t middle = grower.divide(begin, end, *split);
      const std::size_t first = tree.size();
      tree.resize(first + 2);
      tree[node] = {split->dimension, split->threshold, first, first + 1, 0};
      open.push_back({first, begin, middle});
      open.push_back({first + 1, middle, end});
    }
  }
}

template <class Visit>
void RandomForest::each_leaf(const Tree& tree, std::size_t node, Box& box, double volume,
                             const Visit& visit) {
  const Node& here = tree[node];
  if (here.is_leaf()) {
    visit(box, volume, here.value);
    return;
  }
  double& lower = box.lower[here.dimension];
  double& upper = box.upper[here.dimension];
  const double before_lower = lower, before_upper = upper;
  const double width = before_upper - before_lower;
  upper = here.threshold;
  each_leaf(tree, here.first, box, volume * (upper - lower) / width, visit);
  upper = before_upper;
  lower = here.threshold;
  each_leaf(tree, here.second, box, volume * (upper - lower) / width, visit);
  lower = before_lower;
}

std::vector<double> RandomForest::main_effects(const Tree& tree, std::size_t dimensions) {
  Box box{std::vector<double>(dimensions, 0), std::vector<double>(dimensions, 1)};
  double mean = 0, squares = 0;
  each_leaf(tree, 0, box, 1, [&](const Box&, double volume, double value) {
    mean += volume * value;
    squares += volume * value * value;
  });
  std::vector<double> effects(dimensions);
  const double variance = squares - mean * mean;
  if (!(variance > 1e-14 * squares)) return {};
  // By dimension where the marginal, relative to the mean, changes, and by how much: a leaf adds
  // its value, times the part that it is of the cube's other dimensions, from lower to upper.
  std::vector<std::map<double, double>> changes(dimensions);
  each_leaf(tree, 0, box, 1, [&](const Box& leaf, double volume, double value) {
    for (std::size_t d = 0; d < dimensions; ++d) {
      const double height = (value - mean) * volume / (leaf.upper[d] - leaf.lower[d]);
      changes[d][leaf.lower[d]] += height;
      changes[d][leaf.upper[d]] -= height;
    }
  });
  for (std::size_t d = 0; d < dimensions; ++d) {
    double marginal = 0, from = 0, sum = 0;
    for (const auto& [at, change] : changes[d]) {
      sum += marginal * marginal * (at - from);
      marginal += change;
      from = at;
    }
    effects[d] = std::min(1.0, sum / variance);
  }
  return effects;
}

std::vector<double> RandomForest::main_effects() const {
  std::vector<double> sums(dimensions_);
  double count = 0;
  for (const Tree& tree : trees_) {
    const std::vector<double> effects = main_effects(tree, dimensions_);
    if (effects.empty()) continue;
    ++count;
    for (std::size_t d = 0; d < dimensions_; ++d) sums[d] += effects[d];
  }
  if (count == 0) return {};
  for (double& sum : sums) sum /= count;
  return sums;
}

double RandomForest::mean_within(std::size_t d, double lower, double upper) const {
  double sum = 0;
  for (const Tree& tree : trees_) {
    Box box{std::vector<double>(dimensions_, 0), std::vector<double>(dimensions_, 1)};
    each_leaf(tree, 0, box, 1, [&](const Box& leaf, double volume, double value) {
      const double shared = std::min(upper, leaf.upper[d]) - std::max(lower, leaf.lower[d]);
      if (shared <= 0) return;
      sum += value * volume / (leaf.upper[d] - leaf.lower[d]) * shared;
    });
  }
  return sum / (upper - lower) / static_cast<double>(trees_.size());
}

}  // namespace tune
