// Cells, quotes and columns of progress.csv.
#include "callbacks/csv_rows.h"

#include "tests/callbacks/callback_fixture.h"
#include "tests/support/catch.h"
#include "tuner/base/csv_text.h"

using namespace tune;
using namespace tune::testing;

namespace {

/// Name and text of the cells after the driver's own.
std::string metric_cells(CsvRows& rows, const Metrics& metrics) {
  Result result = result_of(3);
  result.metrics = metrics;
  const auto [header, row] = rows.make(TrialId{7}, result);
  const auto names = csv::split(header);
  const auto cells = csv::split(row.substr(0, row.size() - 1));
  REQUIRE(names.size() == cells.size());
  CHECK(std::count(row.begin(), row.end(), '\n') == 1);
  std::string text;
  for (std::size_t i = 9; i < names.size(); ++i) text += names[i] + "=" + cells[i] + ";";
  return text;
}

std::string metric_cells(CsvRows& rows, const std::string& metrics) {
  return metric_cells(rows, parse_metrics(metrics));
}

}  // namespace

TEST_CASE("CsvRows rounds no integer and writes all its digits, whatever else is in the row",
          "[callbacks][csv]") {
  CsvRows rows;
  for (const std::string others : {"", R"(,"t":"text")"}) {
    const std::string text = others.empty() ? "" : "t=text;";
    CHECK(metric_cells(rows, R"({"n":9007199254740993,"m":100000,"f":100000.0)" + others + "}") ==
          "n=9007199254740993;m=100000;f=100000;" + text);
    CHECK(metric_cells(rows, R"({"n":-5549263839241013915,"u":18446744073709551615,"f":1e300)" +
                                 others + "}") ==
          "n=-5549263839241013915;u=18446744073709551615;f=1e+300;" + text);
    CHECK(metric_cells(rows, R"({"n":-100000,"z":-0.0,"f":0.1,"g":1e-7)" + others + "}") ==
          "n=-100000;z=-0.0;f=0.1;g=1e-07;" + text);
  }
}

TEST_CASE("CsvRows puts the driver's fields first and the metrics as they appear",
          "[callbacks][csv]") {
  CsvRows rows;
  auto result = result_of(3, R"({"z":0.1,"a":{"b":2,"c":{"d":-1e-7}}})");
  result.timesteps_total = 300;
  const auto [header, row] = rows.make(TrialId{7}, result);
  CHECK(header ==
        "training_iteration,timestamp,date,time_this_iter_s,time_total_s,time_since_restore,"
        "iterations_since_restore,timesteps_total,trial_id,done,z,a/b,a/c/d");
  const auto cells = csv::split(row);
  CHECK(cells[0] == "3");
  CHECK(cells[1] == "1700000000.25");
  CHECK(cells[2].size() == std::string("2023-11-14_22-13-20").size());
  CHECK(cells[7] == "300");
  CHECK(cells[8] == "trial_00007");
  CHECK(cells[9] == "false");
  CHECK(cells[10] == "0.1");
  CHECK(cells[12] == "-1e-07\n");
}

TEST_CASE("CsvRows writes every kind of value so that a table program reads it",
          "[callbacks][csv]") {
  CsvRows rows;
  CHECK(metric_cells(rows, R"({"a":NaN,"b":"Infinity","c":-Infinity,"d":true})") ==
        "a=NaN;b=inf;c=-inf;d=1;");
  CHECK(metric_cells(rows, R"({"a":"x, \"y\"","n":null,"l":[1,{"k":2}],"o":{"s":"t","v":1.5}})") ==
        R"(a=x, "y";n=;l=[1,{"k":2}];o/s=t;o/v=1.5;)");
  CHECK(metric_cells(rows, R"({"s":"two\nlines","u":"é"})") == R"(s="two\nlines";u=é;)");
  CHECK(metric_cells(rows, R"({ "spaced" : { "x" : 1 , "y" : 2 } })") == "spaced/x=1;spaced/y=2;");
  CHECK(metric_cells(rows, "{}") == "");
}

TEST_CASE("CsvRows shows the driver's own where a metric has the name of its field",
          "[callbacks][csv]") {
  CsvRows rows;
  const auto [header, row] = rows.make(
      TrialId{7}, result_of(3, R"({"done":1,"trial_id":"x","training_iteration":99,"x":2})"));
  CHECK(header.ends_with(",trial_id,done,x"));
  CHECK(row.starts_with("3,"));
  CHECK(row.ends_with(",trial_00007,false,2\n"));
}

TEST_CASE("CsvRows shows a name once that an old journal has twice", "[callbacks][csv]") {
  CsvRows rows;
  CHECK(metric_cells(rows, read_metrics(R"({"a/b":1,"a":{"b":2},"c":3})")) == "a/b=2;c=3;");
}

TEST_CASE("What a spreadsheet would run is text to it, and numbers stay numbers",
          "[callbacks][csv]") {
  CsvRows rows;
  CHECK(metric_cells(rows,
                     R"json({"a":"=cmd|'/C calc'!A0","b":"@SUM(1)","c":"+1+1","d":"-x"})json") ==
        "a='=cmd|'/C calc'!A0;b='@SUM(1);c='+1+1;d='-x;");
  CHECK(metric_cells(rows, R"({"a":-1.5,"b":"-1.5","c":-Infinity,"d":"+2","e":"it's"})") ==
        "a=-1.5;b=-1.5;c=-inf;d=+2;e=it's;");
  CHECK(metric_cells(rows, R"({"=1+1":{"a":1},"x":"\t=1"})") == R"('=1+1/a=1;x="\t=1";)");
  for (const std::string text :
       {"=1", "'=1", "''=1", "'", "-", "'-1", "-1", "it's", "\t=", "", "@", "\n=1", "\r", "'\n"}) {
    std::string line;
    csv::append_text(line, text, true);
    const std::vector<std::string> cells = csv::split(line);
    CHECK(csv::text_of(cells.at(0)) == text);
    CHECK(std::string("=@\t\r\n").find(cells[0].substr(0, 1)) ==
          (text.empty() ? 0 : std::string::npos));
  }
}

TEST_CASE("A csv line survives being taken apart and put together", "[callbacks][csv]") {
  const std::vector<std::string> cells = {"", "plain", "a,b", "say \"so\"", "\"", ",", " x "};
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) csv::append_cell(line, cells[i], i == 0);
  CHECK(csv::split(line) == cells);
  CHECK(line == ",plain,\"a,b\",\"say \"\"so\"\"\",\"\"\"\",\",\", x ");
}

TEST_CASE("A column of a file in which no formula was marked is the one of that name still",
          "[callbacks][csv]") {
  const std::string old = "training_iteration,=x,a";
  const std::string now = "training_iteration,'=x,b";
  CHECK(csv::widened(old, now) == old + ",b");
  CHECK(csv::widened(now, old) == now + ",a");
  CHECK(csv::moved("3,0.5,7\n", now, old + ",b") == "3,0.5,,7\n");
}
