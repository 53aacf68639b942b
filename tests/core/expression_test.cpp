#include "tuner/core/expression.h"

#include <cmath>
#include <map>
#include <stdexcept>

#include "tests/support/catch.h"

using namespace tune;

namespace {

std::optional<double> value_of(const std::string& text,
                               const std::map<std::string, double>& values = {}) {
  return Expression(text).evaluate([&](const std::string& name) {
    const auto found = values.find(name);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  });
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

TEST_CASE("Expression copies keep their own names", "[expression][unit]") {
  const Expression original("x + y");
  Expression copy("1");
  {
    const Expression temporary = original;
    copy = temporary;
  }
  CHECK(copy.text() == "x + y");
  CHECK(copy.evaluate([](const std::string& name) { return name == "x" ? 1.0 : 2.0; }) == 3.0);
  CHECK(original.evaluate([](const std::string&) { return 5.0; }) == 10.0);
}

TEST_CASE("Expression says what is wrong with its text and where", "[expression][unit]") {
  CHECK(complaint_about("a + * b") ==
        "'a + * b' is not an expression: unexpected operator \"*\" at character 5");
  CHECK(complaint_about("(a") == "'(a' is not an expression: missing parenthesis at character 3");
  CHECK(complaint_about("") == "'' is not an expression: expression is empty");
  CHECK(complaint_about("foo(1)") ==
        "'foo(1)' is not an expression: unexpected parenthesis \"(\" at character 4");
  CHECK(complaint_about("1, 2") == "'1, 2' is not an expression: it has several values");
  CHECK(complaint_about("lr = 1") ==
        "'lr = 1' is not an expression: '=' assigns, write '==' to compare at character 4");
  CHECK(complaint_about("a in b") != "none");
  CHECK(complaint_about("a and * b") ==
        "'a and * b' is not an expression: unexpected operator \"*\" at character 7");
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
