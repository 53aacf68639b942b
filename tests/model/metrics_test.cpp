#include "tuner/model/metrics.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/support/catch.h"
#include "tuner/model/result.h"

using namespace tune;

namespace {

/// Why the metrics are refused; empty if they are not.
std::string refusal(const std::string& text) {
  try {
    parse_metrics(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Metrics know whether there is more in their text than numbers", "[metrics]") {
  for (const std::string text : {"{}", R"({"a":1,"b":{"c":true,"d":{}}})", R"({"a":"NaN"})"}) {
    CHECK_FALSE(parse_metrics(text).has_others);
    CHECK_FALSE(read_metrics(text).has_others);
  }
  for (const std::string text :
       {R"({"a":"one"})", R"({"a":1,"b":[2]})", R"({"b":{"c":null}})", R"({"a":[]})"}) {
    CHECK(parse_metrics(text).has_others);
    CHECK(read_metrics(text).has_others);
  }
}

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
  CHECK(quote_non_finite("\"cut off\\") == "\"cut off\\");
}

TEST_CASE("What is no JSON object is refused", "[metrics]") {
  for (const std::string text :
       {"", "[]", "3", "{", "{\"a\":}", "{\"a\":1}x", "{\"\xff\":1}", "{\"a\":NaNa}"}) {
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
  CHECK(parse_metrics(nested(63)).numbers.size() == 1);
  for (const int depth : {64, 65, 66, 67, 100}) {
    CAPTURE(depth);
    CHECK(holds(refusal(nested(depth)), "too deep"));
  }
  CHECK_THROWS_AS(parse_metrics(nested(200000)), std::invalid_argument);
}

TEST_CASE("A name that stands twice is refused, whatever it stands for", "[metrics]") {
  for (const std::string text :
       {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":"x"})", R"({"a":"x","a":[]})",
        R"({"a":{"b":1},"a":{"c":2}})", R"({"a":{},"a":1})", R"({"v":{"a":1,"a":2}})",
        R"({"v/a":1,"v":{"a":1}})", R"({"v":{"a":{"b":1}},"v/a":null})", R"({"\u0061":1,"a":2})"}) {
    CAPTURE(text);
    CHECK(holds(refusal(text), "is in it twice"));
  }
  CHECK(parse_metrics(R"({"a":1,"b":{"a":2,"b":{"a":3}},"l":[{"a":1},{"a":2}]})").numbers.size() ==
        3);
  std::string many = "{";
  for (int i = 0; i < 1'000; ++i) many += "\"m" + std::to_string(i) + "\":1,";
  CHECK(parse_metrics(many + "\"last\":1}").numbers.size() == 1'001);
  CHECK(holds(refusal(many + "\"m500\":1}"), "'m500'"));
}

TEST_CASE("The number of names has a limit", "[metrics]") {
  const auto wide = [](std::size_t names) {
    std::string text = "{";
    for (std::size_t i = 0; i < names; ++i) {
      text += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + (i % 2 == 0 ? "\":1" : "\":\"x\"");
    }
    return text + "}";
  };
  CHECK(parse_metrics(wide(most_metric_names)).numbers.size() == most_metric_names / 2);
  CHECK(holds(refusal(wide(most_metric_names + 1)), "more than 4096 names"));
  // Long ones are looked at before they are read.
  const std::string blanks(100'000, ' ');
  const auto spread = [&](std::size_t names) { return wide(names).insert(1, blanks); };
  CHECK(parse_metrics(spread(most_metric_names)).numbers.size() == most_metric_names / 2);
  CHECK(holds(refusal(spread(most_metric_names + 1)), "more than 4096 names"));
  CHECK(holds(refusal(spread(most_metric_names + 1) + "no JSON"), "more than 4096 names"));
  std::string listed = "{\"l\":[" + blanks, quoted = "{" + blanks;
  for (std::size_t i = 0; i < most_metric_names + 1; ++i) {
    listed += R"({"a":[1]},)";
    quoted += (i == 0 ? "\"t\":\"" : "") + std::string(R"(\"a\":)");
  }
  CHECK(parse_metrics(listed + "1],\"m\":1}").numbers.size() == 1);
  CHECK(parse_metrics(quoted + "\",\"m\":1}").numbers.size() == 1);
  CHECK(
      parse_metrics("{\"l\":[0" + std::string(2 * most_metric_names, ' ') + "]}").numbers.empty());
}

TEST_CASE("What was sent over several lines is kept in one", "[metrics]") {
  const Metrics metrics = parse_metrics("{\n\t\"a\":\r\n1, \"b\": NaN\n}");
  CHECK(metrics.text.find_first_of("\r\n") == std::string::npos);
  CHECK(metrics.find("a") == 1);
  CHECK(metrics.find("b").has_value());
}

TEST_CASE("An iteration's time is the reported one, unless that cannot be", "[metrics]") {
  const auto time = [](const std::string& text) {
    return Result::iteration_time(parse_metrics(text), 0.25);
  };
  CHECK(time("{}") == 0.25);
  CHECK(time(R"({"time_this_iter_s":0})") == 0);
  CHECK(time(R"({"time_this_iter_s":7.5})") == 7.5);
  CHECK(time(R"({"time_this_iter_s":1000000000})") == 1e9);
  for (const std::string impossible :
       {"-1e-9", "NaN", "Infinity", "-Infinity", "1e308", "1000000001", "\"long\""}) {
    CAPTURE(impossible);
    CHECK(time(R"({"time_this_iter_s":)" + impossible + "}") == 0.25);
  }
}

TEST_CASE("Numbers beyond all doubles are infinities, and below all are 0", "[metrics]") {
  const Metrics metrics = parse_metrics(
      R"({"a":1e309,"b":[-2E+400],"c":-1.5e999,"s":"1e309","d":1e-400,"e":1e308,"f":-0.5E-999})");
  CHECK(
      metrics.text ==
      R"({"a":"Infinity","b":["-Infinity"],"c":"-Infinity","s":"1e309","d":0.0,"e":1e308,"f":-0.0})");
  CHECK(metrics.find("a") == INFINITY);
  CHECK(metrics.find("c") == -INFINITY);
  CHECK(metrics.find("d") == 0);
  CHECK(metrics.find("e") == 1e308);
  const std::string zeros(400, '0');
  for (const std::string sign : {"", "-"}) {
    CHECK(parse_metrics("{\"a\":" + sign + "0." + zeros + "1}").find("a") == 0);
    const auto large = parse_metrics("{\"a\":" + sign + "1" + zeros + "}").find("a");
    CHECK(large == (sign.empty() ? INFINITY : -INFINITY));
  }
  CHECK_THROWS_AS(parse_metrics(R"({"a":1e309,"b":+5})"), std::invalid_argument);
  CHECK_THROWS_AS(parse_metrics(R"({"a":1e309,"b":1-2})"), std::invalid_argument);
}

TEST_CASE("Whole numbers beyond 64 bits are numbers like others", "[metrics]") {
  const Metrics metrics = parse_metrics(
      R"({"a":18446744073709551616,"b":-9223372036854775809,"c":{"d":[123456789012345678901234567890,
      "123456789012345678901234567890",0.123456789012345678901]},"e":1e-00000000000000000000001,
      "f":123456789012345678901234567890.5,"g":18446744073709551615,"h":1E19})");
  CHECK(metrics.find("a") == 18446744073709551616.0);
  CHECK(metrics.find("b") == -9223372036854775809.0);
  CHECK(metrics.find("e") == 0.1);
  CHECK(metrics.find("f") == 123456789012345678901234567890.5);
  CHECK(metrics.find("g") == 18446744073709551615.0);
  CHECK(holds(metrics.text, R"("g":18446744073709551615,)"));
  CHECK(holds(metrics.text, R"([123456789012345678901234567890e0,)"));
  CHECK(holds(metrics.text, R"("123456789012345678901234567890",0.123456789012345678901])"));
}

TEST_CASE("What other ranks report stands under workers, by rank", "[metrics]") {
  const Metrics own = parse_metrics(R"({"a":1})");
  const Metrics both =
      with_workers(own, {{1, parse_metrics(R"({"a":2,"s":"x"})")}, {2, Metrics{}}});
  CHECK(both.text == R"({"a":1,"workers":{"1":{"a":2,"s":"x"}}})");
  CHECK(both.find("workers/1/a") == 2);
  CHECK(both.has_others);
  CHECK(with_workers(Metrics{}, {{3, own}}).text == R"({"workers":{"3":{"a":1}}})");
  CHECK(with_workers(own, {{1, Metrics{}}}).text == own.text);
  CHECK_THROWS_AS(with_workers(parse_metrics(R"({"workers":{"1":{"a":1}}})"), {{1, own}}),
                  std::invalid_argument);
  std::string many = "{";
  for (int i = 0; i < 3'000; ++i) many += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  const Metrics large = parse_metrics(many + "}");
  CHECK_THROWS_AS(with_workers(large, {{1, large}}), std::invalid_argument);
}

TEST_CASE("What several ranks report is together no more than what one may report", "[metrics]") {
  const auto of_bytes = [](std::size_t bytes) {
    return parse_metrics(R"({"s":")" + std::string(bytes - 8, 'x') + R"("})");
  };
  const Metrics half = of_bytes(most_metric_bytes / 2);
  CHECK_THROWS_WITH(with_workers(half, {{1, half}}),
                    "with those of the other ranks under 'workers': they are more than 16 MiB of "
                    "text");
  const Metrics less = of_bytes(most_metric_bytes / 2 - 100);
  CHECK(with_workers(less, {{1, less}}).text.size() < most_metric_bytes);
}

TEST_CASE("A whole number of 64 bits is found with all digits that were reported",
          "[metrics][unit]") {
  const Metrics metrics = parse_metrics(
      R"({"a": 9007199254740993, "b": {"c": -9007199254740995, "c/d": 18446744073709551615},
          "small": 3, "f": 1e300, "nan": NaN, "list": [1], "long": 123456789012345678901234})");
  const auto text = [&](const std::string& name) {
    const auto number = metrics.find_exact(name);
    return number ? to_json(*number).dump() : "none";
  };
  CHECK(text("a") == "9007199254740993");
  CHECK(text("b/c") == "-9007199254740995");
  CHECK(text("b/c/d") == "18446744073709551615");
  CHECK(text("small") == "3.0");
  CHECK(text("f") == "1e+300");
  CHECK(std::isnan(metrics.find_exact("nan")->value()));
  CHECK(metrics.find_exact("long")->value() == 123456789012345678901234.0);
  CHECK(text("list") == "none");
}
