#include "schedulers/mutations.h"

#include <set>

#include "tests/support/catch.h"

using namespace tune;

namespace {

std::vector<Mutation> mutations_of(const Json& json) {
  std::vector<Problem> problems;
  auto mutations = parse_mutations(json, "", problems);
  REQUIRE(problems.empty());
  return mutations;
}

/// All that `times` explorations of `config` make of its "x".
std::set<Json> outcomes(const Json& config, const Json& mutation, double resample_probability,
                        int times = 200) {
  Random random(1);
  std::set<Json> seen;
  for (int i = 0; i < times; ++i) {
    seen.insert(explore(config, mutations_of({{"x", mutation}}), {resample_probability, {1.2, 0.8}},
                        random)["x"]);
  }
  return seen;
}

}  // namespace

TEST_CASE("A value of a list moves to a neighbour, and does not leave the list", "[mutations]") {
  const Json list = {16, 32, 64, 128};
  CHECK(outcomes({{"x", 32}}, list, 0) == std::set<Json>{16, 64});
  CHECK(outcomes({{"x", 16}}, list, 0) == std::set<Json>{16, 32});
  CHECK(outcomes({{"x", 128}}, list, 0) == std::set<Json>{64, 128});
  CHECK(outcomes({{"x", "a"}}, {{"choice", {"a", "b", "c"}}}, 0) == std::set<Json>{"a", "b"});
}

TEST_CASE("A value that is not in the list, or is drawn anew, is any of the list's",
          "[mutations]") {
  const Json list = {1, 2, 3};
  CHECK(outcomes({{"x", 7}}, list, 0) == std::set<Json>{1, 2, 3});
  CHECK(outcomes(Json::object(), list, 0) == std::set<Json>{1, 2, 3});
  CHECK(outcomes({{"x", 1}}, list, 1) == std::set<Json>{1, 2, 3});
}

TEST_CASE("A number is multiplied with one of the factors, and an integer stays one",
          "[mutations]") {
  CHECK(outcomes({{"x", 0.5}}, {{"uniform", {0, 1}}}, 0) == std::set<Json>{0.5 * 0.8, 0.5 * 1.2});
  CHECK(outcomes({{"x", 9}}, {{"randint", {1, 100}}}, 0) == std::set<Json>{7, 11});
}

TEST_CASE("What has steps moves by one at least, wherever it is", "[mutations]") {
  const std::vector<Json> domains = {
      {{"quniform", {0, 0.5, 0.1}}}, {{"quniform", {-1, 1, 0.5}}}, {{"qloguniform", {0.5, 4, 0.5}}},
      {{"qrandn", {0, 1, 0.25}}},    {{"randint", {0, 6}}},        {{"qrandint", {-16, 16, 8}}},
      {{"lograndint", {1, 9}}},      {{"qlograndint", {8, 64, 8}}}};
  for (const Json& domain : domains) {
    std::vector<Problem> problems;
    const auto parsed = parse_domain(domain, "", problems);
    REQUIRE(parsed);
    const std::uint64_t count = count_values(*parsed).value_or(5);
    for (std::uint64_t i = 0; i < count; ++i) {
      const bool is_bounded = count_values(*parsed).has_value();
      const Json value =
          is_bounded ? nth_value(*parsed, i) : Json(0.25 * static_cast<double>(i) - 0.5);
      INFO(domain.dump() << " " << value.dump());
      auto moved = outcomes({{"x", value}}, domain, 0);
      // At a bound one of the two directions leads nowhere.
      const bool is_end = is_bounded && (i == 0 || i + 1 == count);
      CHECK(moved.erase(value) == (is_end ? 1 : 0));
      CHECK(moved.size() == (is_end ? 1 : 2));
      for (const Json& one : moved) CHECK(contains(*parsed, one));
    }
  }
}

TEST_CASE("An integer moves by a step at least, so that a small one is no trap", "[mutations]") {
  CHECK(outcomes({{"x", 1}}, {{"randint", {1, 65}}}, 0) == std::set<Json>{1, 2});
  CHECK(outcomes({{"x", 4}}, {{"randint", {1, 65}}}, 0) == std::set<Json>{3, 5});
  CHECK(outcomes({{"x", 16}}, {{"qrandint", {8, 64, 8}}}, 0) == std::set<Json>{8, 24});
  CHECK(outcomes({{"x", -2}}, {{"randint", {-9, 9}}}, 0) == std::set<Json>{-3, -1});
  Random random(1);
  int ones = 0;
  for (int i = 0; i < 200; ++i) {
    Json config = {{"x", 32}};
    for (int k = 0; k < 50; ++k) {
      config =
          explore(config, mutations_of({{"x", {{"randint", {1, 65}}}}}), {0, {1.2, 0.8}}, random);
    }
    ones += config["x"] == 1 ? 1 : 0;
  }
  CHECK(ones < 40);
}

TEST_CASE("What kind of number it is says the domain, and not the value", "[mutations]") {
  CHECK(outcomes({{"x", 1}}, {{"uniform", {0.1, 2}}}, 0) == std::set<Json>{0.8, 1.2});
  const auto whole = outcomes({{"x", 10.0}}, {{"randint", {1, 65}}}, 0);
  CHECK(whole == std::set<Json>{8, 12});
  for (const Json& x : whole) CHECK(x.is_number_integer());
}

TEST_CASE("A number that is multiplied stays in its domain, and on its grid", "[mutations]") {
  CHECK(outcomes({{"x", 0.9}}, {{"uniform", {0.8, 1}}}, 0) == std::set<Json>{0.8, 1.0});
  CHECK(outcomes({{"x", 9}}, {{"randint", {8, 10}}}, 0) == std::set<Json>{8, 9});
  CHECK(outcomes({{"x", 64}}, {{"qrandint", {16, 72, 8}}}, 0) == std::set<Json>{48, 72});
  CHECK(outcomes({{"x", 5.0}}, {{"randn", {0, 1}}}, 0) == std::set<Json>{4.0, 6.0});
}

TEST_CASE("A number that is drawn anew is in its domain", "[mutations]") {
  const auto seen = outcomes({{"x", 50.0}}, {{"loguniform", {0.01, 1}}}, 1);
  CHECK(seen.size() > 100);
  for (const Json& x : seen) {
    CHECK(x >= 0.01);
    CHECK(x <= 1);
  }
}

TEST_CASE("Mutations reach into nested parts and leave the rest alone", "[mutations]") {
  Random random(1);
  const Json config = {{"model", {{"lr", 1.0}, {"depth", 3}}}, {"seed", 4}};
  const Json changed =
      explore(config, mutations_of({{"model", {{"lr", {{"uniform", {0, 4}}}}}}}), {0, {2}}, random);
  CHECK(changed == Json{{"model", {{"lr", 2.0}, {"depth", 3}}}, {"seed", 4}});
}

TEST_CASE("What cannot be mutated is refused, with its place", "[mutations]") {
  std::vector<Problem> problems;
  parse_mutations({{"a", 3},
                   {"b", {{"grid_search", {1, 2}}}},
                   {"c", {{"d", Json::array()}}},
                   {"e", {{"uniform", {1, 0}}}}},
                  "/m", problems);
  REQUIRE(problems.size() == 4);
  CHECK(problems[0].pointer == "/m/a");
  CHECK(problems[1].pointer == "/m/b");
  CHECK(problems[2].pointer == "/m/c/d");
  CHECK(problems[3].pointer.starts_with("/m/e"));
}
