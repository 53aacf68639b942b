#include "tuner/core/expression_form.h"

#include <cstdint>
#include <optional>
#include <string>

#include "tests/support/catch.h"

namespace tune {
namespace {

bool is_whole(const std::string& text) {
  return form_of(
             Expression(text),
             [](const std::string& name) { return ExpressionForm{name == "n" || name == "m.n"}; })
      .is_whole;
}

/// With n = 2^62 + 1, m = -3, x a fraction.
ExpressionForm form(const std::string& text) {
  return form_of(Expression(text), [](const std::string& name) {
    if (name == "n") return ExpressionForm{true, (std::int64_t{1} << 62) + 1};
    if (name == "m") return ExpressionForm{true, -3};
    return ExpressionForm{};
  });
}

std::optional<std::int64_t> exact(const std::string& text) { return form(text).exact; }

TEST_CASE("What rounds, counts or compares is whole by its form", "[expression][unit]") {
  for (const char* const text : {"3",
                                 "0",
                                 "x > 0 ? 0 : 109",
                                 "n",
                                 "m.n",
                                 "floor(x)",
                                 "ceil( x / 3 )",
                                 "round(x*100)",
                                 "rint(x)",
                                 "sign(x)",
                                 "x > 3 ? 10 : 2",
                                 "x <= 3 && y > 2",
                                 "!x",
                                 "n + 1",
                                 "2 * n - floor(x)",
                                 "-n",
                                 "(n)",
                                 "min(n, 3, floor(x))",
                                 "max(n, m.n)",
                                 "abs(n)",
                                 "n ^ 2",
                                 "int(x)",
                                 "x // 3",
                                 "n % 3",
                                 "not x",
                                 "3 if x > 1 else n",
                                 "x > 1 ? floor(x) : n == 2 ? 1 : 4",
                                 "2*floor(x ^ 2 + 1e-3)"}) {
    CAPTURE(text);
    CHECK(is_whole(text));
  }
}

TEST_CASE("What may have a fraction is not whole by its form", "[expression][unit]") {
  for (const char* const text :
       {"x", "1.0", "1e3", "2e-3 + n", "n / 2", "n ^ -2", "2 ^ n", "n + x", "x % 3", "sqrt(n)",
        "sin(floor(x))", "floor(x) * 0.5", "x > 3 ? 10 : 2.5", "x > 3 ? x : 2", "min(n, x)",
        "(n + x) * 2", "_pi", "floor(x) / 2", "-x"}) {
    CAPTURE(text);
    CHECK_FALSE(is_whole(text));
  }
}

TEST_CASE("Whole numbers are exact as long as what is done with them keeps them so",
          "[expression][unit]") {
  constexpr std::int64_t n = (std::int64_t{1} << 62) + 1;
  CHECK(exact("n") == n);
  CHECK(exact("n - 1 + 2") == n + 1);
  CHECK(exact("-n") == -n);
  CHECK(exact("(n - 1) / 4") == (n - 1) / 4);
  CHECK(exact("m * (n / 1 - 4611686018427387900) + 7") == -3 * (n - 4611686018427387900) + 7);
  CHECK(exact("floor(n)") == n);
  CHECK(exact("max(m, n, 3) - min(n, m)") == n + 3);
  CHECK(exact("abs(m) + sum(1, 2, m)") == 3);
  CHECK(exact("n > 4611686018427387904 ? 1 : 2") == 1);
  CHECK(exact("n == n - 1 || !m") == 0);
  CHECK(exact("x > 1 ? n : n") == std::nullopt);
  for (const char* const text :
       {"x", "n * 4", "n + n", "n / 2", "n / (m + 3)", "n ^ 2", "n + 0.5", "n + 1e3", "sqrt(n)",
        "avg(n, m)", "n + x", "9223372036854775808"}) {
    CAPTURE(text);
    CHECK_FALSE(exact(text));
  }
}

TEST_CASE("Whole numbers are divided, and taken to a power, as Python does it",
          "[expression][unit]") {
  CHECK(exact("-7 // 2") == -4);
  CHECK(exact("7 // -2") == -4);
  CHECK(exact("7 % m") == -2);
  CHECK(exact("-7 % 3") == 2);
  CHECK(exact("n // 2 * 2 + n % 2 - n") == 0);
  CHECK(exact("(0 - 9223372036854775807 - 1) % -1") == std::nullopt);
  CHECK(exact("2 ** 62 + 1 - n") == 0);
  CHECK(exact("m ** 3") == -27);
  CHECK(exact("-2 ** 2") == -4);
  CHECK(exact("2 ** 3 ** 2") == 512);
  CHECK(exact("(-1) ** n") == -1);
  CHECK(exact("2 * 3 ** 2 % 5") == 3);
  CHECK(exact("n if m < 0 and not m == 3 else 1 // 0") == (std::int64_t{1} << 62) + 1);
  CHECK(exact("int(n) + (1 if n else 2)") == (std::int64_t{1} << 62) + 2);
  CHECK(exact("!m == 0 + 1") == 1);
}

TEST_CASE("A whole number that was lost on the way is told from a fraction", "[expression][unit]") {
  for (const char* const text :
       {"n * 4", "n + n", "n ** 2", "3 ** 41", "n / 2", "n * 0.5", "sqrt(n)", "avg(m, n)", "n + x",
        "x > 1 ? n : 2", "n > x", "(n * 4 + 1) % 10", "(n * 4) // n", "-(-9223372036854775807 - 1)",
        "9223372036854775808", "min(n, x)", "sum(n, n)", "floor(n * 4)",
        // Doubles begin with n itself, whatever exact value comes on the way.
        "n % 1000 / 7", "(n - 1) * 0.5", "n - n + x", "2.5 if n % 2 == 0 else 1.5", "n == 7 and x",
        "(-9223372036854775807 - 1) // -1"}) {
    CAPTURE(text);
    CHECK(form(text).is_rounded);
  }
  for (const char* const text : {"x", "m / 2", "m * 0.5", "2 ** x", "m // 0", "m % 0", "sqrt(m)",
                                 "x > 1 ? m : 2", "1.0 * m * 1e300"}) {
    CAPTURE(text);
    CHECK_FALSE(form(text).is_rounded);
  }
}

}  // namespace
}  // namespace tune
