// Several objectives at once: which points are better than others, and how much they cover. A point
// is one score for each objective, larger is better, none is NaN.
#pragma once

#include <cstddef>
#include <vector>

namespace tune {

using Scores = std::vector<double>;

/// Whether `a` is nowhere worse than `b`, and better for one objective.
bool dominates(const Scores& a, const Scores& b);

/// For each point how many fronts lie before it: 0 for those that no other dominates, 1 for those
/// that only these do, and so on. Stops as soon as `enough` points have their rank; the others get
/// the next one.
std::vector<std::size_t> domination_ranks(const std::vector<Scores>& points, std::size_t enough);

/// The volume of what the points dominate above `reference`, which is nowhere better than any of
/// them (While, Bradstreet and Barone, "A Fast Way of Calculating Exact Hypervolumes", 2012).
double hypervolume(std::vector<Scores> points, const Scores& reference);

/// What lies above `lower` and below `upper`, which may be infinite.
struct Box {
  Scores lower, upper;
};

/// Boxes that have nothing in common and together are all that lies above `reference` and that no
/// point dominates: of one to three objectives, at most two for each point and one more (Yang et
/// al., "Efficient Computation of Expected Hypervolume Improvement Using Box Decomposition
/// Algorithms", 2019).
std::vector<Box> undominated_boxes(std::vector<Scores> points, const Scores& reference);

/// `n` of the points, each chosen as the one that adds most to the hypervolume of those before
/// (Guerreiro, Fonseca and Paquete, "Greedy Hypervolume Subset Selection in Low Dimensions", 2016).
/// Copies of points come last.
std::vector<std::size_t> select_by_hypervolume(const std::vector<Scores>& points, std::size_t n,
                                               const Scores& reference);

/// How much room each point of a front has: the sum, over the objectives, of the distance between
/// its neighbours on both sides as a part of the front's range; infinite for the first and the last
/// one (Deb et al., "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II", 2002).
std::vector<double> crowding_distances(const std::vector<Scores>& front);

/// `n` of the points, the best first: by rank, and within a front those that have most room. With a
/// violation of the constraints for each, those without one are better, and of two others the one
/// with less: those with equal ones are a front (section VI there). Empty: nobody has one.
std::vector<std::size_t> best_by_crowding(const std::vector<Scores>& points, std::size_t n,
                                          const std::vector<double>& violations = {});

}  // namespace tune
