#include "tuner/simulation/curve_table.h"

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <string>

#include "tests/support/catch.h"
#include "tuner/base/error.h"

using namespace tune;

namespace {

/// Files of curves in a directory of their own.
struct Files {
  Files()
      : directory(std::filesystem::temp_directory_path() /
                  ("tune-curves-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(directory);
  }
  ~Files() { std::filesystem::remove_all(directory); }

  std::filesystem::path put(const std::string& text) {
    names.push_back(directory / ("c" + std::to_string(names.size()) + ".csv"));
    std::ofstream(names.back()) << text;
    return names.back();
  }
  CurveTable read(bool allow_short = false) const { return read_curves(names, allow_short); }

  std::filesystem::path directory;
  std::vector<std::filesystem::path> names;
};

/// What is said about one file with this text, without the file's name.
std::string complaint(const std::string& text) {
  Files files;
  const std::string name = files.put(text).string();
  try {
    (void)files.read();
  } catch (const Error& error) {
    CHECK(error.fault() == Fault::user);
    const std::string sentence = error.what();
    REQUIRE(sentence.starts_with(name));
    return sentence.substr(name.size());
  }
  return "none";
}

const std::string header = "config/lr,training_iteration,loss,time_total_s\n";

}  // namespace

TEST_CASE("A curve has its config, its seconds an iteration and all metrics") {
  Files files;
  files.put(
      "trial_id,config/opt/lr,config/opt/name,config/layers,training_iteration,loss,acc,"
      "time_total_s\r\n"
      "a,0.1,sgd,\"[16,8]\",1,5,0.5,2\r\n"
      "b,0.1,\"\"\"7\"\"\",3,2,NaN,0.25,9\r\n"
      "b,0.1,\"\"\"7\"\"\",3,1,6,0.125,4\r\n"
      "a,0.1,sgd,\"[16,8]\",2,4,0.75,5.5\r\n");
  const CurveTable table = files.read();
  CHECK(table.metrics == std::vector<std::string>{"acc", "loss"});
  CHECK(table.longest() == 2);
  REQUIRE(table.curves.size() == 2);
  CHECK(table.curves[0].config ==
        Json::parse(R"({"opt": {"lr": 0.1, "name": "sgd"}, "layers": [16, 8]})"));
  CHECK(table.curves[0].tag == "lr=0.1,name=sgd,layers=[16,8]");
  CHECK(table.curves[0].seconds == std::vector<double>{2, 3.5});
  CHECK(table.curves[0].values == std::vector<double>{0.5, 5, 0.75, 4});
  CHECK(table.curves[1].config == Json::parse(R"({"opt": {"lr": 0.1, "name": "7"}, "layers": 3})"));
  CHECK(table.curves[1].seconds == std::vector<double>{4, 5});
  CHECK(std::isnan(table.curves[1].values[3]));
}

TEST_CASE("Seconds of each iteration do as well, a value may be absent, and files add up") {
  Files files;
  files.put("config/a,config/b,training_iteration,loss,time_this_iter_s\n1,2,1,5,3\n1,,1,4,2\n");
  files.put("config/a,loss,training_iteration,time_total_s\n1,7,1,0\n");
  const CurveTable table = files.read();
  REQUIRE(table.curves.size() == 3);
  CHECK(table.curves[0].config == Json{{"a", 1}, {"b", 2}});
  CHECK(table.curves[1].config == Json{{"a", 1}});
  CHECK(table.curves[2].config == Json{{"a", 1}});
  CHECK(table.curves[0].seconds == std::vector<double>{3});
  CHECK(table.curves[2].seconds == std::vector<double>{0});
}

TEST_CASE("Whether an iteration may be a later one is no metric of a curve") {
  Files files;
  files.put(
      "config/a,training_iteration,time_total_s,iteration_is_guess,loss\n"
      "1,1,1,,5\n1,2,2,true,4\n");
  const CurveTable table = files.read();
  CHECK(table.metrics == std::vector<std::string>{"loss"});
  CHECK(table.curves.at(0).values == std::vector<double>{5, 4});
}

TEST_CASE("An apostrophe before a formula is the spreadsheet's, and no part of a config") {
  Files files;
  files.put(
      "config/a,config/b,training_iteration,'=loss,time_total_s\n"
      "'-x,''=1,1,-0.5,2\n");
  const CurveTable table = files.read();
  CHECK(table.metrics == std::vector<std::string>{"=loss"});
  CHECK(table.curves.at(0).config == Json({{"a", "-x"}, {"b", "'=1"}}));
}

TEST_CASE("A curve that is shorter than others is refused, or over where it ends") {
  Files files;
  files.put(header + "1,1,5,1\n1,2,4,2\n2,1,9,1\n");
  REQUIRE_THROWS_WITH(files.read(),
                      Catch::Matchers::Contains("c0.csv:4: the curve that begins here ends "
                                                "after iteration 1, others after iteration 2"));
  CHECK(files.read(true).curves[1].iterations() == 1);
}

TEST_CASE("Whatever is wrong with a file of curves is said in one sentence with its line") {
  CHECK(complaint("").starts_with(" is empty: "));
  CHECK(complaint(header) == " has no lines after the header");
  CHECK(complaint("config/a,loss,time_total_s\n") == ":1: there is no column 'training_iteration'");
  CHECK(complaint("config/a,loss,training_iteration\n")
            .starts_with(":1: there is no column 'time_total_s' or 'time_this_iter_s'"));
  CHECK(complaint("a,training_iteration,loss,time_total_s\n") ==
        ":1: there is no column of a hyperparameter: 'config/NAME'");
  CHECK(complaint("config/a,training_iteration,time_total_s\n") ==
        ":1: there is no column of a metric");
  CHECK(complaint("config/a,loss,loss,training_iteration,time_total_s\n") ==
        ":1: there are two columns 'loss'");
  CHECK(complaint("config/a,,loss,training_iteration,time_total_s\n") ==
        ":1: column 2 has no name");
  CHECK(complaint(header + "1,1,5\n") == ":2: there are 3 cells, but 4 columns in the header");
  CHECK(complaint(header + "1,1,5,1\n\n1,1.5,5,1\n") ==
        ":4: training_iteration must be a whole number from 1, got '1.5'");
  CHECK(complaint(header + "1,0,5,1\n") ==
        ":2: training_iteration must be a whole number from 1, got '0'");
  CHECK(complaint(header + "1,1e300,5,1\n") ==
        ":2: training_iteration must be a whole number from 1, got '1e300'");
  CHECK(complaint(header + "1,1,,1\n") == ":2: 'loss' must be a number, got ''");
  CHECK(complaint(header + "1,1,high,1\n") == ":2: 'loss' must be a number, got 'high'");
  CHECK(complaint(header + "1,1,5,NaN\n") ==
        ":2: the time must be a number of seconds, at least 0, got 'NaN'");
  CHECK(complaint(header + "1,1,5,-1\n") ==
        ":2: the time must be a number of seconds, at least 0, got '-1'");
  CHECK(complaint(header + "1,2,5,1\n1,1,5,3\n") ==
        ":2: time_total_s is less than in the iteration before, in line 3");
  CHECK(complaint(header + "1,1,5,1\n1,3,5,3\n") ==
        ":2: the curve that begins here has no line of iteration 2, but one of iteration 3");
  CHECK(complaint(header + "1,1,5,1\n1,1,5,3\n")
            .starts_with(":3: iteration 1 of this config is in line 2 already"));
  CHECK(complaint(
            "trial_id,config/lr,training_iteration,loss,time_total_s\nx,1,1,5,1\nx,2,2,5,3\n") ==
        ":3: trial_id 'x' has another config than in line 2");
  CHECK(complaint("config/a,config/a/b,training_iteration,loss,time_total_s\n1,2,1,5,1\n") ==
        ":2: 'config/a/b' lies in another hyperparameter, which is a value");
  CHECK(complaint("config/a/b,config/a,training_iteration,loss,time_total_s\n1,2,1,5,1\n") ==
        ":2: 'config/a' is a value and has others in it");

  Files different;
  different.put(header + "1,1,5,1\n");
  different.put("config/lr,training_iteration,acc,time_total_s\n1,1,5,1\n");
  REQUIRE_THROWS_WITH(
      different.read(),
      Catch::Matchers::Contains("c1.csv:1: there is no column 'loss', which the first"));
  Files absent;
  absent.names = {absent.directory / "none.csv"};
  REQUIRE_THROWS_WITH(absent.read(), Catch::Matchers::Contains("none.csv"));
}
