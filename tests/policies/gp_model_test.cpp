#include "searchers/gp_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <set>

#include "searchers/gp_observations.h"
#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

using Loss = double (*)(const Json&);

/// A search by the model alone, after ten points that fill the space.
class Search {
 public:
  explicit Search(const Json& space, std::uint64_t seed = 1, std::int64_t most = 500)
      : space_(space_of(space)), random_(seed) {
    rules_.n_candidates = 256;
    rules_.max_observations = most;
    for (const SpaceLeaf& leaf : space_.leaves()) {
      axes_.push_back(axis_of(leaf.domain));
      shift_.push_back(random_.uniform());
    }
  }

  Json ask() {
    const auto coordinates = data_.points.size() < 10
                                 ? SpreadPoints(axes_, shift_)(asked_)
                                 : next_by_gp(space_, axes_, rules_, data_, fits_, random_);
    ++asked_;
    Json config = space_.assemble(0, [&](std::size_t leaf) {
      return leaf_value_at(space_.leaves()[leaf].domain, axes_[leaf], coordinates[leaf]);
    });
    data_.pending.push_back(coordinates_of(space_, axes_, config));
    return config;
  }
  /// Of the one that was asked for last; `constraint`: fulfilled up to 0.
  void tell(double score, std::optional<double> constraint = std::nullopt) {
    data_.points.push_back(data_.pending.back());
    data_.pending.pop_back();
    data_.scores.resize(1);
    data_.scores[0].push_back(score);
    if (!constraint) return;
    data_.constraints.resize(1);
    data_.constraints[0].push_back(*constraint);
  }

 private:
  SearchSpace space_;
  std::vector<Axis> axes_;
  std::vector<double> shift_;
  GpRules rules_;
  GpData data_;
  GpFits fits_;
  Random random_;
  std::uint64_t asked_ = 0;
};

/// The least loss within `budget` trials.
double minimise(Search& search, Loss loss, int budget) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < budget; ++i) {
    const double found = loss(search.ask());
    best = std::min(best, found);
    search.tell(-found);
  }
  return best;
}

double minimise(Search&& search, Loss loss, int budget) { return minimise(search, loss, budget); }

const Json plane = {{"x", {{"uniform", {-5, 10}}}}, {"y", {{"uniform", {0, 15}}}}};

double branin(const Json& config) {
  const double x = config["x"], y = config["y"];
  const double pi = 3.14159265358979;
  const double a = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;
  return a * a + 10 * (1 - 1 / (8 * pi)) * std::cos(x) + 10 - 0.397887;
}

}  // namespace

TEST_CASE("gp comes close to the minimum of Branin's function within 35 trials",
          "[gp][statistics]") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CHECK(minimise(Search(plane, seed), branin, 35) < 0.05);
  }
}

TEST_CASE("gp finds choices, whole numbers and logarithms together", "[gp][statistics]") {
  const Json space = {{"kind", {{"choice", {"a", "b", "c"}}}},
                      {"n", {{"randint", {0, 20}}}},
                      {"lr", {{"loguniform", {1e-5, 1}}}}};
  const double best = minimise(
      Search(space),
      [](const Json& config) {
        const double n = config["n"], lr = std::log10(config["lr"].get<double>()) + 3;
        return (config["kind"] == "b" ? 0 : 5) + 0.1 * (n - 13) * (n - 13) + 4 * lr * lr;
      },
      40);
  CHECK(best < 0.05);
}

TEST_CASE("gp searches a conditional space in the branch that is better", "[gp][statistics]") {
  const Json space = R"({"model": {"choice": [
      {"kind": "svm", "c": {"loguniform": [1e-3, 1e3]}},
      {"kind": "net", "lr": {"loguniform": [1e-5, 1]}, "n": {"randint": [1, 9]}}]}})"_json;
  const double best = minimise(
      Search(space),
      [](const Json& config) {
        const Json& model = config["model"];
        if (model["kind"] == "svm") return 1.0;
        const double lr = std::log10(model["lr"].get<double>()) + 2;
        return lr * lr + 0.1 * std::abs(model["n"].get<double>() - 5);
      },
      40);
  CHECK(best < 0.02);
}

TEST_CASE("gp finds the best that a constraint allows", "[gp][statistics]") {
  // A circle around a place that is nobody's minimum, in which nothing is known at first.
  const auto outside = [](const Json& config) {
    return std::hypot(config["x"].get<double>() - 6, config["y"].get<double>() - 6) - 2;
  };
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 10'000; ++i) {  // by looking everywhere
    const Json config = {{"x", 4 + 0.04 * (i % 100)}, {"y", 4 + 0.0004 * i}};
    if (outside(config) <= 0) best = std::min(best, branin(config));
  }
  Search search(plane);
  double found = std::numeric_limits<double>::infinity();
  int inside = 0;
  for (int i = 0; i < 50; ++i) {
    const Json config = search.ask();
    const double loss = branin(config), constraint = outside(config);
    if (constraint <= 0) {
      found = std::min(found, loss);
      ++inside;
    }
    search.tell(-loss, constraint);
  }
  CHECK(found < best + 0.5);
  CHECK(inside > 4);
}

TEST_CASE("gp doubts its model where that expects nothing more, and leaves local minima",
          "[gp][minutes]") {
  // Ackley's function: a funnel with dents all over.
  const auto loss = [](const Json& config) {
    double square = 0, waves = 0;
    for (const char* const name : {"a", "b", "c", "d"}) {
      const double x = config[name];
      square += x * x / 4;
      waves += std::cos(2 * std::numbers::pi * x) / 4;
    }
    return 20 + std::numbers::e - 20 * std::exp(-0.2 * std::sqrt(square)) - std::exp(waves);
  };
  Json space;
  for (const char* const name : {"a", "b", "c", "d"}) space[name] = {{"uniform", {-20, 30}}};
  std::vector<double> least;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    least.push_back(minimise(Search(space, seed), loss, 80));
  }
  std::sort(least.begin(), least.end());
  CHECK(least[2] < 3.2);
}

TEST_CASE("gp sends trials at the same time to different places", "[gp]") {
  Search search(plane);
  minimise(search, branin, 15);
  std::vector<Json> asked;
  for (int i = 0; i < 5; ++i) asked.push_back(search.ask());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const double x = asked[i]["x"].get<double>() - asked[j]["x"].get<double>();
      const double y = asked[i]["y"].get<double>() - asked[j]["y"].get<double>();
      CHECK(std::hypot(x, y) > 0.1);
    }
  }
}

TEST_CASE("gp tries nothing twice where everything can be counted", "[gp]") {
  const Json space = {{"a", {{"choice", {"x", "y", "z"}}}}, {"n", {{"randint", {0, 10}}}}};
  Search search(space);
  std::set<std::string> seen;
  for (int i = 0; i < 30; ++i) {
    const Json config = search.ask();
    if (i >= 10) CHECK_FALSE(seen.contains(config.dump()));
    seen.insert(config.dump());
    search.tell(config["n"]);
  }
}

TEST_CASE("One very bad score does not hide the differences of the others", "[gp]") {
  const double best = minimise(
      Search(plane), [](const Json& config) { return config["x"] > 5 ? 1e9 : branin(config); }, 45);
  CHECK(best < 0.1);
}

TEST_CASE("gp keeps away from where trials fail", "[gp][statistics]") {
  const Json space = {{"x", {{"uniform", {0, 1}}}}};
  Search search(space);
  int failures = 0;
  for (int i = 0; i < 40; ++i) {
    const double x = search.ask()["x"];
    const bool fails = x > 0.6;
    if (i >= 15) failures += fails ? 1 : 0;
    search.tell(fails ? std::numeric_limits<double>::quiet_NaN() : x);
  }
  CHECK(failures < 12);
}

TEST_CASE("With more trials than are modelled, gp goes on with the best and the newest", "[gp]") {
  CHECK(minimise(Search(plane, 1, 20), branin, 60) < 0.5);
}

TEST_CASE("gp fits anew when there are more trials, though it models no more of them", "[gp]") {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const std::vector<Axis> axes = {axis_of(space.leaves()[0].domain)};
  GpRules rules;
  rules.n_candidates = 16;
  rules.max_observations = 10;
  Random random(1);
  GpData data;
  data.scores.resize(1);
  GpFits fits;
  for (const std::size_t n : {120, 125, 140}) {
    while (data.points.size() < n) {
      data.points.push_back({random.uniform()});
      data.scores[0].push_back(std::sin(7 * data.points.back()[0]));
    }
    next_by_gp(space, axes, rules, data, fits, random);
    CHECK(fits.scores[0].observations == (n == 125 ? 120 : n));
  }
}

TEST_CASE("What breaks a constraint is no point of gp's front", "[gp]") {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}});
  const std::vector<Axis> axes = {axis_of(space.leaves()[0].domain)};
  GpData data;
  data.points = {{0.1}, {0.2}, {0.3}, {0.4}};
  data.scores = {{9, 1, 2, 0}, {9, 2, 1, 0}};
  data.constraints = {{1, -1, -1, -1}};
  CHECK(observations_of(GpDimensions(space, axes), data, 500).front ==
        std::vector<std::size_t>{1, 2});
}

TEST_CASE("gp of several metrics does not look again at what it knows of a front", "[gp]") {
  const SearchSpace space = space_of({{"x", {{"uniform", {0, 1}}}}, {"y", {{"uniform", {0, 1}}}}});
  std::vector<Axis> axes;
  for (const SpaceLeaf& leaf : space.leaves()) axes.push_back(axis_of(leaf.domain));
  GpRules rules;
  rules.n_candidates = 64;
  Random random(1);
  GpData data;
  data.scores.resize(2);
  GpFits fits;
  int known = 0;
  for (int i = 0; i < 40; ++i) {
    std::vector<double> point = i < 8 ? std::vector{random.uniform(), random.uniform()}
                                      : next_by_gp(space, axes, rules, data, fits, random);
    known += std::count(data.points.begin(), data.points.end(), point) > 0 ? 1 : 0;
    const double x = point[0], g = 1 + 9 * point[1];
    const double noise = 0.05 * std::sin(1e4 * (x + point[1]));
    data.points.push_back(std::move(point));
    data.scores[0].push_back(-x - noise);
    data.scores[1].push_back(-g * (1 - std::sqrt(x / g)) + noise);
  }
  CHECK(known == 0);
}

TEST_CASE("Points that fill the space leave no large gap", "[gp]") {
  const SearchSpace space = space_of(plane);
  const std::vector<Axis> axes = {axis_of(space.leaves()[0].domain),
                                  axis_of(space.leaves()[1].domain)};
  std::set<std::pair<int, int>> cells;
  const SpreadPoints spread(axes, {0.3, 0.7});
  for (std::uint64_t i = 0; i < 64; ++i) {
    const auto point = spread(i);
    cells.insert({static_cast<int>((point[0] + 5) / 15 * 4), static_cast<int>(point[1] / 15 * 4)});
  }
  CHECK(cells.size() == 16);
}
