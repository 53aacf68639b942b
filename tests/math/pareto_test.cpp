#include "tuner/math/pareto.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/catch.h"
#include "tuner/math/random.h"

namespace tune {
namespace {

using Places = std::vector<std::size_t>;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Ranks, volumes and choices of these are those of Optuna 5.0.0 (_fast_non_domination_rank,
// compute_hypervolume, _solve_hssp).
const std::vector<Scores> flat = {{0.55, 0.71}, {0.29, 0.51}, {0.89, 0.9},  {0.13, 0.21},
                                  {0.05, 0.44}, {0.03, 0.46}, {0.65, 0.28}, {0.68, 0.59},
                                  {0.02, 0.56}, {0.26, 0.42}, {0.28, 0.69}, {0.44, 0.16}};
const std::vector<Scores> solid = {{0.54, 0.78, 0.31}, {0.22, 0.39, 0.94}, {0.98, 0.67, 0.9},
                                   {0.85, 0.38, 0.09}, {0.65, 0.56, 0.36}, {0.23, 0.41, 0.47},
                                   {0.27, 0.29, 0.46}, {0.86, 0.59, 0.28}, {0.28, 0.45, 0.21},
                                   {0.2, 0.51, 0.09},  {0.48, 0.36, 0.71}, {0.75, 0.69, 0.69}};
const std::vector<Scores> four = {
    {0.37, 0.67, 0.34, 0.57}, {0.33, 0.45, 0.06, 0.24}, {0.97, 0.23, 0.69, 0.65},
    {0.72, 0.48, 0.6, 0.07},  {0.07, 0.2, 0.15, 0.1},   {0.13, 0.55, 0.19, 0.95},
    {0.68, 0.54, 0.71, 0.26}, {0.93, 0.84, 0.73, 0.48}, {0.84, 0.74, 0.66, 0.91},
    {0.63, 0.37, 0.55, 0.2},  {0.19, 0.73, 0.78, 0.97}, {0.85, 0.54, 0.09, 0.49}};

Places all_ranks(const std::vector<Scores>& points) {
  return domination_ranks(points, points.size());
}

std::vector<Scores> some_of(const std::vector<Scores>& points, const Places& places) {
  std::vector<Scores> some;
  for (const std::size_t i : places) some.push_back(points[i]);
  return some;
}

}  // namespace

TEST_CASE("A point dominates another that is nowhere better and somewhere worse",
          "[pareto][unit]") {
  CHECK(dominates({1, 2}, {1, 1}));
  CHECK_FALSE(dominates({1, 2}, {1, 2}));
  CHECK_FALSE(dominates({1, 2}, {0, 3}));
  CHECK_FALSE(dominates({1, 1}, {1, 2}));
}

TEST_CASE("Ranks count the fronts before a point", "[pareto][unit]") {
  CHECK(all_ranks(flat) == Places{1, 2, 0, 4, 3, 3, 2, 1, 3, 3, 2, 3});
  CHECK(all_ranks(solid) == Places{0, 0, 0, 2, 1, 1, 2, 1, 2, 2, 1, 0});
  CHECK(all_ranks(four) == Places{1, 2, 0, 1, 3, 1, 1, 0, 0, 2, 0, 0});
  CHECK(all_ranks({{1, 1}, {1, 1}, {0, 1}, {2, 0}}) == Places{0, 0, 1, 0});
  CHECK(all_ranks({}).empty());
}

TEST_CASE("Ranks beyond those that are wanted are one and the same", "[pareto][unit]") {
  CHECK(domination_ranks(flat, 2) == Places{1, 2, 0, 2, 2, 2, 2, 1, 2, 2, 2, 2});
  CHECK(domination_ranks(flat, 3) == domination_ranks(flat, 2));
}

TEST_CASE("A hypervolume counts what is covered twice only once", "[pareto][unit]") {
  CHECK(hypervolume({{1, 3}, {2, 2}, {3, 1}, {1, 1}}, {0, 0}) == Approx(6));
  CHECK(hypervolume({{1, 3}}, {0, 1}) == Approx(2));
  CHECK(hypervolume({{1, 1, 2}, {2, 1, 1}, {1, 2, 1}, {1, 2, 1}}, {0, 0, 0}) == Approx(4));
  CHECK(hypervolume({}, {0, 0}) == 0);
  CHECK(hypervolume(flat, {0, 0}) == Approx(0.801).epsilon(1e-14));
  CHECK(hypervolume(solid, {0, 0, 0}) == Approx(0.619788).epsilon(1e-14));
  CHECK(hypervolume(four, {0, 0, 0, 0}) == Approx(0.47443899).epsilon(1e-14));
}

TEST_CASE("Boxes are all that no point dominates, without overlap, and few", "[pareto][unit]") {
  Random random(1);
  for (std::size_t objectives = 1; objectives <= 3; ++objectives) {
    for (std::size_t count = 0; count < 30; ++count) {
      std::vector<Scores> points(count, Scores(objectives));
      // Few values, so that many are equal; some lie below the reference.
      const double values = count % 2 == 0 ? 6 : 1e9;
      for (Scores& point : points) {
        for (double& x : point) x = std::floor(random.uniform() * values) / values;
      }
      const Scores reference(objectives, 0.1);
      const std::vector<Box> boxes = undominated_boxes(points, reference);
      CAPTURE(objectives, count);
      CHECK(boxes.size() <= (objectives == 1 ? 1 : 2 * count + 1));
      for (int i = 0; i < 200; ++i) {
        Scores where(objectives);
        for (double& x : where) x = 0.1 + 1.1 * random.uniform();
        const bool is_dominated = std::any_of(points.begin(), points.end(), [&](const Scores& p) {
          return std::equal(p.begin(), p.end(), where.begin(), std::greater_equal<>());
        });
        const auto around = std::count_if(boxes.begin(), boxes.end(), [&](const Box& box) {
          return std::equal(where.begin(), where.end(), box.lower.begin(), std::greater<>()) &&
                 std::equal(where.begin(), where.end(), box.upper.begin(), std::less_equal<>());
        });
        REQUIRE(around == (is_dominated ? 0 : 1));
      }
    }
  }
}

TEST_CASE("A choice by hypervolume takes what adds most, copies last", "[pareto][unit]") {
  CHECK(select_by_hypervolume(some_of(solid, {0, 1, 2, 11}), 3, {0, 0, 0}) == Places{2, 0, 3});
  CHECK(select_by_hypervolume(some_of(four, {2, 7, 8, 10, 11}), 3, {0, 0, 0, 0}) ==
        Places{2, 1, 3});
  CHECK(select_by_hypervolume({{1, 3}, {2, 2}, {2, 2}, {3, 1}}, 2, {0, 0}) == Places{1, 3});
  CHECK(select_by_hypervolume({{2, 2}, {2, 2}, {2, 2}}, 2, {0, 0}) == Places{0, 1});
}

TEST_CASE("A point of a front has as much room as its neighbours leave, and the ends have all",
          "[pareto][unit]") {
  // Ranges are 10 and 8: (4 - 0) / 10 + (8 - 2) / 8, and (10 - 1) / 10 + (5 - 0) / 8.
  const auto room = crowding_distances({{10, 0}, {1, 5}, {4, 2}, {0, 8}});
  CHECK(room[0] == infinity);
  CHECK(room[1] == Approx(0.4 + 0.75));
  CHECK(room[2] == Approx(0.9 + 0.625));
  CHECK(room[3] == infinity);
  CHECK(crowding_distances({{1, 3}, {1, 3}}) == std::vector<double>{0, 0});
  CHECK(crowding_distances({}).empty());
}

TEST_CASE("The best points are those of the first fronts, and of a front those with most room",
          "[pareto][unit]") {
  // The first front is 1, 2, 4 and 5, the second one 3, the third one 0.
  const std::vector<Scores> points = {{0, 1}, {10, 0}, {1, 5}, {1, 1}, {4, 2}, {0, 8}};
  CHECK(best_by_crowding(points, 3) == Places{1, 5, 4});
  CHECK(best_by_crowding(points, 5) == Places{1, 5, 4, 2, 3});
  CHECK(best_by_crowding(points, 100) == Places{1, 5, 4, 2, 3, 0});
  CHECK(best_by_crowding({}, 3).empty());
}

TEST_CASE("Whoever violates constraints comes after those who do not, the least violation first",
          "[pareto][unit]") {
  const std::vector<Scores> points = {{0, 1}, {10, 0}, {1, 5}, {1, 1}, {4, 2}, {0, 8}};
  // 1 and 4 would be in the first front. Those with equal violations have room by their scores.
  CHECK(best_by_crowding(points, 6, {0, 2, 0, 0, 0.5, 0}) == Places{2, 5, 3, 0, 4, 1});
  CHECK(best_by_crowding(points, 6, {2, 2, 1, 2, 2, infinity}) == Places{2, 0, 1, 4, 3, 5});
  CHECK(best_by_crowding(points, 1, {2, 2, 1, 2, 2, infinity}) == Places{2});
}

TEST_CASE("Infinite scores are chosen from without a NaN", "[pareto][unit]") {
  CHECK(select_by_hypervolume({{infinity, 0}, {1, 1}, {0, infinity}}, 2, {-1, -1}).size() == 2);
  CHECK(select_by_hypervolume({{2, 0}, {1, 1}, {0, 2}}, 2, {-infinity, -1}).size() == 2);
}

}  // namespace tune
