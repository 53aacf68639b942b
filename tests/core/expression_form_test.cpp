#include "tuner/core/expression_form.h"

#include "tests/support/catch.h"

namespace tune {
namespace {

bool is_whole(const std::string& text) {
  return is_whole_by_form(text,
                          [](const std::string& name) { return name == "n" || name == "m.n"; });
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
                                 "x > 1 ? floor(x) : n == 2 ? 1 : 4",
                                 "2*floor(x ^ 2 + 1e-3)"}) {
    CAPTURE(text);
    CHECK(is_whole(text));
  }
}

TEST_CASE("What may have a fraction is not whole by its form", "[expression][unit]") {
  for (const char* const text :
       {"x", "1.0", "1e3", "2e-3 + n", "n / 2", "n ^ 2", "n + x", "sqrt(n)", "sin(floor(x))",
        "floor(x) * 0.5", "x > 3 ? 10 : 2.5", "x > 3 ? x : 2", "min(n, x)", "(n + x) * 2", "_pi",
        "floor(x) / 2", "-x"}) {
    CAPTURE(text);
    CHECK_FALSE(is_whole(text));
  }
}

}  // namespace
}  // namespace tune
