#include "tuner/core/metrics.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("Metrics are flattened with slashes, and only numbers are taken", "[metrics]") {
  const Metrics metrics = parse_metrics(
      R"({"loss":0.5,"n":3,"ok":true,"word":"x","list":[1],"none":null,"val":{"acc":{"top1":0.9}}})");
  CHECK(metrics.numbers ==
        std::vector<Metric>{{"loss", 0.5}, {"n", 3}, {"ok", 1}, {"val/acc/top1", 0.9}});
  CHECK(metrics.find("val/acc/top1") == 0.9);
  CHECK_FALSE(metrics.find("word"));
}

TEST_CASE("NaN and infinities are ordinary values, in both spellings", "[metrics]") {
  for (const std::string text : {R"({"a":"NaN","b":"Infinity","c":"-Infinity"})",
                                 R"({"a":NaN,"b":Infinity,"c":-Infinity})"}) {
    CAPTURE(text);
    const Metrics metrics = parse_metrics(text);
    REQUIRE(metrics.numbers.size() == 3);
    CHECK(std::isnan(metrics.numbers[0].value));
    CHECK(metrics.find("b") == std::numeric_limits<double>::infinity());
    CHECK(metrics.find("c") == -std::numeric_limits<double>::infinity());
    CHECK(metrics.text == R"({"a":"NaN","b":"Infinity","c":"-Infinity"})");
  }
}

TEST_CASE("Only bare tokens are quoted, not those inside strings", "[metrics]") {
  CHECK(quote_non_finite(R"({"NaN":"a NaN \" NaN","x":[NaN,-Infinity]})") ==
        R"({"NaN":"a NaN \" NaN","x":["NaN","-Infinity"]})");
}

TEST_CASE("What is no JSON object is refused", "[metrics]") {
  for (const std::string text : {"", "[]", "3", "{", "{\"a\":}", "{\"a\":1}x", "{\"a\":1e999}",
                                 "{\"\xff\":1}", "{\"a\":NaNa}"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_metrics(text), std::invalid_argument);
  }
}

TEST_CASE("Nesting has a limit", "[metrics]") {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "{\"a\":";
    return text + "1" + std::string(static_cast<std::size_t>(depth), '}');
  };
  CHECK(parse_metrics(nested(60)).numbers.size() == 1);
  CHECK_THROWS_AS(parse_metrics(nested(100)), std::invalid_argument);
  CHECK_THROWS_AS(parse_metrics(nested(200000)), std::invalid_argument);
}
