#include "tuner/base/expression.h"

#include <cmath>
#include <map>
#include <stdexcept>

#include "tests/support/catch.h"

using namespace tune;

namespace {

std::optional<double> value_of(const std::string& text,
                               const std::map<std::string, double>& values = {}) {
  const auto value = Expression(text).evaluate([&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional<ExactNumber>(found->second);
  });
  return value ? std::optional(value->value()) : std::nullopt;
}

std::string complaint_about(const std::string& text) {
  try {
    Expression{text};
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("Expression computes with names, also dotted ones", "[expression][unit]") {
  CHECK(value_of("2 * model.hidden + lr", {{"model.hidden", 16}, {"lr", 0.5}}) == 32.5);
  CHECK(value_of("layers.0 + layers.10", {{"layers.0", 1}, {"layers.10", 2}}) == 3.0);
  CHECK(value_of("min(3, max(1, 2), x)", {{"x", 9}}) == 2.0);
  CHECK(value_of("pow(2, 10) + floor(1.7) + ceil(1.2) + round(2.5)") == 1024.0 + 1 + 2 + 3);
  CHECK(value_of("2^-1 + .5 + 1e1") == 11.0);
  CHECK(value_of("a > 1 ? 10 : 20", {{"a", 1}}) == 20.0);
}

TEST_CASE("Expression filters with comparisons and logic", "[expression][unit]") {
  const std::string filter = "val_accuracy > 0.9 && lr < 0.1";
  CHECK(value_of(filter, {{"val_accuracy", 0.95}, {"lr", 0.01}}) == 1.0);
  CHECK(value_of(filter, {{"val_accuracy", 0.85}, {"lr", 0.01}}) == 0.0);
  CHECK(value_of("a == 1 || b != 2", {{"a", 0}, {"b", 2}}) == 0.0);
  CHECK(value_of("a <= 1", {{"a", std::nan("")}}) == 0.0);
}

TEST_CASE("Expression takes what Python has for the same", "[expression][unit]") {
  const std::map<std::string, double> values = {
      {"n", 7}, {"x", -7.5}, {"order", 2}, {"nothing", 3}};
  CHECK(value_of("n // 2 + n % 4 + 2 ** 3", values) == 3 + 3 + 8);
  CHECK(value_of("x // 2", values) == -4);
  CHECK(value_of("x % 2", values) == 0.5);
  CHECK(value_of("1 // 0.1") == 9.0);
  CHECK(std::isnan(*value_of("n // 0", values)));
  CHECK(value_of("int(x)", values) == -7);
  CHECK(value_of("64 if n > 3 else 128", values) == 64.0);
  CHECK(value_of("1 if n > 9 else 2 if n > 8 else 3", values) == 3.0);
  CHECK(value_of("2 * (1 if x > 0 else 4) + max(3 if n else 0, 1)", values) == 11.0);
  CHECK(value_of("n > 3 and not x > 0 or order == 9", values) == 1.0);
  CHECK(value_of("not n == 7 or nothing == 3 and order == 2", values) == 1.0);
  CHECK(value_of("order*nothing if order<nothing else 0", values) == 6.0);
  CHECK(value_of("-n ** 2", values) == -49.0);
  CHECK(value_of("!n == 8 + 1", values) == 1.0);
  CHECK(value_of("not -2 or --2 == 3 + -+-1", values) == 0.0);
  CHECK(value_of("not not n and - -n == n", values) == 1.0);
  CHECK(value_of("2 ** -1 ** 2 + 2 ** 3 ** 2") == 0.5 + 512);
}

TEST_CASE("Of what 'and' and 'or' join, one is the value, as in Python, and signs answer as in C",
          "[expression][unit]") {
  CHECK(value_of("0 or 5") == 5.0);
  CHECK(value_of("3 and 4") == 4.0);
  CHECK(value_of("0 and 5 or 0.0") == 0.0);
  CHECK(value_of("2 or 1 // 0") == 2.0);
  CHECK(value_of("(0 or 9007199254740993) - 9007199254740992") == 1.0);
  CHECK(value_of("(0 || 5) + (3 && 4) + (0 || 0)") == 2.0);
  const auto is_whole = [](const char* text) {
    return Expression(text).is_whole([](const std::string& name) { return name == "n"; });
  };
  CHECK(is_whole("n or 5"));
  CHECK_FALSE(is_whole("x or 5"));
  CHECK(is_whole("x || 5"));
}

TEST_CASE("A long row of 'not' is calculated once", "[expression][unit]") {
  std::string text = "7";
  for (int i = 0; i < 200; ++i) text = "not " + text;
  CHECK(value_of(text) == 1.0);
}

TEST_CASE("Expression has no value if one of its names has none", "[expression][unit]") {
  CHECK_FALSE(value_of("a + b", {{"a", 1}}));
  CHECK(value_of("1 + 1") == 2.0);
}

TEST_CASE("Expression lists each of its names once", "[expression][unit]") {
  CHECK(Expression("b + a.c * b - sin(1) + _pi").variables() ==
        std::vector<std::string>{"a.c", "b"});
  CHECK(Expression("1").variables().empty());
}

TEST_CASE("Expression has its constants to the last digit", "[expression][unit]") {
  CHECK(value_of("_pi") == 3.141592653589793);
  CHECK(value_of("_e") == 2.718281828459045);
}

TEST_CASE("Expression does not calculate what is not asked for", "[expression][unit]") {
  CHECK(value_of("n != 0 and 1 // n", {{"n", 0}}) == 0.0);
  CHECK(value_of("1 if n == 0 else 10 ** 99 % 7", {{"n", 0}}) == 1.0);
}

TEST_CASE("Expression copies keep their own names", "[expression][unit]") {
  const Expression original("x + y");
  Expression copy("1");
  {
    const Expression temporary = original;
    copy = temporary;
  }
  CHECK(copy.text() == "x + y");
  CHECK(copy.evaluate([](const std::string& name) { return name == "x" ? 1.0 : 2.0; })->value() ==
        3.0);
  CHECK(original.evaluate([](const std::string&) { return 5.0; })->value() == 10.0);
}

TEST_CASE("Expression says what is wrong with its text and where", "[expression][unit]") {
  CHECK(complaint_about("a + * b") ==
        "'a + * b' is not an expression: unexpected '*' at character 5");
  CHECK(complaint_about("(a") == "'(a' is not an expression: there is no ')' at character 3");
  CHECK(complaint_about("") == "'' is not an expression: it is empty");
  CHECK(complaint_about("foo(1)") ==
        "'foo(1)' is not an expression: unknown function 'foo', did you mean 'cos'? "
        "at character 1");
  CHECK(complaint_about("2 * sqr(x)") ==
        "'2 * sqr(x)' is not an expression: unknown function 'sqr', did you mean 'sqrt'? "
        "at character 5");
  CHECK(complaint_about("pow(2)") ==
        "'pow(2)' is not an expression: pow() wants 2 values, got 1 at character 1");
  CHECK(complaint_about("max()") ==
        "'max()' is not an expression: max() wants at least 1 value, got 0 at character 1");
  CHECK(complaint_about("1, 2") == "'1, 2' is not an expression: it has several values");
  CHECK(complaint_about("lr = 1") ==
        "'lr = 1' is not an expression: '=' assigns, write '==' to compare at character 4");
  CHECK(complaint_about("a in b") ==
        "'a in b' is not an expression: unexpected 'in' at character 3");
  CHECK(complaint_about("1 2") == "'1 2' is not an expression: unexpected '2' at character 3");
  CHECK(complaint_about("2x") == "'2x' is not an expression: unexpected 'x' at character 2");
  CHECK(complaint_about("x ? 1") ==
        "'x ? 1' is not an expression: there is no ':' behind '?' at character 6");
  CHECK(complaint_about("x)") == "'x)' is not an expression: unexpected ')' at character 2");
  CHECK(complaint_about(std::string(400, '-') + "1").find("nested too deep") != std::string::npos);
  CHECK(complaint_about("a and * b") ==
        "'a and * b' is not an expression: unexpected '*' at character 7");
  CHECK(complaint_about("1 if a") ==
        "'1 if a' is not an expression: an 'if' has no 'else' behind it");
  CHECK(complaint_about("1 else 2") ==
        "'1 else 2' is not an expression: an 'else' has no 'if' before it");
  CHECK(complaint_about("(1 if a) else 2").find("an 'if' has no 'else'") != std::string::npos);
  CHECK(complaint_about("1 < a < 2") ==
        "'1 < a < 2' is not an expression: it has two comparisons in a row: "
        "write 'a < b and b < c', or put one in brackets");
  CHECK(complaint_about("(a,").find("is not an expression") != std::string::npos);
  CHECK(complaint_about("(1 < 2) == (a < b)") == "none");
  CHECK(complaint_about(std::string(90, '(') + "1" + std::string(90, ')')) == "none");
  CHECK(complaint_about(std::string(4000, '(')).find("nested too deep") != std::string::npos);
  CHECK(complaint_about(std::string(5000, '(')).find("longer than 4096") != std::string::npos);
  CHECK(complaint_about("a >= 1 && b <= 2 && c != 3 && d == 4") == "none");
}

TEST_CASE("A dotted name finds members, places in lists and names that have dots themselves",
          "[expression][unit]") {
  const Json config = R"({"a": {"b": [1, {"c": 2}]}, "a.b": 3, "x": {"y.z": 4}})"_json;
  const auto found = [&](const std::string& name) {
    const Json* const value = find_dotted(config, name);
    return value == nullptr ? Json() : *value;
  };
  CHECK(found("a.b") == 3);
  CHECK(found("a.b.0") == 1);
  CHECK(found("a.b.1.c") == 2);
  CHECK(found("x.y.z") == 4);
  for (const char* const name : {"a.b.2", "a.b.00", "a.b.1.c.d", "x.y", "b", ""}) {
    CAPTURE(name);
    CHECK(found(name).is_null());
  }
}
