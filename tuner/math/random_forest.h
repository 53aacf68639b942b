// A forest of regression trees over the unit cube, and which part of its variance each dimension
// alone explains: functional ANOVA (Hutter, Hoos and Leyton-Brown, "An Efficient Approach for
// Assessing Hyperparameter Importance", ICML 2014).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tune {

struct ForestOptions {
  std::size_t trees = 64;
  std::size_t most_rows = 1000;  ///< that a tree is grown from; drawn with replacement
  std::size_t least_rows = 2;    ///< in a leaf of more than one value
  std::uint64_t seed = 0;
};

class RandomForest {
 public:
  /// `points`: rows of one length, each coordinate in [0, 1]; a finite value for each row. At least
  /// one row.
  RandomForest(const std::vector<std::vector<double>>& points, const std::vector<double>& values,
               const ForestOptions& options = {});

  std::size_t dimensions() const { return dimensions_; }

  /// By dimension the part of the variance over the cube that it alone explains, as the mean over
  /// the trees in which something varies; the rest of 1 is what dimensions explain together. Empty
  /// if nothing varies in any: rows were too few, or tell nothing apart.
  std::vector<double> main_effects() const;

  /// The mean over the part of the cube where dimension `d` is in [lower, upper], a part with
  /// lower < upper.
  double mean_within(std::size_t d, double lower, double upper) const;

 private:
  /// A leaf has no children.
  struct Node {
    std::size_t dimension = 0;
    double threshold = 0;  ///< the first child has what is below
    std::size_t first = 0, second = 0;
    double value = 0;
    bool is_leaf() const { return first == 0; }
  };
  using Tree = std::vector<Node>;  ///< the root first
  struct Box {
    std::vector<double> lower, upper;
  };

  template <class Visit>
  static void each_leaf(const Tree& tree, std::size_t node, Box& box, double volume,
                        const Visit& visit);
  /// Empty if nothing varies.
  static std::vector<double> main_effects(const Tree& tree, std::size_t dimensions);

  std::size_t dimensions_;
  std::vector<Tree> trees_;
};

}  // namespace tune
