// The searchers that fill a space evenly: sobol and latin_hypercube.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "searchers/quantile.h"
#include "tests/policies/policies.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

const Json cube = R"({"a": {"uniform": [0, 1]}, "b": {"uniform": [0, 1]}, "c": {"uniform": [0, 1]},
                      "d": {"uniform": [0, 1]}, "e": {"uniform": [0, 1]}})"_json;

const Json all_domains = R"({
  "a": {"uniform": [-1, 3]}, "b": {"quniform": [0, 1, 0.1]}, "c": {"loguniform": [1e-6, 1]},
  "d": {"qloguniform": [2, 512, 2]}, "e": {"randn": [5, 2]}, "f": {"qrandn": [0, 2, 0.5]},
  "g": {"randint": [-3, 4]}, "h": {"qrandint": [8, 64, 8]}, "i": {"lograndint": [1, 1000]},
  "j": {"qlograndint": [3, 300, 3]}, "k": {"choice": ["x", "y", {"z": {"uniform": [0, 1]}}]}})"_json;

using Points = std::vector<std::vector<double>>;

/// The first `n` configs of the unit cube, as points.
Points points_of(const std::string& searcher, std::int64_t n, std::uint64_t seed = 1,
                 const Json& space = cube) {
  const auto made = make_searcher(searcher, space, n, nullptr, seed);
  Points points;
  for (const Json& config : all_configs(*made)) {
    std::vector<double> point;
    for (const Json& value : config) point.push_back(value.get<double>());
    points.push_back(point);
  }
  return points;
}

/// How many of the n-th parts of an axis have a point.
std::size_t parts_with_a_point(const Points& points, std::size_t axis) {
  std::set<int> parts;
  for (const auto& point : points) {
    parts.insert(static_cast<int>(point[axis] * static_cast<double>(points.size())));
  }
  return parts.size();
}

/// The square of the centred discrepancy (Hickernell, "A Generalized Discrepancy and Quadrature
/// Error Bound", 1998): how far the points are from being spread evenly.
double discrepancy(const Points& points) {
  const auto n = static_cast<double>(points.size());
  double once = 0, twice = 0, all = 1;
  for (std::size_t j = 0; j < points[0].size(); ++j) all *= 13.0 / 12;
  for (const auto& x : points) {
    double product = 1;
    for (const double u : x) {
      const double out = std::abs(u - 0.5);
      product *= 1 + out / 2 - out * out / 2;
    }
    once += product;
    for (const auto& y : points) {
      double both = 1;
      for (std::size_t j = 0; j < x.size(); ++j) {
        both *= 1 + std::abs(x[j] - 0.5) / 2 + std::abs(y[j] - 0.5) / 2 - std::abs(x[j] - y[j]) / 2;
      }
      twice += both;
    }
  }
  return all - 2 / n * once + twice / (n * n);
}

}  // namespace

TEST_CASE("A share of a domain's probability is the value at which so much lies below",
          "[sequences]") {
  const auto at = [](const Json& domain, double share) {
    std::vector<Problem> problems;
    return leaf_quantile(*parse_domain(domain, "", problems), share);
  };
  CHECK(at({{"uniform", {-1, 3}}}, 0.25) == 0);
  CHECK(at({{"loguniform", {1e-4, 1}}}, 0.5).get<double>() == Approx(1e-2));
  CHECK(at({{"quniform", {0, 1, 0.25}}}, 0.19) == 0);
  CHECK(at({{"quniform", {0, 1, 0.25}}}, 0.21) == 0.25);
  CHECK(at({{"randn", {5, 2}}}, 0.5).get<double>() == Approx(5));
  CHECK(at({{"randn", {5, 2}}}, 0.841344746).get<double>() == Approx(7));
  CHECK(std::isfinite(at({{"randn", {5, 2}}}, 0).get<double>()));
  CHECK(at({{"randint", {-3, 4}}}, 0) == -3);
  CHECK(at({{"randint", {-3, 4}}}, 1 - 0x1p-53) == 3);
  CHECK(at({{"qrandint", {8, 64, 8}}}, 0.13) == 16);
  CHECK(at({{"lograndint", {1, 1000}}}, 0.5) == 31);
  CHECK(at({{"choice", {"x", "y", "z"}}}, 0.7) == 2);
}

TEST_CASE("The shares of the steps of a domain meet exactly where its rule says", "[sequences]") {
  for (const char* const text :
       {R"({"quniform": [32, 96, 32]})", R"({"qrandint": [-8, 8, 4]})",
        R"({"qloguniform": [0.25, 1.5, 0.25]})", R"({"qlograndint": [3, 30, 3]})"}) {
    INFO(text);
    std::vector<Problem> problems;
    const Json json = Json::parse(text);
    const auto domain = parse_domain(json, "", problems);
    REQUIRE(domain);
    const auto [lower, upper, q] = json.begin()->get<std::tuple<double, double, double>>();
    const bool log = json.begin().key().starts_with("qlog");
    const auto place = [log](double x) { return log ? std::log(x) : x; };
    const double begin = place(lower - q / 2), whole = place(upper + q / 2) - begin;
    for (double value = lower; value <= upper; value += q) {
      const double from = (place(value - q / 2) - begin) / whole;
      const double to = (place(value + q / 2) - begin) / whole;
      CHECK(leaf_quantile(*domain, std::max(from + 1e-9, 0.0)) == value);
      CHECK(leaf_quantile(*domain, std::min(to - 1e-9, 1 - 0x1p-53)) == value);
    }
  }
}

TEST_CASE("Evenly spread shares give values as often as drawing gives them", "[sequences]") {
  constexpr int n = 4000;
  for (const char* const text :
       {R"({"randint": [0, 7]})", R"({"qrandint": [3, 20, 4]})", R"({"lograndint": [1, 20]})",
        R"({"qlograndint": [2, 40, 2]})", R"({"quniform": [0, 1, 0.125]})",
        R"({"qloguniform": [0.5, 8, 0.5]})", R"({"qrandn": [1, 2, 0.5]})"}) {
    INFO(text);
    std::vector<Problem> problems;
    const auto domain = parse_domain(Json::parse(text), "", problems);
    REQUIRE(domain);
    std::map<double, int> counts;
    Random random(3);
    for (int i = 0; i < n; ++i) {
      ++counts[leaf_quantile(*domain, (i + 0.5) / n).get<double>()];
      --counts[draw(*domain, random).get<double>()];
    }
    for (const auto& [value, difference] : counts) CHECK(std::abs(difference) < 0.04 * n);
  }
}

TEST_CASE("sobol and latin_hypercube suggest configs of the space, whatever its domains",
          "[sequences]") {
  const SearchSpace space = space_of(all_domains);
  for (const char* const name : {"sobol", "latin_hypercube"}) {
    INFO(name);
    const auto searcher = make_searcher(name, all_domains, 200);
    CHECK_FALSE(searcher->may_take_long());
    std::set<Json> branches;
    for (const Json& config : all_configs(*searcher)) {
      CHECK(space.check_preset(config).empty());
      branches.insert(config["k"].is_object() ? Json("z") : config["k"]);
    }
    CHECK(branches.size() == 3);
  }
}

TEST_CASE("Of 2^k sobol points each 2^k-th of every axis has one", "[sequences]") {
  for (const std::int64_t n : {1, 16, 256}) {
    const Points points = points_of("sobol", n, 7);
    for (std::size_t axis = 0; axis < 5; ++axis) {
      CHECK(parts_with_a_point(points, axis) == static_cast<std::size_t>(n));
    }
  }
}

TEST_CASE("Of 2^k sobol points each box of the size 2^-k of the first two axes has one",
          "[sequences]") {
  const Points points = points_of("sobol", 64, 5);
  for (const int columns : {1, 2, 4, 8, 16, 32, 64}) {
    const int rows = 64 / columns;
    std::set<std::pair<int, int>> boxes;
    for (const auto& point : points) {
      boxes.emplace(static_cast<int>(point[0] * columns), static_cast<int>(point[1] * rows));
    }
    CHECK(boxes.size() == 64);
  }
}

TEST_CASE("Of a latin hypercube each part of every axis has one point, block after block",
          "[sequences]") {
  const Points all = points_of("latin_hypercube", 30);
  for (std::size_t axis = 0; axis < 5; ++axis) CHECK(parts_with_a_point(all, axis) == 30);

  const auto searcher = make_searcher("latin_hypercube", cube, -1, {{"block_size", 7}});
  std::vector<Points> blocks(3);
  for (std::uint32_t i = 0; i < 21; ++i) {
    std::vector<double> point;
    for (const Json& value : next_config(*searcher, i)) point.push_back(value.get<double>());
    blocks[i / 7].push_back(point);
  }
  for (const Points& block : blocks) {
    for (std::size_t axis = 0; axis < 5; ++axis) CHECK(parts_with_a_point(block, axis) == 7);
  }
  CHECK(blocks[0] != blocks[1]);
}

TEST_CASE("A latin hypercube is as large as there are samples left after points_to_evaluate",
          "[sequences]") {
  const Json options = {{"points_to_evaluate", {{{"a", 0.5}}, {{"a", 0.25}}}}};
  const auto searcher = make_searcher("latin_hypercube", cube, 12, options);
  Points points;
  for (const Json& config : all_configs(*searcher)) points.push_back({config["b"].get<double>()});
  REQUIRE(points.size() == 12);
  points.erase(points.begin(), points.begin() + 2);
  CHECK(parts_with_a_point(points, 0) == 10);
}

TEST_CASE("A latin hypercube that is made larger goes on with what is left of the larger one",
          "[sequences]") {
  const auto shorter = make_searcher("latin_hypercube", cube, 10);
  const auto longer = make_searcher("latin_hypercube", cube, 40);
  const auto whole = all_configs(*make_searcher("latin_hypercube", cube, 40));
  const auto first = all_configs(*shorter);
  REQUIRE(first.size() == 10);
  longer->load(Json::parse(shorter->save().dump()));
  const auto rest = all_configs(*longer);
  REQUIRE(rest.size() == 30);
  CHECK(std::equal(rest.begin(), rest.end(), whole.begin() + 10, whole.end()));
  CHECK_FALSE(std::equal(first.begin(), first.end(), whole.begin()));
}

TEST_CASE("sobol and latin_hypercube points are spread more evenly than random ones",
          "[sequences]") {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const double by_chance = discrepancy(points_of("random", 128, seed));
    CHECK(discrepancy(points_of("sobol", 128, seed)) < by_chance / 4);
    CHECK(discrepancy(points_of("latin_hypercube", 128, seed)) < by_chance);
  }
}

TEST_CASE("Another seed gives other sobol points, which are as even", "[sequences]") {
  const Points one = points_of("sobol", 32, 1), two = points_of("sobol", 32, 2);
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (std::size_t axis = 0; axis < 5; ++axis) CHECK(one[i][axis] != two[i][axis]);
  }
}

TEST_CASE("sobol says how many hyperparameters it has points for", "[sequences]") {
  Json large;
  for (int i = 0; i < 3668; ++i) large["x" + std::to_string(i)] = {{"uniform", {0, 1}}};
  CHECK_THROWS_WITH(make_searcher("sobol", large, 1),
                    Catch::Matchers::Contains("3667") && Catch::Matchers::Contains("3668"));
  large.erase("x17");
  CHECK(next_config(*make_searcher("sobol", large, 1)).size() == 3667);
}

TEST_CASE("A block of latin_hypercube has from 1 to 10000 points", "[sequences]") {
  CHECK_THROWS_AS(make_searcher("latin_hypercube", cube, 1, {{"block_size", 0}}), OptionError);
  CHECK_THROWS_AS(make_searcher("latin_hypercube", cube, 1, {{"block_size", 10'001}}), OptionError);
  CHECK(next_config(*make_searcher("latin_hypercube", cube, 1'000'000)).size() == 5);
}

TEST_CASE("Under a constraint sobol and latin_hypercube go on to the next point that fulfils it",
          "[sequences]") {
  for (const std::string name : {"sobol", "latin_hypercube"}) {
    const Json options = name == "sobol" ? Json() : Json{{"block_size", 64}};
    const auto all = all_configs(*make_searcher(name, cube, 64, options));
    std::vector<Json> expected;
    for (const Json& config : all) {
      if (config["a"].get<double>() + config["b"].get<double>() <= 0.5) expected.push_back(config);
    }
    REQUIRE(expected.size() >= 4);
    const auto searcher =
        make_searcher(name, cube, std::ssize(expected), options, 1, {}, {"a + b <= 0.5"});
    CHECK(all_configs(*searcher) == expected);
  }
}

TEST_CASE("A seed takes no dimension of sobol's points, and is another one in each config",
          "[sequences]") {
  Json with_seed = cube;
  with_seed["aa"] = {{"randseed", {0, 1000000}}};  // before most of the others
  const auto alone = all_configs(*make_searcher("sobol", cube, 32));
  const auto seeded = all_configs(*make_searcher("sobol", with_seed, 32));
  REQUIRE(seeded.size() == 32);
  std::set<Json> seeds;
  for (std::size_t i = 0; i < seeded.size(); ++i) {
    Json config = seeded[i];
    seeds.insert(config["aa"]);
    config.erase("aa");
    CHECK(config == alone[i]);
  }
  CHECK(seeds.size() == 32);
}
