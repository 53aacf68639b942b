// JSON by hand: numbers and texts.
#include "tuner/base/json_text.h"

#include <charconv>
#include <cmath>
#include <random>

#include "tests/support/catch.h"

using namespace tune;

namespace {

std::string number(double value) {
  std::string text;
  append_number(text, value);
  return text;
}

std::string shortest(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

}  // namespace

TEST_CASE("A number's text is the shortest that reads back as the same", "[json_text]") {
  CHECK(number(1700000000.123456) == "1700000000.123456");
  CHECK(number(1700000000.5) == "1700000000.5");
  CHECK(number(1700000000) == "1.7e+09");
  CHECK(number(1.000001) == "1.000001");
  CHECK(number(0.000001) == "1e-06");
  CHECK(number(-1.25) == "-1.25");
  std::mt19937_64 random(1);
  const double millionth = 1e-6;
  for (int i = 0; i < 200'000; ++i) {
    const double largest = std::pow(10.0, 1 + i % 10);
    const double any = std::uniform_real_distribution<double>(0, largest)(random);
    const double scale = std::pow(10.0, i / 10 % 7);
    const double rounded = std::round(any * scale) / scale;
    const double next = std::nextafter(rounded, largest);
    for (const double value : {any, rounded, next, rounded + millionth / 2}) {
      if (number(value) != shortest(value)) CHECK(number(value) == shortest(value));
    }
  }
}

TEST_CASE("A text's quotes, control characters and bytes that are no UTF-8 are replaced",
          "[json_text]") {
  const auto text = [](std::string_view of) {
    std::string json;
    append_string(json, of);
    return json;
  };
  CHECK(text("") == R"("")");
  CHECK(text("plain") == R"("plain")");
  CHECK(text("\"a\\b\n\r\t\x01 end") == R"("\"a\\b\n\r\t\u0001 end")");
  CHECK(text("gr\xc3\xb6\xc3\x9f"
             "er") ==
        "\"gr\xc3\xb6\xc3\x9f"
        "er\"");
  CHECK(text("gr\xf6\xdf"
             "er\n") == R"("gr??er\n")");
}

TEST_CASE("A number as Python takes it gets the digit that JSON wants", "[json_text]") {
  CHECK(with_digits_around_point(".5") == "0.5");
  CHECK(with_digits_around_point("5.") == "5.0");
  CHECK(with_digits_around_point("-.5e3") == "-0.5e3");
  CHECK(with_digits_around_point("-12.e-3") == "-12.0e-3");
  for (const char* const text : {"0.5", "5", ".", "-.", "1.2.", "..5", "5..", ".5x", "v1.", "1. 2",
                                 "00.", ".5e", "a.5", ""}) {
    CAPTURE(text);
    CHECK_FALSE(with_digits_around_point(text));
  }
}
