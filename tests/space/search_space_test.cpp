#include "tuner/space/search_space.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

Json sample_of(const Json& json, std::uint64_t seed = 1, std::uint64_t grid_point = 0) {
  Random random(seed);
  return space_of(json).sample(grid_point, random);
}

/// The configs of all grid points.
std::vector<Json> grid_of(const Json& json) {
  const SearchSpace space = space_of(json);
  std::vector<Json> configs;
  Random random(1);
  for (std::uint64_t i = 0; i < space.grid_size(); ++i) configs.push_back(space.sample(i, random));
  return configs;
}

std::vector<std::string> preset_problems(const Json& space, const Json& preset) {
  std::vector<std::string> texts;
  for (const Problem& problem : space_of(space).check_preset(preset)) {
    texts.push_back(problem.pointer + ": " + problem.sentence);
  }
  return texts;
}

}  // namespace

TEST_CASE("A space without domains gives itself", "[search_space][unit]") {
  const Json json = R"({"a": 1, "b": {"c": [1, "x", null], "d": {}}, "e": true})"_json;
  CHECK(sample_of(json) == json);
  CHECK(space_of(json).is_deterministic());
  CHECK(space_of(json).grid_size() == 1);
  CHECK(SearchSpace().grid_size() == 1);
  Random random(1);
  CHECK(SearchSpace().sample(0, random) == Json::object());
}

TEST_CASE("Domains may stand at any depth of objects and lists", "[search_space][unit]") {
  const Json config = sample_of(
      R"({"model": {"layers": [{"units": {"randint": [5, 6]}}, {"units": {"choice": [7]}}]}})"_json);
  CHECK(config == R"({"model": {"layers": [{"units": 5}, {"units": 7}]}})"_json);
}

TEST_CASE("An object of one key 'value' stands for what is in it, as it is",
          "[search_space][unit]") {
  const Json config = sample_of(
      R"({"a": {"value": {"uniform": [0, 1]}}, "b": {"value": 3}, "c": {"value": {"value": 1}}})"_json);
  CHECK(config == R"({"a": {"uniform": [0, 1]}, "b": 3, "c": {"value": 1}})"_json);
  CHECK(sample_of({{"value", 3}}) == Json{{"value", 3}});
}

TEST_CASE("The same generator gives the same config, and another gives another",
          "[search_space][unit]") {
  const Json json = R"({"a": {"uniform": [0, 1]}, "b": {"randn": [0, 1]}})"_json;
  CHECK(sample_of(json, 7) == sample_of(json, 7));
  CHECK(sample_of(json, 7) != sample_of(json, 8));
  CHECK_FALSE(space_of(json).is_deterministic());
}

TEST_CASE("Values are drawn in the order of their keys, whatever the order in the text",
          "[search_space][unit]") {
  const Json one = Json::parse(R"({"a": {"uniform": [0, 1]}, "b": {"uniform": [0, 1]}})");
  const Json two = Json::parse(R"({"b": {"uniform": [0, 1]}, "a": {"uniform": [0, 1]}})");
  CHECK(sample_of(one, 3) == sample_of(two, 3));
  Random random(3);
  const double first = random.uniform();
  CHECK(sample_of(two, 3)["a"] == first);
}

TEST_CASE("A copied space draws the same configs", "[search_space][unit]") {
  const SearchSpace space =
      space_of(R"({"a": {"choice": [1, 2, 3]}, "b": {"expr": "a * 2"}})"_json);
  const SearchSpace copy = space;
  Random one(9);
  Random other(9);
  for (int i = 0; i < 20; ++i) CHECK(space.sample(0, one) == copy.sample(0, other));
}

TEST_CASE("The values of a choice may contain domains", "[search_space][unit]") {
  const SearchSpace space = space_of(R"({"optimizer": {"choice": [
    {"name": "sgd", "momentum": {"uniform": [0.5, 0.9]}},
    {"name": "adam", "betas": {"choice": [[0.9, 0.99], {"choice": ["x", "y"]}]}}]}})"_json);
  Random random(1);
  std::set<std::string> names;
  std::set<Json> betas;
  for (int i = 0; i < 100; ++i) {
    const Json optimizer = space.sample(0, random)["optimizer"];
    names.insert(optimizer["name"]);
    REQUIRE(optimizer.size() == 2);
    if (optimizer["name"] == "sgd") {
      REQUIRE(optimizer["momentum"] >= 0.5);
      REQUIRE(optimizer["momentum"] < 0.9);
    } else {
      betas.insert(optimizer["betas"]);
    }
  }
  CHECK(names == std::set<std::string>{"adam", "sgd"});
  CHECK(betas == std::set<Json>{"x", "y", Json::array({0.9, 0.99})});
}

TEST_CASE("The first grid in the order of keys varies fastest", "[search_space][unit]") {
  const auto configs = grid_of(R"({"b": {"grid_search": ["x", "y"]},
                                   "a": {"grid_search": [1, 2, 3]}})"_json);
  REQUIRE(configs.size() == 6);
  std::string order;
  for (const Json& config : configs) order += config.dump();
  CHECK(order == R"({"a":1,"b":"x"}{"a":2,"b":"x"}{"a":3,"b":"x"})"
                 R"({"a":1,"b":"y"}{"a":2,"b":"y"}{"a":3,"b":"y"})");
}

TEST_CASE("A grid inside a grid counts for its value alone", "[search_space][unit]") {
  const auto configs = grid_of(R"({"a": {"grid_search": [0, {"x": {"grid_search": [1, 2]},
                                                             "y": {"grid_search": [3, 4]}}]},
                                   "b": {"grid_search": [5, 6]}})"_json);
  CHECK(configs.size() == 10);
  CHECK(std::set<Json>(configs.begin(), configs.end()).size() == 10);
  CHECK(configs[0] == R"({"a": 0, "b": 5})"_json);
  CHECK(configs[1] == R"({"a": {"x": 1, "y": 3}, "b": 5})"_json);
  CHECK(configs[2] == R"({"a": {"x": 2, "y": 3}, "b": 5})"_json);
  CHECK(configs[9] == R"({"a": {"x": 2, "y": 4}, "b": 6})"_json);
}

TEST_CASE("A grid of 2^60 points costs no more than its keys", "[search_space][unit]") {
  Json json;
  for (int i = 0; i < 60; ++i) json["k" + std::to_string(100 + i)]["grid_search"] = {0, 1};
  const SearchSpace space = space_of(json);
  CHECK(space.grid_size() == std::uint64_t{1} << 60);
  Random random(1);
  const Json config = space.sample((std::uint64_t{1} << 59) + 1, random);
  CHECK(config["k100"] == 1);
  CHECK(config["k101"] == 0);
  CHECK(config["k159"] == 1);
}

TEST_CASE("A grid of more than 2^63 points is refused", "[search_space][unit]") {
  Json json;
  for (int i = 0; i < 63; ++i) json["k" + std::to_string(i)]["grid_search"] = {0, 1};
  CHECK(space_of(json).grid_size() == std::uint64_t{1} << 63);
  json["one_more"]["grid_search"] = {0, 1};
  CHECK(problems_of(json) == std::vector<std::string>{": the grid has more than 2^63 points"});

  Json half;
  for (int i = 0; i < 62; ++i) half["k" + std::to_string(i)]["grid_search"] = {0, 1};
  Json sum = {{"a", {{"grid_search", {half, half}}}}};
  CHECK(space_of(sum).grid_size() == std::uint64_t{1} << 63);
  sum["a"]["grid_search"].push_back(1);
  CHECK(problems_of(sum).size() == 1);
}

TEST_CASE("Expressions see the other values of the config", "[search_space][unit]") {
  CHECK(sample_of(
            R"({"model": {"hidden": 16}, "ffn": {"expr": "4 * model.hidden"}})"_json)["ffn"] == 64);
  CHECK(sample_of(R"({"sizes": [3, 5], "sum": {"expr": "sizes.0 + sizes.1"}})"_json)["sum"] == 8);
  CHECK(sample_of(R"({"a.b": 2, "c": {"expr": "a.b + 1"}})"_json)["c"] == 3);
  CHECK(sample_of(R"({"on": true, "c": {"expr": "on + 1"}})"_json)["c"] == 2);
  CHECK(sample_of(R"({"m": {"value": {"deep": [7]}}, "c": {"expr": "m.deep.0"}})"_json)["c"] == 7);
  const Json drawn = sample_of(R"({"lr": {"uniform": [0, 1]}, "wd": {"expr": "lr / 10"}})"_json);
  CHECK(drawn["wd"].get<double>() == Approx(drawn["lr"].get<double>() / 10));
}

TEST_CASE("An expression over integers stays an integer when its value is one",
          "[search_space][unit]") {
  CHECK(sample_of(R"({"n": 6, "x": {"expr": "n / 2"}})"_json)["x"].is_number_integer());
  CHECK(sample_of(R"({"n": 5, "x": {"expr": "n / 2"}})"_json)["x"] == 2.5);
  CHECK(sample_of(R"({"n": 6.0, "x": {"expr": "n / 2"}})"_json)["x"].is_number_float());
}

TEST_CASE("An expression does not round integers of 64 bits", "[search_space][unit]") {
  const auto x = [](const std::string& text, std::int64_t seed) {
    const SearchSpace space = space_of({{"seed", seed}, {"x", {{"expr", text}}}});
    Random random(1);
    const Json config = space.sample(0, random);
    return space.without_value(config) ? Json(*space.without_value(config)) : config["x"];
  };
  constexpr std::int64_t seed = 5549263839241013915;
  CHECK(x("seed", seed) == seed);
  CHECK(x("seed + 1", seed) == seed + 1);
  CHECK(x("seed > 7 ? seed - 1 : 0", seed) == seed - 1);
  CHECK(x("seed / 5", seed) == seed / 5);
  CHECK(x("seed * 4", seed).is_string());
  CHECK(x("seed / 2", seed) == 2774631919620506957.5);
  CHECK(x("seed * 0.5", seed) ==
        "cannot evaluate /x = 'seed * 0.5': a whole number in it would be rounded: it is beyond "
        "2^53 and meets a fraction or a function there, or has more than 127 bits");
  CHECK(x("seed ** 2", seed) ==
        "cannot evaluate /x = 'seed ** 2': the result is a whole number of more than 64 bits");
  CHECK(x("seed // 2 if seed % 2 else seed", seed) == seed / 2);
  CHECK(x("(seed ** 3 + 1) % 10", 3037000501) == 2);
  CHECK(x("10 ** 40", 1).is_string());
  CHECK(x("1.0 * seed ** 2", 1 << 30) == 0x1p60);
  CHECK(x("0.5 * seed", std::int64_t{1} << 60) == 0x1p59);
  CHECK(x("seed / 2", 5).get<double>() == 2.5);
  CHECK(x("seed / 2", (std::int64_t{1} << 53) + 1) == 4503599627370496.5);
  CHECK(x("sqrt(seed)", (std::int64_t{1} << 53) + 1).is_string());
}

TEST_CASE("Expressions may need each other in any order", "[search_space][unit]") {
  const Json config = sample_of(
      R"({"a": {"expr": "b + 1"}, "b": {"expr": "c + 1"}, "c": {"expr": "d + 1"}, "d": 1})"_json);
  CHECK(config == R"({"a": 4, "b": 3, "c": 2, "d": 1})"_json);
}

TEST_CASE("Expressions that cannot be evaluated are refused beforehand where that can be known",
          "[search_space][unit]") {
  CHECK(problems_of(R"({"a": {"expr": "b + 1"}})"_json) ==
        std::vector<std::string>{"/a/expr: 'expr' uses 'b', which the param space lacks"});
  CHECK(problems_of(R"({"a": {"expr": "b + 1"}, "b": "x"})"_json) ==
        std::vector<std::string>{"/a/expr: 'expr' uses 'b', which is not a number"});
  CHECK(problems_of(R"({"a": {"expr": "b + 1"}, "b": {"c": 1}})"_json).size() == 1);
  CHECK(problems_of(R"({"a": {"expr": "a + 1"}})"_json).size() == 1);
  CHECK(problems_of(R"({"a": {"expr": "b + 1"}, "b": {"expr": "a + 1"}})"_json) ==
        std::vector<std::string>{"/b/expr: 'expr' needs its own value: it and '/a/expr' go round "
                                 "in a circle"});
}

TEST_CASE(
    "An expression may use a name that only some configs have, which are those that can be tried",
    "[search_space][unit]") {
  const SearchSpace space =
      space_of(R"({"opt": {"choice": [{"m": 1}, {"n": 2}]}, "x": {"expr": "opt.m * 10"}})"_json);
  Random random(1);
  int good = 0;
  int bad = 0;
  for (int i = 0; i < 50; ++i) {
    const Json config = space.sample(0, random);
    if (const auto reason = space.without_value(config)) {
      CHECK(*reason == "cannot evaluate /x = 'opt.m * 10': this config has no 'opt.m'");
      ++bad;
    } else {
      CHECK(config["x"] == 10);
      ++good;
    }
  }
  CHECK(good > 10);
  CHECK(bad > 10);
}

TEST_CASE("What only a drawn value makes impossible is said of that config",
          "[search_space][unit]") {
  const auto reason_at = [](const Json& json, std::uint64_t grid_point = 0) {
    const SearchSpace space = space_of(json);
    Random random(1);
    return space.without_value(space.sample(grid_point, random)).value_or("none");
  };
  CHECK(reason_at(R"({"a": {"choice": [0]}, "x": {"expr": "1 / a"}})"_json) ==
        "cannot evaluate /x = '1 / a': the result is not a finite number");
  CHECK(reason_at(R"({"a": {"grid_search": ["s", 1]}, "x": {"expr": "a"}})"_json) ==
        "cannot evaluate /x = 'a': 'a' is not a number but \"s\"");
  const Json circle = R"({"a": {"grid_search": [{"expr": "x"}, 1]}, "x": {"expr": "a"}})"_json;
  CHECK(reason_at(circle) == "cannot evaluate /a = 'x': expressions go round in a circle");
  CHECK(reason_at(circle, 1) == "none");
  // What needs it has no value either, and the first one is to blame.
  CHECK(
      reason_at(
          R"({"a": {"choice": [0]}, "b": {"expr": "c > 1 ? 1 : 2"}, "c": {"expr": "1 / a"}})"_json) ==
      "cannot evaluate /c = '1 / a': the result is not a finite number");
}

TEST_CASE("A config is unfit for an expression without a value, or for a constraint",
          "[search_space][unit]") {
  const SearchSpace space =
      space_of(R"({"a": {"grid_search": [0, 1, 2, 3]}, "x": {"expr": "1 / a"}})"_json);
  const std::vector<Constraint> constraints = {space.constraint("a <= 2"),
                                               space.constraint("1 / (a - 1) >= -5")};
  Random random(1);
  const auto why = [&](std::uint64_t point) {
    return why_unfit(space, constraints, space.sample(point, random)).value_or("none");
  };
  CHECK(why(0) == "cannot evaluate /x = '1 / a': the result is not a finite number");
  // Its value is minus infinity, which nothing is known from.
  CHECK(why(1) == "the config breaks the constraint '1 / (a - 1) >= -5'");
  CHECK(why(2) == "none");
  CHECK(why(3) == "the config breaks the constraint 'a <= 2'");
  CHECK(has_unfit(space, {}));
  CHECK_FALSE(has_unfit(space_of({{"a", 1}}), {}));
}

TEST_CASE("All problems of a space are collected with their places", "[search_space][unit]") {
  CHECK(problems_of(R"({"a/b": {"loguniform": [0, 1]}, "~": [1, {"choice": []}],
                        "c": {"choice": [{"x": {"randn": [0, -1]}}]},
                        "d": {"grid_search": [{"uniform": [1]}]}})"_json) ==
        std::vector<std::string>{
            "/a~1b/loguniform: 'loguniform' needs lower > 0, got 0",
            "/c/choice/0/x/randn: 'randn' needs sd > 0, got -1",
            "/d/grid_search/0/uniform: 'uniform' needs 2 numbers [lower, upper], got 1",
            "/~0/1/choice: 'choice' needs at least one value, got an empty list"});
}

TEST_CASE("A space that is not an object of hyperparameters is refused", "[search_space][unit]") {
  CHECK(problems_of(3) ==
        std::vector<std::string>{": the param space must be an object of hyperparameters, got 3"});
  CHECK(problems_of(R"({"uniform": [0, 1]})"_json) ==
        std::vector<std::string>{": the param space must be an object of hyperparameters: put "
                                 "{\"uniform\":[0,1]} below a name"});
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json{{"x", std::move(deep)}};
  REQUIRE(problems_of(deep).size() == 1);
  CHECK(problems_of(deep)[0].ends_with("the param space is nested deeper than 64"));
}

TEST_CASE("A grid inside a choice is refused", "[search_space][unit]") {
  const auto problems =
      problems_of(R"({"a": {"choice": [1, {"b": {"grid_search": [1, 2]}}]}})"_json);
  CHECK(problems ==
        std::vector<std::string>{"/a/choice/1/b: 'grid_search' cannot be inside a 'choice', "
                                 "because the number of trials would not be known beforehand"});
}

TEST_CASE("A preset fixes what it names and leaves the rest to be drawn", "[search_space][unit]") {
  const SearchSpace space = space_of(R"({"lr": {"uniform": [0, 1]}, "n": {"randint": [0, 1000]},
                                         "list": [{"uniform": [0, 1]}, {"uniform": [0, 1]}]})"_json);
  Random random(1);
  const Json preset = R"({"lr": 0.5, "list": [null, 0.25]})"_json;
  CHECK(space.check_preset(preset).empty());
  const Json one = space.sample(0, random, preset);
  const Json two = space.sample(0, random, preset);
  CHECK(one["lr"] == 0.5);
  CHECK(one["list"][1] == 0.25);
  CHECK(one["n"] != two["n"]);
  CHECK(one["list"][0] != two["list"][0]);
}

TEST_CASE("Each element of a preset's list is held against its own domain",
          "[search_space][unit]") {
  const Json pair = R"([{"uniform": [0, 1]}, {"uniform": [5, 6]}])"_json;
  CHECK(preset_problems({{"list", pair}}, R"({"list": [5, 5]})"_json).size() == 1);
  CHECK(preset_problems({{"list", pair}}, R"({"list": [0.5, 0]})"_json).size() == 1);
  CHECK(preset_problems({{"list", pair}}, R"({"list": [5, 0]})"_json).size() == 2);
  const Json choice = {{"either", {{"choice", {pair, "none"}}}}};
  CHECK(preset_problems(choice, R"({"either": [0.5, 5.5]})"_json).empty());
  CHECK(preset_problems(choice, R"({"either": [5, 5.5]})"_json).size() == 1);
  CHECK(preset_problems(choice, R"({"either": [0.5, 0]})"_json).size() == 1);
}

TEST_CASE("A preset gives a choice's value as it shall be, whole or in part",
          "[search_space][unit]") {
  const SearchSpace space = space_of(R"({"opt": {"choice": [
    {"name": "sgd", "lr": {"uniform": [0, 1]}}, {"name": "adam"}, null, {"uniform": [5, 6]}]}})"_json);
  Random random(1);
  const auto fixed = [&](const Json& value) {
    REQUIRE(space.check_preset({{"opt", value}}).empty());
    return space.sample(0, random, {{"opt", value}})["opt"];
  };
  CHECK(fixed({{"name", "sgd"}, {"lr", 0.5}}) == Json{{"name", "sgd"}, {"lr", 0.5}});
  CHECK(fixed({{"name", "sgd"}}).size() == 2);
  CHECK(fixed({{"name", "adam"}}) == Json{{"name", "adam"}});
  CHECK(fixed(5.5) == 5.5);
  for (int i = 0; i < 20; ++i) CHECK(fixed(nullptr) == nullptr);
}

TEST_CASE("A preset that fixes a grid takes its points away", "[search_space][unit]") {
  const SearchSpace space = space_of(
      R"({"a": {"grid_search": [1, {"x": {"grid_search": [7, 8]}}]}, "b": {"grid_search": [3, 4, 5]}})"_json);
  CHECK(space.grid_size() == 9);
  CHECK(space.grid_size({{"b", 4}}) == 3);
  CHECK(space.grid_size({{"a", 1}}) == 3);
  CHECK(space.grid_size({{"a", Json::object()}}) == 6);
  CHECK(space.grid_size(R"({"a": {"x": 8}, "b": 3})"_json) == 1);
  Random random(1);
  std::vector<Json> configs;
  for (int i = 0; i < 3; ++i) configs.push_back(space.sample(i, random, {{"b", 4}}));
  CHECK(configs[0] == R"({"a": 1, "b": 4})"_json);
  CHECK(configs[1] == R"({"a": {"x": 7}, "b": 4})"_json);
  CHECK(configs[2] == R"({"a": {"x": 8}, "b": 4})"_json);
}

TEST_CASE("Every config of a space is a preset that gives the same config",
          "[search_space][property]") {
  const SearchSpace space = space_of(R"({
    "lr": {"loguniform": [1e-5, 1]}, "q": {"quniform": [0, 1, 0.05]}, "k": {"qrandint": [0, 64, 8]},
    "layers": [{"randint": [1, 9]}, {"choice": [{"act": "relu"}, {"act": {"choice": ["a", "b"]}}]}],
    "fixed": {"x": [1, 2]}, "half": {"expr": "lr / 2"}, "g": {"grid_search": [1, {"r": {"randn": [0, 1]}}]}})"_json);
  Random random(11);
  for (int i = 0; i < 200; ++i) {
    const Json config = space.sample(i % space.grid_size(), random);
    REQUIRE(space.check_preset(config).empty());
    REQUIRE(space.grid_size(config) == 1);
    REQUIRE(space.sample(0, random, config) == config);
  }
}

TEST_CASE("Expressions of a changed config are evaluated anew, or have no value",
          "[search_space][unit]") {
  const SearchSpace space = space_of(R"({
    "e": {"uniform": [-3, 0]}, "a": {"expr": "10 ** e"}, "k": {"choice": [0, 1, 2, 4]},
    "h": {"expr": "8 // k"}, "both": {"expr": "a * h"},
    "opt": {"choice": [{"m": {"uniform": [0, 1]}, "n": {"choice": [1, 2]}, "d": {"expr": "opt.m / 2"}}, 7]}})"_json);
  Random random(1);
  Json config = space.sample(0, random, R"({"e": -2, "k": 2, "opt": {"m": 0.5}})"_json);
  CHECK(space.evaluated(config) == config);
  config["e"] = -1;
  config["k"] = 4;
  // Neither is in the space: who changes configs need not keep to it.
  config["opt"]["m"] = 3;
  config["opt"]["n"] = 3;
  const Json changed = space.evaluated(config);
  CHECK(changed["a"] == Approx(0.1));
  CHECK(changed["h"] == 2);
  CHECK(changed["both"] == Approx(0.2));
  CHECK(changed["opt"]["d"] == 1.5);
  CHECK_FALSE(why_unfit(space, {}, changed));
  config["k"] = 0;
  CHECK(why_unfit(space, {}, space.evaluated(config)) ==
        "cannot evaluate /h = '8 // k': the result is not a finite number");
  CHECK(space.is_expression("/a"));
  CHECK(space.is_expression("/opt/d"));
  CHECK_FALSE(space.is_expression("/e"));
}

TEST_CASE("A number that a choice states is not taken for the value of its expression",
          "[search_space][unit]") {
  const SearchSpace space = space_of(
      R"({"lr": {"uniform": [0, 1]}, "wd": {"choice": [{"expr": "lr / 2"}, 0.125]}})"_json);
  CHECK(space.evaluated({{"lr", 0.5}, {"wd", 0.125}})["wd"] == 0.125);
  CHECK(space.evaluated({{"lr", 0.5}, {"wd", 0.375}})["wd"] == 0.25);
}

TEST_CASE("A preset's value of an expression is evaluated anew, and is refused alone",
          "[search_space][unit]") {
  const Json space = R"({"e": {"uniform": [-3, 0]}, "a": {"expr": "10 ** e"}})"_json;
  Random random(1);
  const Json preset = {{"a", 0.5}, {"e", -1}};
  CHECK(preset_problems(space, preset).empty());
  CHECK(space_of(space).sample(0, random, preset)["a"] == Approx(0.1));
  CHECK(preset_problems(space, {{"a", nullptr}}).empty());
  CHECK(preset_problems(space, {{"a", 0.5}}) ==
        std::vector<std::string>{"/a: 0.5 cannot be given for '10 ** e', whose value follows from "
                                 "others: leave it out, or give 'e', too"});
}

TEST_CASE("What is wrong with a preset is said at its place", "[search_space][unit]") {
  const Json space = R"({"lr": {"uniform": [0, 1]}, "model": {"n": {"choice": [1, 2]}}, "c": 3,
                         "l": [1, 2], "e": {"expr": "c"}})"_json;
  CHECK(preset_problems(space, {{"lr", 2}}) ==
        std::vector<std::string>{"/lr: 2 cannot be drawn from {\"uniform\":[0,1]}"});
  CHECK(preset_problems(space, R"({"model": {"n": 3}})"_json) ==
        std::vector<std::string>{"/model/n: 3 is none of the values of {\"choice\":[1,2]}"});
  CHECK(preset_problems(space, R"({"model": {"nn": 3}})"_json) ==
        std::vector<std::string>{"/model/nn: unknown hyperparameter 'nn', did you mean 'n'?"});
  CHECK(preset_problems(space, R"({"lrr": 3, "c": 4, "l": [1]})"_json).size() == 3);
  CHECK(preset_problems(space, {{"c", 4}}) ==
        std::vector<std::string>{"/c: 4 differs from the fixed value 3"});
  CHECK(preset_problems(space, {{"e", "x"}}).size() == 1);
  CHECK(preset_problems(space, {{"model", 1}}) ==
        std::vector<std::string>{"/model: an object is expected, got 1"});
  CHECK(preset_problems(space, 3) ==
        std::vector<std::string>{": a point must be an object, got 3"});
}

TEST_CASE("leaf_values finds what was drawn for a config", "[search_space][property]") {
  const SearchSpace space = space_of(R"({
    "a": {"uniform": [0, 1]},
    "b": {"choice": [{"kind": "x", "v": {"randint": [0, 5]}},
                     {"kind": "y", "v": {"randint": [0, 5]}, "w": {"choice": ["p", "q"]}}]},
    "c": [{"randn": [0, 1]}], "d": {"grid_search": [1, {"uniform": [5, 6]}]}})"_json);
  const auto& leaves = space.leaves();
  std::vector<std::string> pointers;
  for (const SpaceLeaf& leaf : leaves) pointers.push_back(leaf.pointer);
  CHECK(pointers == std::vector<std::string>{"/a", "/b", "/b/v", "/b/v", "/b/w", "/c/0", "/d"});
  CHECK_FALSE(leaves[1].conditional);
  CHECK(leaves[2].conditional);
  CHECK(leaves[6].conditional);
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    std::vector<Json> drawn(leaves.size());
    const Json config = space.assemble(i % 2, [&](std::size_t leaf) {
      drawn[leaf] = draw_leaf(leaves[leaf].domain, random);
      return drawn[leaf];
    });
    REQUIRE(space.leaf_values(config) == drawn);
  }
}

TEST_CASE("A tag names what was drawn, as short as it can", "[search_space][unit]") {
  const auto tag = [](const Json& space, const Json& config) {
    return space_of(space).tag(config);
  };
  CHECK(
      tag(R"({"model": {"hidden": {"randint": [1, 99]}}, "lr": {"uniform": [0, 1]}, "k": 3})"_json,
          R"({"model": {"hidden": 32}, "lr": 0.00123456, "k": 3})"_json) ==
      "lr=0.001235,hidden=32");
  CHECK(tag(R"({"a": {"lr": {"uniform": [0, 1]}}, "b": {"lr": {"uniform": [0, 1]}}})"_json,
            R"({"a": {"lr": 0.5}, "b": {"lr": 1e-7}})"_json) == "a/lr=0.5,b/lr=1e-07");
  CHECK(
      tag(R"({"s": {"choice": [{"act": "relu", "n": [1, 2]}, null]}, "l": [{"choice": [true]}]})"_json,
          R"({"s": {"act": "relu", "n": [1, 2]}, "l": [true]})"_json) ==
      "l/0=true,act=relu,n=[1,2]");
  CHECK(tag(R"({"a": 1})"_json, R"({"a": 1})"_json) == "");
  CHECK(tag(R"({"a": {"choice": ["two\nlines"]}})"_json, R"({"a": "two\nlines"})"_json) ==
        "a=two\\nlines");
}

TEST_CASE("A tag has at most 100 characters and cuts none in half", "[search_space][unit]") {
  Json json;
  for (int i = 0; i < 30; ++i) json["schl\u00fcssel" + std::to_string(i)]["randint"] = {1, 9};
  const std::string tag = space_of(json).tag(sample_of(json));
  CHECK(tag.size() <= 100);
  CHECK(tag.size() >= 95);
  CHECK(tag.ends_with("..."));
  CHECK_NOTHROW(Json(tag).dump());
}
