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
  CHECK(complaint_about("a and b") != "none");
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
