#include "tuner/core/json_limits.h"

#include <stdexcept>

#include "tests/support/catch.h"

namespace tune {
namespace {

TEST_CASE("JSON with a member twice is refused by its name, wherever that is",
          "[json_limits][unit]") {
  CHECK(parse_unambiguous(R"({"a": {"a": [1, {"a": 2}]}, "b": [{"c": 1}, {"c": 1}]})").size() == 2);
  CHECK(parse_unambiguous("[1, 2, 2]").size() == 3);
  for (const char* const twice :
       {R"({"x": 1, "x": 2})", R"({"a": {"x": 1, "x": 1}})", R"([{"y": 0}, {"x": [], "x": {}}])",
        R"({"x": {"y": 1}, "x": 2})"}) {
    CAPTURE(twice);
    CHECK_THROWS_WITH(parse_unambiguous(twice), "'x' is in it twice");
  }
  CHECK_THROWS_AS(parse_unambiguous("{"), std::invalid_argument);
  CHECK_THROWS_WITH(parse_unambiguous("{\"x\": 1, }"), "it is no JSON");
}

}  // namespace
}  // namespace tune
