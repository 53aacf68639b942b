// Numbers that JSON has no word for, there and back.
#include "trainable/values.h"

#include <cmath>
#include <limits>
#include <string>

#include "tests/support/catch.h"

using tune::Json;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("A finite number is encoded as itself and the others as their names", "[unit][values]") {
  CHECK(tune::encode_number(0.1).dump() == "0.1");
  CHECK(tune::encode_number(nan_value) == Json("NaN"));
  CHECK(tune::encode_number(-nan_value) == Json("NaN"));
  CHECK(tune::encode_number(infinity) == Json("Infinity"));
  CHECK(tune::encode_number(-infinity) == Json("-Infinity"));
}

TEST_CASE("Every number that was encoded is decoded to the same number", "[unit][values]") {
  for (const double value : {0.0, -1.5, 1e308, 5e-324, infinity, -infinity}) {
    CHECK(tune::decode_number(Json::parse(tune::encode_number(value).dump())) == value);
  }
  CHECK(std::isnan(tune::decode_number(tune::encode_number(nan_value)).value()));
}

TEST_CASE("Integers and booleans count as numbers and everything else does not", "[unit][values]") {
  CHECK(tune::decode_number(Json(7)) == 7.0);
  CHECK(tune::decode_number(Json(18446744073709551615u)) == 18446744073709551615.0);
  CHECK(tune::decode_number(Json(true)) == 1.0);
  CHECK(tune::decode_number(Json(false)) == 0.0);
  for (const char* other : {"null", "\"nan\"", "\"1\"", "\"\"", "[1]", "{}"}) {
    CHECK_FALSE(tune::decode_number(Json::parse(other)).has_value());
  }
}

TEST_CASE("Non-finite numbers are encoded at any depth and nothing else is changed",
          "[unit][values]") {
  Json value = Json::parse(R"({"a": 1, "b": [true, null, "text"], "c": {"d": [[1.5, 2]]}})");
  CHECK(tune::encode_numbers(value) == value);

  value["c"]["d"][0].push_back(nan_value);
  value["b"].push_back(-infinity);
  CHECK(tune::encode_numbers(value).dump() ==
        R"({"a":1,"b":[true,null,"text","-Infinity"],"c":{"d":[[1.5,2,"NaN"]]}})");
}
