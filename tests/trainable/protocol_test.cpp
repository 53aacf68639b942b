// The text of every message, and what is said of a command that makes no sense.
#include "trainable/protocol.h"

#include <fstream>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/catch.h"

using namespace tune::protocol;
using tune::Json;

namespace {

Start some_start() {
  Start start;
  start.trial_id = "trial_00003";
  start.trial_dir = "/storage/run/trial_00003";
  start.config = {{"lr", 0.1}, {"layers", {32, 16}}};
  start.checkpoint = "/storage/run/trial_00003/checkpoint_000002";
  start.iteration = 8;
  start.attempt = 2;
  start.resources = {{"cpu", 2.0}, {"gpu", 1.0}};
  start.devices = {"3"};
  start.stdout_log = "/storage/run/trial_00003/stdout.log";
  start.stderr_log = "/storage/run/trial_00003/stderr.log";
  start.rank = 1;
  start.world_size = 2;
  return start;
}

Json nested(int levels) {
  Json value = 1;
  for (int level = 0; level < levels; ++level) value = Json::array({value});
  return value;
}

}  // namespace

TEST_CASE("Each command has one text, which is the documented one", "[unit][protocol]") {
  CHECK(format(Command(some_start())) ==
        R"({"type":"start","trial_id":"trial_00003","trial_dir":"/storage/run/trial_00003",)"
        R"("config":{"layers":[32,16],"lr":0.1},)"
        R"("checkpoint":"/storage/run/trial_00003/checkpoint_000002",)"
        R"("iteration":8,"attempt":2,"resources":{"cpu":2.0,"gpu":1.0},"devices":["3"],)"
        R"("stdout":"/storage/run/trial_00003/stdout.log",)"
        R"("stderr":"/storage/run/trial_00003/stderr.log","rank":1,"world_size":2,"local_rank":0})"
        "\n");
  CHECK(format(Command(Step{9})) == "{\"type\":\"step\",\"iteration\":9}\n");
  CHECK(format(Command(Save{"/a/b", 8})) ==
        "{\"type\":\"save\",\"directory\":\"/a/b\",\"iteration\":8}\n");
  CHECK(format(Command(Stop{})) == "{\"type\":\"stop\"}\n");
  CHECK(format(Command(Stop{Stay::if_clean})) == "{\"type\":\"stop\",\"may_stay\":\"if_clean\"}\n");
  for (const Stay stay : {Stay::no, Stay::if_clean, Stay::if_possible}) {
    CHECK(std::get<Stop>(parse_command(format(Command(Stop{stay})))).stay == stay);
  }
  CHECK(std::get<Stop>(parse_command(R"({"type":"stop","may_stay":"perhaps"})")).stay == Stay::no);
}

TEST_CASE("Each answer has one text, in which what is not so is left out", "[unit][protocol]") {
  Hello hello;
  CHECK(format(Answer(hello)) ==
        "{\"type\":\"hello\",\"protocol\":1,\"api\":\"class\",\"can_reset\":false}\n");
  hello.api = Api::function_api;
  hello.can_reset = true;
  CHECK(format(Answer(hello)) ==
        "{\"type\":\"hello\",\"protocol\":1,\"api\":\"function\",\"can_reset\":true}\n");
  hello.can_save_at_start = true;
  CHECK(format(Answer(hello)) ==
        "{\"type\":\"hello\",\"protocol\":1,\"api\":\"function\",\"can_reset\":true,"
        "\"can_save_at_start\":true}\n");
  CHECK(format(Answer(Refused{})) == "{\"type\":\"refused\"}\n");

  Result result;
  result.metrics = {{"loss", 0.5}};
  CHECK(format(Answer(result)) == "{\"type\":\"result\",\"metrics\":{\"loss\":0.5}}\n");
  result = {Json(), true, true, "b", 9};
  CHECK(format(Answer(result)) ==
        "{\"type\":\"result\",\"iteration\":9,\"metrics\":null,\"done\":true,"
        "\"should_checkpoint\":true,\"checkpoint\":\"b\"}\n");

  CHECK(format(Answer(Saved{})) == "{\"type\":\"saved\"}\n");
  CHECK(format(Answer(Saved{"disk full", 9})) ==
        "{\"type\":\"saved\",\"iteration\":9,\"error\":\"disk full\"}\n");
  CHECK(format(Answer(Failure{"out of \"luck\"", "a\nb"})) ==
        "{\"type\":\"error\",\"message\":\"out of \\\"luck\\\"\",\"trace\":\"a\\nb\"}\n");
}

TEST_CASE("A formatted command is parsed to the same command", "[unit][protocol]") {
  for (const bool reset : {false, true}) {
    Start start = some_start();
    start.reset = reset;
    const auto parsed = std::get<Start>(parse_command(format(Command(start))));
    CHECK(parsed.reset == reset);
    CHECK(parsed.trial_id == start.trial_id);
    CHECK(parsed.trial_dir == start.trial_dir);
    CHECK(parsed.config == start.config);
    CHECK(parsed.checkpoint == start.checkpoint);
    CHECK(parsed.iteration == 8);
    CHECK(parsed.attempt == 2);
    CHECK(parsed.resources == start.resources);
    CHECK(parsed.devices == start.devices);
    CHECK(parsed.stdout_log == start.stdout_log);
    CHECK(parsed.stderr_log == start.stderr_log);
    CHECK(parsed.rank == 1);
    CHECK(parsed.world_size == 2);
  }
  for (const char* const step :
       {R"({"type":"step","iteration":12})", R"( {"type" : "step", "iteration" : 12} )",
        R"({"type":"step","iteration":12,"more":{}})"}) {
    CHECK(std::get<Step>(parse_command(step)).iteration == 12);
  }
  const auto save = std::get<Save>(parse_command(format(Command(Save{"/a \"b\"", 12}))));
  CHECK(save.directory == "/a \"b\"");
  CHECK(save.iteration == 12);
  CHECK(std::holds_alternative<Stop>(parse_command(format(Command(Stop{})))));
}

TEST_CASE("A start may leave out what has an obvious value", "[unit][protocol]") {
  const auto start = std::get<Start>(
      parse_command(R"({"type":"start","trial_id":"t","trial_dir":"/t","config":{}})"));
  CHECK_FALSE(start.reset);
  CHECK_FALSE(start.checkpoint.has_value());
  CHECK(start.iteration == 0);
  CHECK(start.attempt == 1);
  CHECK(start.resources == Json::object());
  CHECK(start.devices.empty());
  CHECK(start.stdout_log.empty());
  CHECK(start.rank == 0);
  CHECK(start.world_size == 1);
}

TEST_CASE("Null is a field of a command that is not there", "[unit][protocol]") {
  const auto start = std::get<Start>(parse_command(
      R"({"type":"start","trial_id":"t","trial_dir":"/t","config":{},"iteration":null,)"
      R"("attempt":null,"resources":null,"devices":null,"stdout":null,"rank":null})"));
  CHECK(start.attempt == 1);
  CHECK(start.devices.empty());
  CHECK(std::get<Step>(parse_command(R"({"type":"step","iteration":null})")).iteration == 0);
}

TEST_CASE("Unknown fields of a command are ignored", "[unit][protocol]") {
  CHECK(std::holds_alternative<Step>(parse_command(R"({"type":"step","hint":{"a":[1]}})")));
  CHECK(std::get<Save>(parse_command(R"({"x":1,"type":"save","directory":"/d"})")).directory ==
        "/d");
}

TEST_CASE("The session in the documentation is the protocol", "[unit][protocol]") {
  std::ifstream page(PROTOCOL_PAGE);
  std::vector<std::string> messages;
  bool in_session = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("< ") || line.starts_with("> ")) {
      messages.push_back(line);
      in_session = true;
    } else if (in_session && line.starts_with("   ")) {
      messages.back() += line;  // a folded line goes on
    } else {
      in_session = false;
    }
  }
  REQUIRE(messages.size() == 9);
  for (const std::string& message : messages) {
    INFO(message);
    const std::string text = message.substr(2);
    if (message[0] == '>') {
      CHECK(Json::parse(format(parse_command(text))) == Json::parse(text));
    } else {
      CHECK(std::set<std::string>{"hello", "result", "saved"}.count(Json::parse(text)["type"]) ==
            1);
    }
  }
}

TEST_CASE("A command that makes no sense is refused with what is wrong", "[unit][protocol]") {
  const auto reason = [](const std::string& line) -> std::string {
    try {
      parse_command(line);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(reason("") == "'' is not a JSON object");
  CHECK(reason("{\"type\":\"st") == "'{\"type\":\"st' is not a JSON object");
  CHECK(reason("[1]") == "'[1]' is not a JSON object");
  CHECK(reason("{}") == "'{}' has no \"type\"");
  CHECK(reason("{\"type\":3}") == "'{\"type\":3}' has no \"type\"");
  CHECK(reason("{\"type\":\"jump\"}") ==
        "the type of '{\"type\":\"jump\"}' is unknown: start, step, save, reset or stop was "
        "expected");
  CHECK(reason("{\"type\":\"save\"}") ==
        "in the command \"save\" the field \"directory\" is missing, and it must be a string");

  const auto start_with = [&](const char* name, const Json& value) {
    Json start = Json::parse(format(Command(some_start())));
    start[name] = value;
    return reason(start.dump());
  };
  CHECK(start_with("iteration", 3) == "accepted");
  CHECK(start_with("trial_id", 3) ==
        "in the command \"start\" the field \"trial_id\" is 3, and it must be a string");
  CHECK(start_with("config", nullptr) ==
        "in the command \"start\" the field \"config\" is null, and it must be an object");
  CHECK(start_with("checkpoint", false) ==
        "in the command \"start\" the field \"checkpoint\" is false, and it must be a string or "
        "null");
  CHECK(start_with("devices", {1}).find("must be a list of strings") != std::string::npos);
  for (const Json& wrong : {Json(-1), Json(1.5), Json("1"), Json(1e300)}) {
    CHECK(start_with("iteration", wrong).find("must be an integer, 0 or more") !=
          std::string::npos);
  }
  CHECK(start_with("rank", 5'000'000'000) != "accepted");
  CHECK(start_with("world_size", 0) != "accepted");
}

TEST_CASE("Non-finite metrics leave as strings and the caller's metrics stay", "[unit][protocol]") {
  Result result;
  result.metrics["loss"] = std::numeric_limits<double>::quiet_NaN();
  result.metrics["by_class"] = {1.0, std::numeric_limits<double>::infinity()};
  CHECK(format(Answer(result)) ==
        "{\"type\":\"result\",\"metrics\":{\"by_class\":[1.0,\"Infinity\"],\"loss\":\"NaN\"}}\n");
}

TEST_CASE("Bytes that are no UTF-8 are replaced and the line is still JSON", "[unit][protocol]") {
  Result result;
  result.metrics["name\xff"] = "caf\xe9";
  const Json line = Json::parse(format(Answer(result)));
  CHECK(line["metrics"]["name\xef\xbf\xbd"] == "caf\xef\xbf\xbd");
  CHECK(Json::parse(format(Answer(Failure{"\x80", ""})))["message"] == "\xef\xbf\xbd");
}

TEST_CASE("Values may use all the levels of a message and not one more", "[unit][protocol]") {
  Result result;
  result.metrics["deep"] = nested(max_depth - 2);
  CHECK_FALSE(Json::parse(format(Answer(result))).is_discarded());
  result.metrics["deep"] = nested(max_depth - 1);
  CHECK_THROWS_AS(format(Answer(result)), std::invalid_argument);
}

TEST_CASE("A command is read with all the levels of a message and not one more",
          "[unit][protocol]") {
  const auto step = [](int levels) {
    return R"({"type":"step","iteration":3,"more":)" + nested(levels).dump() + "}";
  };
  CHECK(std::get<Step>(parse_command(step(max_depth - 1))).iteration == 3);
  CHECK_THROWS_WITH(parse_command(step(max_depth)),
                    Catch::Matchers::EndsWith("deeper than the 64 levels that a message may have"));
}

TEST_CASE("A line may have all its bytes and not one more", "[unit][protocol]") {
  Result result;
  result.metrics["blob"] = "";
  const std::size_t rest = format(Answer(result)).size();
  result.metrics["blob"] = std::string(max_line_bytes - rest, 'x');
  CHECK(format(Answer(result)).size() == max_line_bytes);
  result.metrics["blob"] = std::string(max_line_bytes - rest + 1, 'x');
  CHECK_THROWS_AS(format(Answer(result)), std::length_error);
}
