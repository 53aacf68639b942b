#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/provenance.h"

namespace tune {
namespace {

std::vector<std::string> recorded(const std::vector<std::string>& command_line) {
  const Json ran = Json::parse(what_runs({}, command_line));
  return ran.at("command_line").get<std::vector<std::string>>();
}

TEST_CASE("Values of environment variables are not recorded with the command line",
          "[what ran][unit]") {
  using Words = std::vector<std::string>;
  CHECK(recorded({"tune", "run", "a.json", "--env", "KEY=one=two", "--seed", "3"}) ==
        Words{"tune", "run", "a.json", "--env", "KEY=***", "--seed", "3"});
  CHECK(recorded({"tune", "run", "--env=KEY=secret"}) == Words{"tune", "run", "--env=KEY=***"});
  CHECK(recorded({"tune", "run", "--set", "trainable/env/KEY=secret"}) ==
        Words{"tune", "run", "--set", "trainable/env/KEY=***"});
  CHECK(recorded({"tune", "run", "--set=/trainable/env={\"KEY\": \"a\"}"}) ==
        Words{"tune", "run", "--set=/trainable/env=***"});
  // Other options show theirs, and so does what is the training program's.
  const Words plain = {"tune",  "run",   "--set", "trainable/command=[]", "--name=env=3", "--",
                       "train", "--env", "prod=1"};
  CHECK(recorded(plain) == plain);
}

TEST_CASE("Only what runs is the program, not its data, nor a shim that chooses an interpreter",
          "[what ran][unit]") {
  const auto place =
      std::filesystem::temp_directory_path() / ("tune_ran_" + std::to_string(::getpid()));
  std::filesystem::create_directories(place);
  const auto write = [&](const char* name, const std::string& text) {
    std::ofstream(place / name) << text;
    std::filesystem::permissions(place / name, std::filesystem::perms::owner_all);
    return (place / name).string();
  };
  ExperimentSpec spec;
  spec.env = {{"PATH", place.string()}};
  const std::string shim = write("python9", "#!/bin/sh\n"), own = write("run.sh", "#!/bin/sh\n");
  const std::string script = write("train.py", "1"), data = write("data.csv", "1");
  const auto is_other_after = [&](const std::string& program, const char* changed) {
    spec.command = {program, script, data};
    const std::string before = what_runs(spec, {});
    std::ofstream(place / changed, std::ios::app) << "2";
    return !another_program(before, what_runs(spec, {})).empty();
  };
  CHECK(is_other_after("python9", "train.py"));
  CHECK_FALSE(is_other_after("python9", "data.csv"));
  CHECK_FALSE(is_other_after("python9", "python9"));
  CHECK(is_other_after(own, "run.sh"));
  spec.command = {own, data};
  const std::string before = what_runs(spec, {});
  write("data.csv", "3");
  CHECK(another_program(before, what_runs(spec, {})).empty());
  std::filesystem::remove_all(place);
}

}  // namespace
}  // namespace tune
