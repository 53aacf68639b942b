#include "tuner/model/metric_cells.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

/// "name KIND text", a line a cell.
std::vector<std::string> lines_of(std::string_view metrics) {
  static constexpr const char* kinds[] = {"number", "text", "json", "none"};
  std::vector<std::string> lines;
  for (const MetricCell& cell : cells_of(metrics)) {
    lines.push_back(cell.name + " " + kinds[static_cast<int>(cell.kind)] + " " + cell.text);
  }
  return lines;
}

}  // namespace

TEST_CASE("The cells of metrics are flat, in their order, and have the text of their values",
          "[metric_cells]") {
  CHECK(lines_of(R"({"loss":0.5,"eval":{"top":{"1":-3,"5":18446744073709551615},"ok":true},)"
                 R"("bad":false,"worst":"-Infinity","host":"a b","sizes":[1, [2]],"left":null})") ==
        std::vector<std::string>{"loss number 0.5", "eval/top/1 number -3",
                                 "eval/top/5 number 18446744073709551615", "eval/ok number 1",
                                 "bad number 0", "worst number -Infinity", "host text a b",
                                 "sizes json [1,[2]]", "left none "});
}

TEST_CASE("A cell says whether its number stands for true or false", "[metric_cells]") {
  const auto cells = cells_of(R"({"a":true,"b":1,"a":0.5})");
  REQUIRE(cells.size() == 3);  // a name may stand twice
  CHECK(cells[0].is_truth);
  CHECK_FALSE(cells[1].is_truth);
  CHECK(cells[2].text == "0.5");
}

TEST_CASE("What are no metrics has no cells", "[metric_cells]") {
  CHECK(lines_of("{}").empty());
  CHECK(lines_of("[1]").empty());
  CHECK(lines_of("{").empty());
}
