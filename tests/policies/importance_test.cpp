#include "searchers/importance.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>

#include "searchers/forest_importance.h"
#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

namespace tune {
namespace {

std::vector<std::vector<double>> points_of(const SearchSpace& space,
                                           const std::vector<Json>& configs) {
  const std::vector<Axis> axes = axes_of(space);
  std::vector<std::vector<double>> points;
  for (const Json& config : configs) points.push_back(coordinates_of(space, axes, config));
  return points;
}

}  // namespace

TEST_CASE("Importances are Optuna's, in a conditional space of all kinds", "[importance][unit]") {
  const SearchSpace space = space_of(R"({
      "a": {"uniform": [-5, 10]}, "b": {"loguniform": [1e-5, 1]}, "d": {"randint": [3, 10]},
      "e": {"quniform": [-1, 1, 0.125]}, "f": {"lograndint": [1, 501]},
      "c": {"choice": [{"kind": "x", "g": {"uniform": [0, 1]}},
                       {"kind": "y", "h": {"randint": [0, 201]}}, {"kind": "z"}]}})"_json);
  std::ifstream file(std::string(OPTUNA_RUNS) + "/importance.jsonl");
  std::vector<Json> configs;
  std::vector<double> scores;
  Json expected;
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line);
    if (!row.contains("p")) {
      expected = row;
      continue;
    }
    Json config = row.at("p");
    Json c = {{"kind", config.at("c")}};
    for (const char* const name : {"g", "h"}) {
      if (config.contains(name)) c[name] = config.at(name);
      config.erase(name);
    }
    config["c"] = c;
    configs.push_back(config);
    scores.push_back(-row.at("v").get<double>());
  }
  REQUIRE(configs.size() == 60);

  const auto found = importances(space, points_of(space, configs), best_part(scores, 0.2));

  REQUIRE(found.size() == expected.size());
  double last = std::numeric_limits<double>::infinity(), sum = 0;
  for (const Importance& one : found) {
    INFO(one.pointer);
    const std::string name = one.pointer.substr(one.pointer.rfind('/') + 1);
    CHECK(one.variance == Approx(expected.at(name).get<double>()).epsilon(1e-9));
    CHECK(one.variance <= last);
    last = one.variance;
    sum += one.share;
  }
  CHECK(sum == Approx(1));
  CHECK(found[0].pointer == "/b");
  CHECK(found[0].trials == 60);
}

TEST_CASE("An importance is what one computes by hand", "[importance][unit]") {
  const SearchSpace space = space_of(R"({"c": {"choice": ["x", "y"]}})"_json);
  const auto points = points_of(space, {{{"c", "x"}}, {{"c", "x"}}, {{"c", "y"}}, {{"c", "y"}}});
  // Best: one x, so x has (3/4 + 1/2) / 2 = 5/8, y 3/8. All: one half each. So the divergence is
  // 2 * 1/2 * (1/4)^2 = 1/16, and the best are a quarter of all.
  const auto found = importances(space, points, {true, false, false, false});
  REQUIRE(found.size() == 1);
  CHECK(found[0].variance == Approx(1. / 16 / 16));
  CHECK(found[0].share == 1);
}

TEST_CASE("Of 10 a + b, a matters most, and c not at all", "[importance][unit]") {
  const SearchSpace space = space_of(
      R"({"a": {"uniform": [0, 1]}, "b": {"uniform": [0, 1]}, "c": {"uniform": [0, 1]}})"_json);
  Random random(1);
  std::vector<Json> configs;
  std::vector<double> scores;
  for (int i = 0; i < 1000; ++i) {
    configs.push_back(space.sample(0, random));
    scores.push_back(10 * configs.back().at("a").get<double>() +
                     configs.back().at("b").get<double>());
  }
  const auto found = importances(space, points_of(space, configs), best_part(scores, 0.1));
  CHECK(found[0].pointer == "/a");
  CHECK(found[0].share > 0.9);
  CHECK(found[1].pointer == "/b");
  CHECK(found[2].share < 0.01);
}

TEST_CASE("One hyperparameter in two values of a choice is one, by what each says",
          "[importance][unit]") {
  const SearchSpace space = space_of(R"({"m": {"choice": [
      {"kind": "x", "lr": {"uniform": [0, 1]}}, {"kind": "y", "lr": {"uniform": [10, 20]}}]}})"_json);
  std::vector<Json> configs;
  std::vector<double> scores;
  for (int i = 0; i < 40; ++i) {
    const double at = (i / 2) / 20.0;
    const bool is_x = i % 2 == 0;
    configs.push_back({{"m", {{"kind", is_x ? "x" : "y"}, {"lr", is_x ? at : 10 + 10 * at}}}});
    scores.push_back(at);
  }
  const auto found = importances(space, points_of(space, configs), best_part(scores, 0.1));
  REQUIRE(found.size() == 2);
  CHECK(found[0].pointer == "/m/lr");
  CHECK(found[0].trials == 40);
  CHECK(found[1].variance < found[0].variance / 100);
}

TEST_CASE("What is as good as the last of the best part is part of it", "[importance][unit]") {
  using Flags = std::vector<bool>;
  CHECK(best_part({3, 1, 2, 2}, 0.5) == Flags{true, false, true, true});
  CHECK(best_part({3, 1, 2, 2}, 0.01) == Flags{true, false, false, false});
  CHECK(best_part({1, 1}, 0.1) == Flags{true, true});
}

TEST_CASE("What cannot be told from so few trials has no importance", "[importance][unit]") {
  const SearchSpace space = space_of(
      R"({"one": {"choice": ["x"]}, "two": {"choice": [{"u": {"uniform": [0, 1]}}, "none"]}})"_json);
  const auto points = points_of(space, {{{"one", "x"}, {"two", {{"u", 0.5}}}},
                                        {{"one", "x"}, {"two", "none"}},
                                        {{"one", "x"}, {"two", "none"}}});
  for (const Importance& one : importances(space, points, {true, false, false})) {
    INFO(one.pointer);
    CHECK((one.variance == 0) == (one.pointer != "/two"));
  }
}

TEST_CASE("A seed is of no importance, and not in the list", "[importance][unit]") {
  const SearchSpace space =
      space_of(R"({"x": {"uniform": [0, 1]}, "seed": {"randseed": [0, 100]}})"_json);
  std::vector<Json> configs;
  std::vector<double> scores;
  for (int i = 0; i < 40; ++i) {
    configs.push_back({{"x", (i * 7 % 40) / 40.0}, {"seed", i}});
    scores.push_back(-i);
  }
  const auto found = importances(space, points_of(space, configs), best_part(scores, 0.2));
  REQUIRE(found.size() == 1);
  CHECK(found[0].pointer == "/x");
  CHECK(found[0].share == 1);
}

namespace {

/// Ishigami's function at 300 places, with `outlier` in place of some values.
struct Ishigami {
  explicit Ishigami(double outlier = 0, std::size_t outliers = 0) {
    Random random(3);
    std::vector<Json> configs;
    for (std::size_t i = 0; i < 300; ++i) {
      const Json config = configs.emplace_back(space.sample(0, random));
      const double a = config.at("a"), b = config.at("b"), c = config.at("c");
      values.push_back(std::sin(a) + 7 * std::pow(std::sin(b), 2) +
                       0.1 * std::pow(c, 4) * std::sin(a));
      if (i % 60 == 7 && i / 60 < outliers) values.back() = outlier;
    }
    points = points_of(space, configs);
  }

  std::map<std::string, double> shares() const {
    std::map<std::string, double> shares;
    const ForestImportance forest(space, points, values);
    for (const Importance& one : forest.found()) {
      shares[one.pointer] = one.share;
    }
    return shares;
  }

  SearchSpace space = space_of(R"({"a": {"uniform": [-3.14159, 3.14159]},
                                   "b": {"uniform": [-3.14159, 3.14159]},
                                   "c": {"uniform": [-3.14159, 3.14159]}})"_json);
  std::vector<std::vector<double>> points;
  std::vector<double> values;
};

}  // namespace

TEST_CASE("Values that have exploded leave the shares of the variance near what they were",
          "[importance][unit]") {
  const auto shares = Ishigami().shares();
  CHECK(shares.at("/a") > 0.25);
  CHECK(shares.at("/b") > 0.25);
  CHECK(ForestImportance(Ishigami().space, Ishigami().points, Ishigami().values).drawn_in() == 0);
  for (const double outlier : {1e300, -1e300, 1.7e308, 1e6}) {
    CAPTURE(outlier);
    for (const std::size_t outliers : {1, 3}) {
      const Ishigami exploded(outlier, outliers);
      for (const auto& [name, share] : exploded.shares()) {
        CAPTURE(name);
        CHECK(share == Approx(shares.at(name)).margin(outliers == 1 ? 0.07 : 0.12));
      }
      const ForestImportance forest(exploded.space, exploded.points, exploded.values);
      CHECK(forest.drawn_in() == outliers);
      CHECK(std::abs(*forest.mean_within(0, 0, 1)) < 30);
    }
  }
}

TEST_CASE("Shares are not 0 where most values are equal and one has exploded",
          "[importance][unit]") {
  const SearchSpace space =
      space_of(R"({"a": {"uniform": [0, 1]}, "b": {"uniform": [0, 1]}})"_json);
  for (const double part_of_others : {0.3, 0.02}) {
    Random random(1);
    std::vector<Json> configs;
    std::vector<double> values;
    for (int i = 0; i < 200; ++i) {
      configs.push_back(space.sample(0, random));
      const double a = configs.back().at("a");
      values.push_back(a < part_of_others ? 1 - a : 0);
    }
    values[7] = 1e300;
    const ForestImportance forest(space, points_of(space, configs), values);
    CHECK(forest.found().front().pointer == "/a");
    CHECK(forest.found().front().share > 0.5);
  }
}

TEST_CASE("The mean along a hyperparameter is that of the metric", "[importance][unit]") {
  const Ishigami ishigami;
  const ForestImportance forest(ishigami.space, ishigami.points, ishigami.values);
  double mean = 0;
  for (const double value : ishigami.values) mean += value / 300;
  CHECK(*forest.mean_within(0, -3.14159, 3.14159) == Approx(mean).margin(0.5));
}

}  // namespace tune
