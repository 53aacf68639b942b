#include "tuner/base/json_limits.h"

#include <stdexcept>
#include <string>

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
  CHECK_THROWS_WITH(parse_unambiguous("{\"\x7f]\": 1, \"\x7f]\": 2}"), "' ]' is in it twice");
  const std::string long_name(100'000, 'x');
  try {
    (void)parse_unambiguous("{\"" + long_name + "\": 1, \"" + long_name + "\": 2}");
    FAIL("it is read");
  } catch (const std::invalid_argument& error) {
    CHECK(std::string(error.what()).size() < 1100);
  }
  CHECK_THROWS_AS(parse_unambiguous("{"), std::invalid_argument);
  CHECK_THROWS_WITH(parse_unambiguous("1e999"), "it holds a number that is too large");
  CHECK_THROWS_WITH(parse_unambiguous("{\"x\": 1, }"), "it is no JSON");
}

TEST_CASE("JSON of anybody is read up to a depth that can be copied and compared",
          "[json_limits][unit]") {
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  CHECK(levels_of(parse_shallow(nested(most_file_levels)).dump()) == most_file_levels);
  CHECK(parse_shallow(nested(most_file_levels + 1)).is_discarded());
  CHECK(parse_shallow(nested(1'000'000)).is_discarded());
  CHECK(parse_shallow(std::string(1'000'000, '[')).is_discarded());
  CHECK(parse_shallow(nested(3), 3).is_array());
  CHECK(parse_shallow(nested(4), 3).is_discarded());
  CHECK(parse_shallow(R"({"in a text": "[[[[[["})", 1).is_object());
  CHECK(parse_shallow("{").is_discarded());
  CHECK_THROWS_WITH(parse_unambiguous(nested(most_file_levels + 1)),
                    "it is nested deeper than 1024 levels");
}

}  // namespace
}  // namespace tune
