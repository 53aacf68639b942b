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

}  // namespace
}  // namespace tune
