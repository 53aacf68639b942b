#include "tuner/base/decimal.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("A decimal number is the nearest double, and what is too small is no large one",
          "[decimal][unit]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::string zeros(400, '0');
  const std::pair<std::string, double> cases[] = {{"0", 0},
                                                  {"-0", -0.0},
                                                  {"12.5e1", 125},
                                                  {".5", 0.5},
                                                  {"-1e-400", -0.0},
                                                  {"1e-400", 0},
                                                  {"-1e400", -infinity},
                                                  {"1E+400", infinity},
                                                  {"0." + zeros + "1", 0},
                                                  {"1" + zeros, infinity},
                                                  {"1" + zeros + "e-50", infinity},
                                                  {"0." + zeros + "1e50", 0},
                                                  {"1e-99999999999999999999", 0},
                                                  {"1e99999999999999999999", infinity},
                                                  {"4.9e-324", 4.9e-324}};
  for (const auto& [text, value] : cases) {
    CAPTURE(text);
    const Decimal decimal = read_decimal(text + " x");
    CHECK(decimal.length == text.size());
    CHECK(decimal.value == value);
    CHECK(std::signbit(decimal.value) == std::signbit(value));
  }
  for (const char* const text : {"", "-", ".", "x", "nan", "-inf", "+1", "--1", "e5"}) {
    CAPTURE(text);
    CHECK(read_decimal(text).length == 0);
  }
  CHECK_FALSE(read_decimal("0.0").is_rounded_away);
  CHECK(read_decimal("1e-400").is_rounded_away);
}

TEST_CASE("A decimal for a table has all digits of a whole number and reads back as it was",
          "[decimal][unit]") {
  const auto text = [](double value) {
    std::string out;
    append_decimal(out, value);
    return out;
  };
  CHECK(text(100000) == "100000");
  CHECK(text(-9007199254740992) == "-9007199254740992");
  CHECK(text(1e22) == "1e+22");
  CHECK(text(-0.0) == "-0.0");
  CHECK(text(0.1) == "0.1");
  std::uint64_t bits = 88172645463325252u;
  for (int i = 0; i < 1000; ++i) {
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    const double value = std::ldexp(static_cast<double>(static_cast<std::int64_t>(bits)),
                                    static_cast<int>(bits % 200) - 100);
    CHECK(read_decimal(text(value)).value == value);
  }
}

}  // namespace
}  // namespace tune
