#include "tuner/base/exact_number.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tests/support/catch.h"
#include "tuner/base/expression.h"

namespace tune {
namespace {

bool is_whole(const std::string& text) {
  return Expression(text).is_whole(
      [](const std::string& name) { return name == "n" || name == "m.n"; });
}

/// With n = 2^62 + 1, m = -3, x = 0.75.
ExactNumber value(const std::string& text) {
  return *Expression(text).evaluate([](const std::string& name) -> std::optional<ExactNumber> {
    if (name == "n") return ExactNumber::of_whole((Int128{1} << 62) + 1);
    return name == "m" ? ExactNumber::of_whole(-3) : ExactNumber(0.75);
  });
}

/// Nothing if it is a double.
std::optional<std::int64_t> exact(const std::string& text) {
  const auto whole = value(text).whole();
  return whole ? std::optional(static_cast<std::int64_t>(*whole)) : std::nullopt;
}

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
  CHECK(exact("x > 1 ? 2 : n") == n);
  CHECK(exact("(n * 4 + 1) % 10") == 1);
  CHECK(exact("n ** 2 // n - n") == 0);
  CHECK(exact("n > x") == 1);
  CHECK(exact("n == 4611686018427387904.0") == 0);
  CHECK(exact("n - 1 == 4611686018427387904.0") == 1);
  CHECK(exact("avg(n, n + 2) - n") == 1);
  CHECK(exact("min(n, x) + max(n, x)") == std::nullopt);
  for (const char* const text :
       {"x", "n / 2", "n / (m + 3)", "m + 0.5", "m + 1e3", "sqrt(4)", "avg(m, 4)", "m + x"}) {
    CAPTURE(text);
    CHECK_FALSE(exact(text));
  }
}

TEST_CASE("A quotient of whole numbers is the nearest double", "[expression][unit]") {
  CHECK(value("9007199254740993 / 2").value() == 4503599627370496.5);
  CHECK(value("n / 3").value() == 1537228672809129301.0 + 2.0 / 3);
  CHECK(value("1 / 3").value() == 1.0 / 3);
  CHECK(value("(2**100 + 1) / (2**100 - 1)").value() == 1);
  CHECK(value("(2**54 + 2) / 2**54 - 1").value() == 0);
  CHECK(value("(2**54 + 3) / 2**54 - 1").value() == std::numeric_limits<double>::epsilon());
  CHECK_FALSE(value("n % 1000 / 7").is_rounded());
  CHECK(value("n % 1000 / 7").value() == 905.0 / 7);
}

TEST_CASE("Whole numbers are divided, and taken to a power, as Python does it",
          "[expression][unit]") {
  CHECK(exact("-7 // 2") == -4);
  CHECK(exact("7 // -2") == -4);
  CHECK(exact("7 % m") == -2);
  CHECK(exact("-7 % 3") == 2);
  CHECK(exact("n // 2 * 2 + n % 2 - n") == 0);
  CHECK(exact("(0 - 9223372036854775807 - 1) % -1") == 0);
  CHECK(exact("(0 - 9223372036854775807 - 1) // -1 - 9223372036854775807") == 1);
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

TEST_CASE("A whole number that was rounded on the way is told from a fraction",
          "[expression][unit]") {
  for (const char* const text :
       {"n ** 4", "3 ** 81", "n * 0.5", "sqrt(n)", "n + x", "n ** 4 % 10", "floor(n * 1.5)",
        "n - n + n * x", "170141183460469231731687303715884105728", "n ** 4 == 7 and x"}) {
    CAPTURE(text);
    CHECK(value(text).is_rounded());
  }
  for (const char* const text :
       {"x", "m / 2", "m * 0.5", "2 ** x", "m // 0", "m % 0", "sqrt(m)", "x > 1 ? m : 2",
        "1.0 * m * 1e300", "(n - 1) * 0.5", "n - n + x", "2.5 if n % 2 == 0 else 1.5", "n / 2",
        "min(n, x)", "m == 7 and n ** 4"}) {
    CAPTURE(text);
    CHECK_FALSE(value(text).is_rounded());
  }
}

TEST_CASE("A number reaches JSON with all digits of 64 bits", "[expression][unit]") {
  CHECK(to_json(*exact_number(9007199254740993)).dump() == "9007199254740993");
  CHECK(to_json(*exact_number(Json(18446744073709551615ull))).dump() == "18446744073709551615");
  CHECK(to_json(*exact_number(-3)).dump() == "-3");
  CHECK(to_json(*exact_number(2.0)).dump() == "2.0");
  CHECK(to_json(*exact_number(true)).dump() == "1");
  CHECK(to_json(value("n ** 2")).is_number_float());
  CHECK_FALSE(exact_number("text"));
}

}  // namespace
}  // namespace tune
