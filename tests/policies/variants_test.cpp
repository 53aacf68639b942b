#include <algorithm>
#include <map>
#include <set>

#include "tests/policies/policies.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

const Json grid_and_random = R"({"a": {"grid_search": [1, 2]}, "b": {"grid_search": [3, 4, 5]},
                                 "x": {"uniform": [0, 1]}})"_json;

std::string complaint(const std::string& name, const Json& space, const Json& options) {
  try {
    make_searcher(name, space, 2, options);
  } catch (const OptionError& error) {
    return error.pointer + ": " + error.what();
  }
  return "none";
}

std::size_t count_distinct(const std::vector<Json>& configs) {
  return std::set<Json>(configs.begin(), configs.end()).size();
}

}  // namespace

TEST_CASE("The grid is run through for each sample, all else drawn for each trial",
          "[variants][unit]") {
  const auto searcher = make_searcher("grid", grid_and_random, 2);
  CHECK(searcher->total() == 12);
  const auto configs = all_configs(*searcher);
  REQUIRE(configs.size() == 12);
  std::set<double> drawn;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    CHECK(configs[i]["a"] == 1 + i % 2);
    CHECK(configs[i]["b"] == 3 + i / 2 % 3);
    drawn.insert(configs[i]["x"].get<double>());
  }
  CHECK(drawn.size() == 12);
}

TEST_CASE("'grid' and 'random' are the same, but 'grid' wants a grid", "[variants][unit]") {
  CHECK(all_configs(*make_searcher("grid", grid_and_random, 2)) ==
        all_configs(*make_searcher("random", grid_and_random, 2)));
  CHECK(complaint("grid", R"({"x": {"uniform": [0, 1]}})"_json, nullptr) ==
        ": the searcher 'grid' needs at least one 'grid_search' in the param space");
  CHECK(complaint("grid", R"({"x": {"grid_search": [1]}})"_json, nullptr) == "none");
  CHECK(complaint("random", R"({"x": {"uniform": [0, 1]}})"_json, nullptr) == "none");
}

TEST_CASE("With constant_grid_search a sample draws once, whatever the grid's values contain",
          "[variants][unit]") {
  const Json space = R"({"a": {"grid_search": [1, {"z": {"uniform": [0, 1]}}]},
                         "x": {"uniform": [0, 1]}, "y": {"choice": [1, 2, 3, 4, 5, 6, 7, 8]}})"_json;
  const auto configs =
      all_configs(*make_searcher("random", space, 3, {{"constant_grid_search", true}}));
  REQUIRE(configs.size() == 6);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    CHECK(configs[2 * sample]["x"] == configs[2 * sample + 1]["x"]);
    CHECK(configs[2 * sample]["y"] == configs[2 * sample + 1]["y"]);
  }
  CHECK(configs[0]["x"] != configs[2]["x"]);
  CHECK(configs[2]["x"] != configs[4]["x"]);
  CHECK(configs[1]["a"]["z"] != configs[3]["a"]["z"]);
}

TEST_CASE("A saved constant_grid_search goes on inside of a sample", "[variants][unit]") {
  const Json options = {{"constant_grid_search", true}};
  const auto one = make_searcher("grid", grid_and_random, 2, options);
  all_configs(*one, 3);
  const auto two = make_searcher("grid", grid_and_random, 2, options, 5);
  two->load(Json::parse(one->save().dump()));
  CHECK(all_configs(*one) == all_configs(*two));
}

TEST_CASE("Each point to evaluate replaces one sample", "[variants][unit]") {
  const Json options = R"({"points_to_evaluate": [{"x": 0.5}, {"a": 2, "x": 0.25}]})"_json;
  const auto searcher = make_searcher("random", grid_and_random, 3, options);
  CHECK(searcher->total() == 6 + 3 + 6);
  const auto configs = all_configs(*searcher);
  REQUIRE(configs.size() == 15);
  for (std::size_t i = 0; i < 6; ++i) CHECK(configs[i]["x"] == 0.5);
  for (std::size_t i = 6; i < 9; ++i) {
    CHECK(configs[i]["x"] == 0.25);
    CHECK(configs[i]["a"] == 2);
    CHECK(configs[i]["b"] == 3 + (i - 6));
  }
  CHECK(configs[9]["x"] != configs[10]["x"]);
}

TEST_CASE("Bad points to evaluate are refused at their place", "[variants][unit]") {
  const auto about = [](const Json& points) {
    return complaint("random", grid_and_random, {{"points_to_evaluate", points}});
  };
  CHECK(about(R"([{"x": 0}, {"x": 2}])"_json) ==
        "/points_to_evaluate/1/x: 2 cannot be drawn from {\"uniform\":[0,1]}");
  CHECK(about(R"([{"y": 2}])"_json) ==
        "/points_to_evaluate/0/y: unknown hyperparameter 'y', expected one of 'a', 'b', 'x'");
  CHECK(about(R"([{}, {}, {}])"_json) ==
        "/points_to_evaluate: 3 points to evaluate are more than num_samples = 2");
  CHECK(about(3) == "/points_to_evaluate: 'points_to_evaluate' must be a list of points, got 3");
  CHECK(about(R"([3])"_json) == "/points_to_evaluate/0: a point must be an object, got 3");
}

TEST_CASE("skip_duplicates suggests each config once and then ends", "[variants][unit]") {
  const Json space = R"({"n": {"randint": [0, 5]}, "c": {"choice": ["a", "b"]}})"_json;
  CHECK(count_distinct(all_configs(*make_searcher("random", space, 100))) == 10);
  const auto searcher = make_searcher("random", space, 100, {{"skip_duplicates", true}});
  const auto configs = all_configs(*searcher);
  CHECK(configs.size() == 10);
  CHECK(count_distinct(configs) == 10);
  const Json before = searcher->save();
  CHECK(std::holds_alternative<Exhausted>(searcher->suggest(TrialId(10))));
  CHECK(searcher->save() == before);
}

TEST_CASE("skip_duplicates remembers over saving and loading", "[variants][unit]") {
  const Json space = R"({"n": {"randint": [0, 20]}})"_json;
  const Json options = {{"skip_duplicates", true}};
  const auto one = make_searcher("random", space, 100, options);
  auto configs = all_configs(*one, 10);
  const auto two = make_searcher("random", space, 100, options);
  two->load(Json::parse(one->save().dump()));
  const auto rest = all_configs(*two);
  configs.insert(configs.end(), rest.begin(), rest.end());
  CHECK(configs.size() == 20);
  CHECK(count_distinct(configs) == 20);
}

TEST_CASE("skip_duplicates lets points to evaluate be and excludes constant_grid_search",
          "[variants][unit]") {
  const Json space = R"({"n": {"randint": [0, 50]}})"_json;
  const auto searcher = make_searcher(
      "random", space, 3,
      R"({"skip_duplicates": true, "points_to_evaluate": [{"n": 7}, {"n": 7}]})"_json);
  const auto configs = all_configs(*searcher);
  REQUIRE(configs.size() == 3);
  CHECK(configs[1]["n"] == 7);
  CHECK(configs[2]["n"] != 7);
  CHECK(
      complaint("random", space,
                R"({"skip_duplicates": true, "constant_grid_search": true})"_json) ==
      "/skip_duplicates: skip_duplicates draws again what constant_grid_search keeps: choose one");
}

TEST_CASE("An endless search has no total and no end", "[variants][unit]") {
  const auto searcher = make_searcher("random", grid_and_random, -1);
  CHECK_FALSE(searcher->total());
  CHECK(count_distinct(all_configs(*searcher, 600)) == 600);
}

TEST_CASE("More samples later continue the search where it was", "[variants][unit]") {
  const auto all = all_configs(*make_searcher("random", grid_and_random, 4));
  const auto first = make_searcher("random", grid_and_random, 2);
  auto configs = all_configs(*first);
  const auto extended = make_searcher("random", grid_and_random, 4);
  extended->load(first->save());
  const auto more = all_configs(*extended);
  configs.insert(configs.end(), more.begin(), more.end());
  CHECK(configs == all);
}

TEST_CASE("A total that cannot be counted does not wrap around", "[variants][unit]") {
  Json space;
  for (int i = 0; i < 63; ++i) space["k" + std::to_string(i)]["grid_search"] = {0, 1};
  const auto searcher = make_searcher("grid", space, 1000);
  CHECK(*searcher->total() >= std::uint64_t{1} << 63);
  CHECK(next_config(*searcher)["k0"] == 0);
  CHECK(next_config(*searcher)["k0"] == 1);
}

TEST_CASE("A config whose expressions have no value ends the search with a sentence",
          "[variants][unit]") {
  const auto searcher =
      make_searcher("random", R"({"a": {"choice": [0]}, "b": {"expr": "1 / a"}})"_json, 1);
  CHECK_THROWS_AS(searcher->suggest(TrialId(0)), Error);
}

namespace {

std::unique_ptr<Searcher> constrained(const Json& space, std::int64_t num_samples,
                                      const std::string& constraint,
                                      const Json& options = nullptr) {
  return make_searcher("random", space, num_samples, options, 1, {}, {constraint});
}

}  // namespace

TEST_CASE("A grid point that breaks a constraint is no trial", "[variants][unit]") {
  const auto searcher = constrained(grid_and_random, 2, "a * b <= 6");
  CHECK_FALSE(searcher->total());
  std::vector<std::pair<int, int>> points;
  for (const Json& config : all_configs(*searcher)) points.emplace_back(config["a"], config["b"]);
  const std::vector<std::pair<int, int>> once = {{1, 3}, {2, 3}, {1, 4}, {1, 5}};
  std::vector<std::pair<int, int>> twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  CHECK(points == twice);

  const Json before = searcher->save();
  CHECK(next_config(*searcher).is_null());
  CHECK(searcher->save() == before);
}

TEST_CASE("A config in which an expression has no value is drawn again, or left out of the grid",
          "[variants][unit]") {
  const Json grid = R"({"a": {"grid_search": [-1, 0, 1]}, "b": {"grid_search": [2, 3]},
                        "y": {"expr": "1 / a"}})"_json;
  const auto whole = make_searcher("grid", grid, 3);
  CHECK(whole->total() == 12);
  CHECK(all_configs(*whole).size() == 12);
  const auto random =
      make_searcher("random", R"({"a": {"randint": [-1, 2]}, "y": {"expr": "1 / a"}})"_json, 50);
  CHECK(random->total() == 50);
  const auto drawn = all_configs(*random);
  CHECK(drawn.size() == 50);
  for (const Json& config : drawn) CHECK(config["a"] != 0);
  CHECK_THROWS_WITH(
      next_config(*make_searcher("random", R"x({"a": 0, "y": {"expr": "sqrt(a - 1)"}})x"_json, 5)),
      "no config that can be tried was found among 1000 drawn at random: cannot evaluate "
      "/y = 'sqrt(a - 1)': the result is not a finite number");
}

TEST_CASE("What is drawn is drawn again until it fulfils the constraints", "[variants][unit]") {
  const auto searcher = constrained(grid_and_random, 5, "a * x <= 0.5 + ln(1)");
  const auto configs = all_configs(*searcher);
  CHECK(configs.size() == 30);
  for (const Json& config : configs) {
    CHECK(config["a"].get<double>() * config["x"].get<double>() <= 0.5);
  }
  CHECK(constrained({{"x", {{"uniform", {0, 1}}}}}, 7, "x <= 0.1")->total() == 7);
}

TEST_CASE("A search under constraints goes on where it was saved", "[variants][unit]") {
  for (const bool is_constant : {false, true}) {
    const Json options = {{"constant_grid_search", is_constant}};
    const auto one = constrained(grid_and_random, 8, "a * b * x <= 3", options);
    all_configs(*one, 9);
    const auto two = constrained(grid_and_random, 8, "a * b * x <= 3", options);
    two->load(Json::parse(one->save().dump()));
    CHECK(all_configs(*one) == all_configs(*two));
  }
}

TEST_CASE("With constant_grid_search only grid points are left out", "[variants][unit]") {
  const auto searcher =
      constrained(grid_and_random, 20, "a * b * x <= 3", {{"constant_grid_search", true}});
  std::map<double, int> by_draw;
  for (const Json& config : all_configs(*searcher)) {
    CHECK(config["a"].get<double>() * config["b"].get<double>() * config["x"].get<double>() <= 3);
    ++by_draw[config["x"].get<double>()];
  }
  CHECK(by_draw.size() == 20);
  for (const auto& [x, trials] : by_draw) {
    int expected = 0;
    for (const int a : {1, 2}) {
      for (const int b : {3, 4, 5}) expected += a * b * x <= 3 ? 1 : 0;
    }
    CHECK(trials == expected);
  }
}

TEST_CASE("Constraints that leave nothing end a random search, or a grid, with a sentence",
          "[variants][unit]") {
  for (const bool is_endless : {false, true}) {
    const std::int64_t samples = is_endless ? -1 : 3;
    for (const bool is_constant : {false, true}) {
      CHECK_THROWS_WITH(next_config(*constrained(grid_and_random, samples, "a * b <= 2",
                                                 {{"constant_grid_search", is_constant}})),
                        Catch::Matchers::StartsWith("no config with 'a * b <= 2' was found in the "
                                                    "grid: "));
    }
    CHECK_THROWS_WITH(next_config(*constrained({{"x", {{"uniform", {0, 1}}}}}, samples, "x >= 2")),
                      Catch::Matchers::StartsWith(
                          "no config with 'x >= 2' was found among 1000 drawn at random"));
  }
}

TEST_CASE("skip_duplicates and constraints together leave out both", "[variants][unit]") {
  const auto searcher =
      constrained({{"x", {{"randint", {0, 10}}}}}, 50, "x <= 4", {{"skip_duplicates", true}});
  CHECK(count_distinct(all_configs(*searcher)) == 5);
}

TEST_CASE("random and grid try each config as often as they are told, and keep the pace",
          "[variants]") {
  const Json space = {{"a", {{"grid_search", {1, 2}}}}, {"x", {{"uniform", {0, 1}}}}};
  const Json options = {
      {"repeat", 3}, {"repeat_key", "seed"}, {"max_concurrent", 3}, {"batch", true}};
  for (const char* const name : {"random", "grid"}) {
    const auto once = make_searcher(name, space, 2);
    const auto searcher = make_searcher(name, space, 2, options);
    CHECK(searcher->total() == 12);
    CHECK(searcher->limits().max_concurrent == 3);
    CHECK(searcher->limits().batch);
    for (std::uint32_t config = 0; config < 4; ++config) {
      Json expected = next_config(*once, config);
      for (std::uint32_t i = 0; i < 3; ++i) {
        const std::uint32_t id = 3 * config + i;
        expected["seed"] = i;
        CHECK(next_config(*searcher, id) == expected);
        searcher->on_trial_add(TrialId(id), expected.dump());
        searcher->on_trial_end(TrialId(id), {1, {}}, Ended::complete);  // no metric
      }
    }
    CHECK(std::holds_alternative<Exhausted>(searcher->suggest(TrialId(12))));
  }
}
