#include "tuner/space/domain.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "tests/support/catch.h"

using namespace tune;

namespace {

Domain domain_of(const Json& json) {
  std::vector<Problem> problems;
  auto domain = parse_domain(json, "", problems);
  REQUIRE(problems.empty());
  REQUIRE(domain);
  return *domain;
}

/// "pointer: sentence" of the only problem.
std::string problem_of(const Json& json) {
  std::vector<Problem> problems;
  const auto domain = parse_domain(json, "/lr", problems);
  CHECK_FALSE(domain);
  REQUIRE(problems.size() == 1);
  return problems[0].pointer + ": " + problems[0].sentence;
}

std::vector<double> draw_sorted(const Json& json, int n) {
  const Domain domain = domain_of(json);
  Random random(42);
  std::vector<double> values;
  for (int i = 0; i < n; ++i) {
    const Json value = draw(domain, random);
    REQUIRE(contains(domain, value));
    values.push_back(value.get<double>());
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

TEST_CASE("Domain arguments may be a list or named", "[domain][unit]") {
  CHECK(std::get<Uniform>(domain_of({{"uniform", {{"upper", 2}, {"lower", 1}}}})).upper == 2);
  const auto normal = std::get<Normal>(domain_of({{"qrandn", {{"mean", 1}, {"sd", 2}, {"q", 3}}}}));
  CHECK(normal.mean == 1);
  CHECK(normal.sd == 2);
  CHECK(normal.q == 3);
  const auto integer = std::get<Integer>(domain_of({{"qlograndint", {1, 1e3, 5}}}));
  CHECK(integer.lower == 1);
  CHECK(integer.upper == 1000);
  CHECK(integer.q == 5);
  CHECK(integer.log);
  CHECK(std::get<Choice>(domain_of({{"choice", {1, "a", nullptr}}})).values.size() == 3);
  CHECK(std::get<GridSearch>(domain_of({{"grid_search", {1}}})).values.size() == 1);
  CHECK(std::get<Expr>(domain_of({{"expr", "a + 1"}})).text == "a + 1");
}

TEST_CASE("Plain values are no domain and no problem", "[domain][unit]") {
  const Json one_key_list = {{"sizes", {1, 2}}};
  const Json far_names = {{"norm", {1, 2}}};
  const Json one_edit_but_no_list = {{"uniformm", 3}};
  const Json one_edit_but_no_numbers = {{"uniformm", {"a", "b"}}};
  const Json escaped = {{"value", {{"uniform", {0, 1}}}}};
  for (const Json& json :
       {Json(3), Json("uniform"), Json::array({1, 2}), Json::object(), one_key_list, far_names,
        one_edit_but_no_list, one_edit_but_no_numbers, escaped}) {
    std::vector<Problem> problems;
    CHECK_FALSE(parse_domain(json, "", problems));
    CHECK(problems.empty());
  }
}

TEST_CASE("A bad domain is described in one sentence at its place", "[domain][unit]") {
  const auto not_a_number = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"loguniform", {-1, 1}}}, "/lr/loguniform: 'loguniform' needs lower > 0, got -1"},
      {{{"lograndint", {0, 10}}}, "/lr/lograndint: 'lograndint' needs lower > 0, got 0"},
      {{{"uniform", {1, 1}}}, "/lr/uniform: 'uniform' needs lower < upper, got 1 and 1"},
      {{{"randint", {5, 2}}}, "/lr/randint: 'randint' needs lower < upper, got 5 and 2"},
      {{{"randn", {0, 0}}}, "/lr/randn: 'randn' needs sd > 0, got 0"},
      {{{"uniform", {1, 2, 3}}}, "/lr/uniform: 'uniform' needs 2 numbers [lower, upper], got 3"},
      {{{"qrandn", {1, 2}}}, "/lr/qrandn: 'qrandn' needs 3 numbers [mean, sd, q], got 2"},
      {{{"uniform", 3}}, "/lr/uniform: 'uniform' needs [lower, upper], got 3"},
      {{{"uniform", {0, "1"}}}, "/lr/uniform/1: 'uniform' needs a number for 'upper', got \"1\""},
      {{{"uniform", {0, not_a_number}}},
       "/lr/uniform/1: 'uniform' needs a number for 'upper', got null"},
      {{{"randint", {0, 1.5}}},
       "/lr/randint/1: 'randint' needs a whole number for 'upper', got 1.5"},
      {{{"uniform", {{"lower", 0}}}}, "/lr/uniform: 'uniform' needs 'upper'"},
      {{{"uniform", {{"lower", 0}, {"upper", 1}, {"uper", 1}}}},
       "/lr/uniform/uper: 'uniform' has an unknown argument 'uper', did you mean 'upper'?"},
      {{{"uniform", {-1e308, 1e308}}}, "/lr/uniform: 'uniform' needs a finite upper - lower"},
      {{{"quniform", {0, 1, 0.3}}},
       "/lr/quniform: 'quniform' needs bounds that are multiples of q = 0.3, got 1"},
      {{{"quniform", {0, 1, 0}}}, "/lr/quniform: 'quniform' needs q > 0, got 0"},
      {{{"qrandint", {0, 10, 0}}}, "/lr/qrandint: 'qrandint' needs q >= 1, got 0"},
      {{{"qrandint", {11, 19, 10}}},
       "/lr/qrandint: 'qrandint' needs a multiple of q = 10 from 11 to 19"},
      {{{"choice", Json::array()}},
       "/lr/choice: 'choice' needs at least one value, got an empty list"},
      {{{"grid_search", 3}}, "/lr/grid_search: 'grid_search' needs a list of values, got 3"},
      {{{"expr", 3}}, "/lr/expr: 'expr' needs a string, got 3"},
      {{{"expr", "a +"}},
       "/lr/expr: 'a +' is not an expression: unexpected end of expression at character 4"},
      {{{"uniform", {0, 1}}, {"lr", 2}},
       "/lr: 'uniform' must be alone in its object, but for 'prior'; write {\"value\": {...}} "
       "around an object that "
       "is meant as it is"},
      {{{"log_uniform", {0, 1}}},
       "/lr/log_uniform: unknown domain 'log_uniform', did you mean 'loguniform'? Write "
       "{\"value\": "
       "{...}} around an object that is meant as it is"},
      {{{"choices", {"a", "b"}}},
       "/lr/choices: unknown domain 'choices', did you mean 'choice'? Write {\"value\": {...}} "
       "around an object that is meant as it is"},
  };
  for (const auto& [json, expected] : cases) {
    INFO(json.dump());
    CHECK(problem_of(json) == expected);
  }
}

TEST_CASE("All problems of one domain are found", "[domain][unit]") {
  std::vector<Problem> problems;
  CHECK_FALSE(parse_domain({{"qloguniform", {-3, -4, -1}}}, "", problems));
  CHECK(problems.size() == 3);
  problems.clear();
  CHECK_FALSE(parse_domain({{"uniform", {{"low", "x"}, {"upper", "y"}}}}, "", problems));
  CHECK(problems.size() == 3);
}

TEST_CASE("uniform covers its interval", "[domain][statistics]") {
  const auto values = draw_sorted({{"uniform", {2, 4}}}, 10000);
  CHECK(values.front() >= 2);
  CHECK(values.front() < 2.01);
  CHECK(values.back() < 4);
  CHECK(values.back() > 3.99);
  CHECK(values[5000] == Approx(3).margin(0.05));
}

TEST_CASE("loguniform has its median at the geometric mean of its bounds", "[domain][statistics]") {
  const auto values = draw_sorted({{"loguniform", {1e-6, 1e-2}}}, 10000);
  CHECK(values.front() >= 1e-6);
  CHECK(values.back() < 1e-2);
  CHECK(std::log10(values[5000]) == Approx(-4).margin(0.1));
}

TEST_CASE("Quantised reals are multiples of q, written as people would, and reach both bounds",
          "[domain][statistics]") {
  const auto values = draw_sorted({{"quniform", {0.1, 0.7, 0.1}}}, 1000);
  CHECK(std::set<double>(values.begin(), values.end()) ==
        std::set<double>{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7});
  const auto logs = draw_sorted({{"qloguniform", {5, 50, 5}}}, 1000);
  CHECK(logs.front() == 5);
  CHECK(logs.back() == 50);
  CHECK(std::set<double>(logs.begin(), logs.end()).size() == 10);
}

TEST_CASE("randn has its mean and spread, and qrandn multiples of q", "[domain][statistics]") {
  const auto values = draw_sorted({{"randn", {10, 2}}}, 10000);
  CHECK(values[5000] == Approx(10).margin(0.1));
  CHECK(values[8413] - values[5000] == Approx(2).margin(0.1));
  for (const double value : draw_sorted({{"qrandn", {0, 10, 0.25}}}, 1000)) {
    REQUIRE(value * 4 == std::trunc(value * 4));
  }
}

TEST_CASE("randint gives integers below its upper bound, each equally often",
          "[domain][statistics]") {
  const Domain domain = domain_of({{"randint", {-2, 2}}});
  Random random(1);
  std::map<std::int64_t, int> counts;
  for (int i = 0; i < 8000; ++i) {
    const Json value = draw(domain, random);
    REQUIRE(value.is_number_integer());
    ++counts[value.get<std::int64_t>()];
  }
  REQUIRE(counts.size() == 4);
  CHECK(counts.begin()->first == -2);
  for (const auto& [value, count] : counts) CHECK(count == Approx(2000).margin(200));
}

TEST_CASE("qrandint reaches its upper bound if that is a multiple of q above 1",
          "[domain][statistics]") {
  const auto set_of = [](const Json& json) {
    const auto values = draw_sorted(json, 1000);
    return std::set<double>(values.begin(), values.end());
  };
  CHECK(set_of({{"qrandint", {10, 30, 10}}}) == std::set<double>{10, 20, 30});
  CHECK(set_of({{"qrandint", {-25, 19, 10}}}) == std::set<double>{-20, -10, 0, 10});
  CHECK(set_of({{"qrandint", {0, 3, 1}}}) == std::set<double>{0, 1, 2});
  CHECK(set_of({{"qlograndint", {3, 20, 4}}}) == std::set<double>{4, 8, 12, 16, 20});
}

TEST_CASE("lograndint prefers small numbers and stays below its upper bound",
          "[domain][statistics]") {
  const auto values = draw_sorted({{"lograndint", {1, 10000}}}, 10000);
  CHECK(values.front() == 1);
  CHECK(values.back() < 10000);
  CHECK(values[5000] == Approx(100).epsilon(0.2));
  const auto two = draw_sorted({{"lograndint", {1, 3}}}, 1000);
  CHECK(two.front() == 1);
  CHECK(two.back() == 2);
}

TEST_CASE("A range too narrow for logarithms gives each of its numbers as often",
          "[domain][statistics]") {
  const std::int64_t two_to_51 = std::int64_t{1} << 51, two_to_60 = std::int64_t{1} << 60;
  for (const std::int64_t lower : {two_to_51, two_to_60, std::int64_t{100'000'000}}) {
    for (const Json& json : {Json{{"lograndint", {lower, lower + 6}}},
                             Json{{"qlograndint", {lower * 4, lower * 4 + 20, 4}}}}) {
      INFO(json);
      const Domain domain = domain_of(json);
      Random random(1);
      std::map<std::int64_t, int> counts;
      for (int i = 0; i < 6000; ++i) ++counts[draw(domain, random).get<std::int64_t>()];
      CHECK(counts.size() == 6);
      for (const auto& [value, count] : counts) CHECK(count == Approx(1000).margin(120));
    }
  }
  const auto reals = draw_sorted({{"loguniform", {1e15, 1e15 + 1}}}, 800);
  CHECK(std::set<double>(reals.begin(), reals.end()).size() == 8);
  // What differs by more is drawn by its logarithm, as ever.
  CHECK(std::get<Integer>(domain_of({{"lograndint", {1'000'000, 1'000'002}}})).log);
}

TEST_CASE("Integers may span the whole range of the type", "[domain][unit]") {
  const auto lowest = std::numeric_limits<std::int64_t>::min();
  const auto highest = std::numeric_limits<std::int64_t>::max();
  Random random(5);
  int negative = 0;
  const Domain all = domain_of({{"randint", {lowest, highest}}});
  for (int i = 0; i < 1000; ++i) negative += draw(all, random).get<std::int64_t>() < 0 ? 1 : 0;
  CHECK(negative == Approx(500).margin(60));
  const Domain logs = domain_of({{"lograndint", {1, highest}}});
  for (int i = 0; i < 1000; ++i) REQUIRE(contains(logs, draw(logs, random)));
  const Domain narrow = domain_of({{"lograndint", {highest - 1, highest}}});
  CHECK(draw(narrow, random) == highest - 1);
}

TEST_CASE("choice picks each value equally often and keeps its type", "[domain][statistics]") {
  const Domain domain = domain_of({{"choice", {1, "1", nullptr, {{"a", 1}}}}});
  Random random(1);
  std::map<Json, int> counts;
  for (int i = 0; i < 8000; ++i) ++counts[draw(domain, random)];
  REQUIRE(counts.size() == 4);
  for (const auto& [value, count] : counts) CHECK(count == Approx(2000).margin(200));
}

TEST_CASE("contains knows bounds, multiples and types", "[domain][unit]") {
  const auto has = [](const Json& domain, const Json& value) {
    return contains(domain_of(domain), value);
  };
  CHECK(has({{"uniform", {0, 1}}}, 0));
  CHECK(has({{"uniform", {0, 1}}}, 1.0));
  CHECK_FALSE(has({{"uniform", {0, 1}}}, 1.01));
  CHECK_FALSE(has({{"uniform", {0, 1}}}, -0.01));
  CHECK_FALSE(has({{"uniform", {0, 1}}}, "0.5"));
  CHECK_FALSE(has({{"uniform", {0, 1}}}, true));
  CHECK(has({{"quniform", {0, 1, 0.1}}}, 0.1 + 0.2));
  CHECK_FALSE(has({{"quniform", {0, 1, 0.1}}}, 0.25));
  CHECK(has({{"randn", {0, 1}}}, -1e9));
  CHECK_FALSE(has({{"randn", {0, 1}}}, std::numeric_limits<double>::infinity()));
  CHECK_FALSE(has({{"qrandn", {0, 1, 0.5}}}, 0.75));
  CHECK(has({{"randint", {0, 3}}}, 2));
  CHECK_FALSE(has({{"randint", {0, 3}}}, 3));
  CHECK_FALSE(has({{"randint", {0, 3}}}, 2.0));
  CHECK(has({{"randint", {-3, 3}}}, -3));
  CHECK_FALSE(has({{"randint", {-3, 3}}}, -4));
  CHECK_FALSE(has({{"randint", {-3, 3}}}, std::numeric_limits<std::uint64_t>::max()));
  CHECK(has({{"qrandint", {0, 30, 10}}}, 30));
  CHECK_FALSE(has({{"qrandint", {0, 30, 10}}}, 25));
  CHECK_FALSE(has({{"qrandint", {10, 30, 10}}}, 0));
  CHECK_FALSE(has({{"qrandint", {0, 30, 10}}}, 40));
  CHECK(has({{"choice", {1, "a"}}}, "a"));
  CHECK_FALSE(has({{"choice", {1, "a"}}}, "b"));
  CHECK_FALSE(has({{"expr", "1"}}, 1));
}

TEST_CASE("The nearest value of a domain is one that it draws, or its bound", "[domain][unit]") {
  const auto nearest_of = [](const Json& json, double number) {
    return nearest(domain_of(json), number);
  };
  CHECK(nearest_of({{"randn", {0, 1}}}, 0.37) == 0.37);
  CHECK(nearest_of({{"qrandn", {0, 1, 0.25}}}, 0.37) == 0.25);
  CHECK(nearest_of({{"quniform", {0, 1, 0.25}}}, 7) == 1.0);
  CHECK(nearest_of({{"uniform", {0, 1}}}, -7) == 0.0);
  // Who drew it would not come to the bound; who wants it is given no neighbour of it.
  CHECK(nearest_of({{"uniform", {0.1, 3}}}, 7) == 3.0);
  CHECK(nearest_of({{"loguniform", {0.1, 3}}}, 3) == 3.0);
  CHECK(nearest_of({{"randint", {0, 10}}}, 3.6) == 4);
  CHECK(nearest_of({{"randint", {0, 10}}}, 30) == 9);
}

TEST_CASE("Values are the same if they are as text, and found as equal ones if there are none",
          "[domain][unit]") {
  CHECK(is_same(1, 1));
  CHECK(is_same(1, 1u));
  CHECK_FALSE(is_same(1, 1.0));
  CHECK(is_same(0.0, -0.0));
  CHECK_FALSE(is_same(R"({"a": [1, 2]})"_json, R"({"a": [1, 2.0]})"_json));
  CHECK(is_same(R"({"a": 1, "b": 0.5})"_json, R"({"b": 0.5, "a": 1})"_json));
  const std::vector<Json> values = {1, 1.0, "1", 2};
  CHECK(find_value(values, 1) == 0u);
  CHECK(find_value(values, 1.0) == 1u);
  CHECK(find_value(values, "1") == 2u);
  CHECK(find_value(values, 2.0) == 3u);
  CHECK_FALSE(find_value(values, 3));
}

TEST_CASE("Each step of a quantised number is as likely as its rule says, the bounds too",
          "[domain][statistics]") {
  constexpr int n = 60'000;
  struct Case {
    Json domain;
    std::vector<double> values;
    bool log;
  };
  const std::vector<Case> cases = {{{{"quniform", {32, 96, 32}}}, {32, 64, 96}, false},
                                   {{{"quniform", {-0.1, 0.2, 0.1}}}, {-0.1, 0, 0.1, 0.2}, false},
                                   {{{"qrandint", {4, 16, 4}}}, {4, 8, 12, 16}, false},
                                   {{{"qloguniform", {0.5, 2, 0.5}}}, {0.5, 1, 1.5, 2}, true},
                                   {{{"qlograndint", {2, 8, 2}}}, {2, 4, 6, 8}, true}};
  for (const auto& [json, values, log] : cases) {
    INFO(json.dump());
    const Domain domain = domain_of(json);
    const double half = (values[1] - values[0]) / 2;
    const auto place = [log = log](double x) { return log ? std::log(x) : x; };
    const double whole = place(values.back() + half) - place(values.front() - half);
    std::map<double, int> counts;
    Random random(7);
    for (int i = 0; i < n; ++i) ++counts[draw(domain, random).get<double>()];
    REQUIRE(counts.size() == values.size());
    double chi_squared = 0;
    for (const double value : values) {
      const double expected = n * (place(value + half) - place(value - half)) / whole;
      const double excess = counts[value] - expected;
      chi_squared += excess * excess / expected;
    }
    CHECK(chi_squared < 16.3);  // of 3 degrees of freedom, once in a thousand
  }
}

TEST_CASE("Bounds that are no steps are told the forms that draw what was meant",
          "[domain][unit]") {
  const auto sentence = [](const Json& domain) {
    return bounds_off_steps(domain_of(domain)).value_or("none");
  };
  CHECK(sentence({{"qrandint", {3, 7, 2}}}) ==
        "'qrandint' draws multiples of q = 2, so that its bounds must be multiples, got 3 and 7: "
        "between them, write {\"qrandint\":[4,6,2]}; from 3 on, {\"choice\":[3,5,7]}");
  CHECK(sentence({{"qlograndint", {10, 1000, 32}}}) ==
        "'qlograndint' draws multiples of q = 32, so that its bounds must be multiples, got 10 and "
        "1000: between them, write {\"qlograndint\":[32,992,32]}; from 10 on, "
        "{\"expr\":\"10 + 32 * n\"} with \"n\": {\"randint\":[0,31]}");
  CHECK(sentence({{"qrandint", {-8, 8, 4}}}) == "none");
  CHECK(sentence({{"qrandint", {3, 7, 1}}}) == "none");
  CHECK(sentence({{"randint", {3, 7}}}) == "none");
}

TEST_CASE("A long value is shortened between two characters", "[domain][unit]") {
  CHECK(shorten("abcdefgh", 10) == "\"abcdefgh\"");
  CHECK(shorten("abcdefghi", 10) == "\"abcdef...");
  CHECK(shorten("abcd\u00e4\u00e4\u00e4", 10) == "\"abcd\u00e4...");
  CHECK(shorten("abcde\u00e4\u00e4\u00e4", 10) == "\"abcde...");
}

TEST_CASE("A zero has no sign where it is drawn, nor where values are compared", "[domain][unit]") {
  const std::vector<double> drawn = draw_sorted({{"quniform", {-1, 1, 0.5}}}, 100);
  CHECK(std::count(drawn.begin(), drawn.end(), 0) > 0);
  CHECK(std::none_of(drawn.begin(), drawn.end(),
                     [](double value) { return value == 0 && std::signbit(value); }));
  CHECK(nearest(domain_of({{"quniform", {-1, 1, 0.5}}}), -0.1).dump() == "0.0");
  CHECK(is_same(0.0, -0.0));
  CHECK(is_same({{"a", {1, -0.0}}}, {{"a", {1, 0.0}}}));
  CHECK_FALSE(is_same(0, -0.0));
  CHECK_FALSE(is_same(1, 1.0));
  CHECK(text_of_same({{"a", -0.0}, {"b", -1}}) == R"({"a":0.0,"b":-1})");
}
