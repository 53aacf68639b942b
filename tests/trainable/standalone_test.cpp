// The same programs started by hand.
#include "trainable/standalone.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/trainable/trainable_process.h"

using namespace tune::test;
using tune::Json;

namespace {

std::vector<Json> results(const std::string& out) {
  std::vector<Json> lines;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("{")) lines.push_back(Json::parse(line));
  }
  return lines;
}

Finished run_toy(const std::string& kind, std::vector<std::string> options) {
  ScratchDir scratch;
  options.insert(options.begin(), {TOY_TRAINABLE, kind});
  return run_standalone(options, scratch.path());
}

}  // namespace

TEST_CASE("A class started by hand trains ten iterations on the defaults",
          "[process][standalone]") {
  ScratchDir scratch;
  const auto finished = run_standalone({TOY_TRAINABLE, "class"}, scratch.path());
  CHECK(finished.exit_code == 0);
  CHECK(finished.err.empty());
  const auto lines = results(finished.out);
  REQUIRE(lines.size() == 10);
  CHECK(lines[9]["count"] == 10);
  CHECK(lines[9]["training_iteration"] == 10);
  CHECK(lines[9]["trial"] == "standalone");
  CHECK(lines[9].contains("time_this_iter_s"));
  CHECK(std::filesystem::exists(scratch.path() / "cleaned_up"));
}

TEST_CASE("Iterations and done end a standalone class, whichever is first",
          "[process][standalone]") {
  CHECK(results(run_toy("class", {"--iterations", "3"}).out).size() == 3);
  const auto done = results(run_toy("class", {"--config={\"done_at\":2}"}).out);
  REQUIRE(done.size() == 2);
  CHECK(done[1]["done"] == true);
}

TEST_CASE("A config by hand is as deep as a driver's may be, and no deeper",
          "[process][standalone]") {
  ScratchDir scratch;
  const auto run = [&](std::size_t levels) {
    std::ofstream(scratch.path() / "config.json")
        << "{\"more\":" << std::string(levels - 1, '[') << std::string(levels - 1, ']') << "}";
    return run_standalone(
        {TOY_TRAINABLE, "class", "--iterations=1", "--config-file", "config.json"}, scratch.path());
  };
  CHECK(run(63).exit_code == 0);
  for (const std::size_t levels : {std::size_t{64}, std::size_t{1'000'000}}) {
    const auto refused = run(levels);
    CHECK(refused.exit_code == run_toy("class", {"--config", "{"}).exit_code);
    CHECK(refused.err.find("is nested deeper than 63 levels") != std::string::npos);
  }
}

TEST_CASE("Standalone writes non-finite metrics as their names", "[process][standalone]") {
  const auto lines =
      results(run_toy("class", {"--iterations=1", "--config", R"({"report_nan":true})"}).out);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0]["loss"] == "NaN");
}

TEST_CASE("A standalone run saves at its end and another goes on from there",
          "[process][standalone]") {
  const std::vector<std::pair<std::string, std::string>> ways_to_save = {
      {"class", "{}"},
      {"function", R"({"checkpoints": true, "iterations": 9})"},
      {"function", R"({"saves_until": 9, "iterations": 9})"}};
  for (const auto& [kind, config] : ways_to_save) {
    CAPTURE(kind, config);
    ScratchDir scratch;
    std::ofstream(scratch.path() / "config.json") << config;
    const auto first = run_standalone({TOY_TRAINABLE, kind, "--config-file", "config.json",
                                       "--iterations", "3", "--save-to", "new/checkpoint"},
                                      scratch.path());
    CHECK(first.err == "");
    CHECK(first.exit_code == 0);
    CHECK(read_text(scratch.path() / "new/checkpoint/count") == "3\n");
    for (const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
      CHECK(entry.path().filename().string().find("reported") == std::string::npos);
    }

    const auto second =
        run_standalone({TOY_TRAINABLE, kind, "--checkpoint", "new/checkpoint", "--iterations", "1"},
                       scratch.path());
    CHECK(results(second.out).back()["count"] == 4);
  }
}

TEST_CASE("A standalone function runs to its end without a count of iterations",
          "[process][standalone]") {
  const auto all = run_toy("function", {"--config", R"({"iterations":12})"});
  CHECK(all.exit_code == 0);
  CHECK(results(all.out).size() == 12);
  const auto done = run_toy("function", {"--config", R"({"iterations":12,"done_at":5})"});
  CHECK(done.exit_code == 0);
  CHECK(results(done.out).size() == 5);
}

TEST_CASE("A standalone trainable that fails says why with exit code 1", "[process][standalone]") {
  const auto step = run_toy("class", {"--config", R"({"fail_in":"step"})"});
  CHECK(step.exit_code == 1);
  CHECK(step.err == "error: told to fail in step\n");
  const auto save = run_toy("class", {"--config", R"({"fail_in":"save"})", "--save-to", "x"});
  CHECK(save.exit_code == 1);
  const auto function = run_toy("function", {"--config", R"({"fail_at":2})"});
  CHECK(function.exit_code == 1);
  CHECK(results(function.out).size() == 1);
  CHECK(run_toy("function", {"--save-to", "x"}).err ==
        "error: the function has reported no checkpoint to save\n");
}

TEST_CASE("Help names every option", "[process][standalone]") {
  const auto help = run_toy("class", {"--help"});
  CHECK(help.exit_code == 0);
  for (const char* option :
       {"--config ", "--config-file ", "--iterations ", "--checkpoint ", "--save-to ", "--help "}) {
    CHECK(help.out.find(option) != std::string::npos);
  }
}

TEST_CASE("Wrong options are refused with one sentence and exit code 2", "[process][standalone]") {
  const auto sentence = [](const std::vector<std::string>& options) {
    const auto finished = run_toy("class", options);
    CHECK(finished.exit_code == 2);
    CHECK(finished.out.empty());
    return finished.err;
  };
  CHECK(sentence({"--epochs", "3"}) == "error: the option '--epochs' is unknown (see --help)\n");
  CHECK(sentence({"--iterations"}) ==
        "error: the option --iterations needs a value (see --help)\n");
  for (const char* wrong : {"0", "-1", "3x", "", "1.5"}) {
    CHECK(sentence({"--iterations", wrong}) ==
          std::string("error: --iterations must be a whole number, 1 or more, and is '") + wrong +
              "'\n");
  }
  CHECK(sentence({"--config", "[1]"}) == "error: the config in --config must be a JSON object\n");
  CHECK(sentence({"--config", "{"}).find("is not JSON") != std::string::npos);
  CHECK(sentence({"--config", "{}", "--config-file", "x"}) == "error: the config is given twice\n");
  CHECK(sentence({"--config-file", "not/there"}) ==
        "error: the config file 'not/there' cannot be read\n");
  CHECK(sentence({"--checkpoint", "not/there"}) ==
        "error: the checkpoint 'not/there' is not a directory\n");
  CHECK(sentence({"--save-to", "/"}) ==
        "error: --save-to must name a new or an empty directory, and '/' is neither\n");
}

TEST_CASE("Options are read in any order and either spelling", "[unit][standalone]") {
  const auto options =
      tune::parse_standalone_options({"--iterations=5", "--config", R"({"a":"=b"})"});
  CHECK(options.iterations == 5);
  CHECK(options.config == Json{{"a", "=b"}});
  CHECK_FALSE(options.help);
  CHECK(tune::parse_standalone_options({"--help", "--nonsense"}).help);
  CHECK(tune::parse_standalone_options({"--config={\"a\":\"=b\"}"}).config["a"] == "=b");
}
