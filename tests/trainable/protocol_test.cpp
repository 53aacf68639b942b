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
        R"("iteration":8,"rank":1,"world_size":2})"
        "\n");
  CHECK(format(Command(Step{})) == "{\"type\":\"step\"}\n");
  CHECK(format(Command(Save{"/a/b"})) == "{\"type\":\"save\",\"directory\":\"/a/b\"}\n");
  CHECK(format(Command(Stop{})) == "{\"type\":\"stop\"}\n");
}

TEST_CASE("Each answer has one text, in which what is not so is left out", "[unit][protocol]") {
  Hello hello;
  hello.pid = 4711;
  CHECK(format(Answer(hello)) ==
        "{\"type\":\"hello\",\"protocol\":1,\"pid\":4711,\"api\":\"class\",\"can_reset\":false}\n");
  hello.api = Api::function_api;
  hello.can_reset = hello.reset_refused = true;
  CHECK(format(Answer(hello)) ==
        "{\"type\":\"hello\",\"protocol\":1,\"pid\":4711,\"api\":\"function\",\"can_reset\":true,"
        "\"reset_refused\":true}\n");

  Result result;
  result.metrics = {{"loss", 0.5}};
  CHECK(format(Answer(result)) == "{\"type\":\"result\",\"metrics\":{\"loss\":0.5}}\n");
  result = {Json(), true, true, "/a/b"};
  CHECK(format(Answer(result)) ==
        "{\"type\":\"result\",\"metrics\":null,\"done\":true,\"should_checkpoint\":true,"
        "\"checkpoint\":\"/a/b\"}\n");

  CHECK(format(Answer(Saved{})) == "{\"type\":\"saved\"}\n");
  CHECK(format(Answer(Saved{"disk full"})) == "{\"type\":\"saved\",\"error\":\"disk full\"}\n");
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
    CHECK(parsed.rank == 1);
    CHECK(parsed.world_size == 2);
  }
  CHECK(std::holds_alternative<Step>(parse_command(R"({"type":"step"})")));
  CHECK(std::holds_alternative<Step>(parse_command(R"( {"type" : "step"} )")));
  CHECK(std::get<Save>(parse_command(format(Command(Save{"/a \"b\""})))).directory == "/a \"b\"");
  CHECK(std::holds_alternative<Stop>(parse_command(format(Command(Stop{})))));
}

TEST_CASE("A start may leave out what has an obvious value", "[unit][protocol]") {
  const auto start = std::get<Start>(
      parse_command(R"({"type":"start","trial_id":"t","trial_dir":"/t","config":{}})"));
  CHECK_FALSE(start.reset);
  CHECK_FALSE(start.checkpoint.has_value());
  CHECK(start.iteration == 0);
  CHECK(start.rank == 0);
  CHECK(start.world_size == 1);
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
  for (const Json& wrong : {Json(-1), Json(1.5), Json("1"), Json(), Json(1e300)}) {
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

TEST_CASE("A line may have all its bytes and not one more", "[unit][protocol]") {
  Result result;
  result.metrics["blob"] = "";
  const std::size_t rest = format(Answer(result)).size();
  result.metrics["blob"] = std::string(max_line_bytes - rest, 'x');
  CHECK(format(Answer(result)).size() == max_line_bytes);
  result.metrics["blob"] = std::string(max_line_bytes - rest + 1, 'x');
  CHECK_THROWS_AS(format(Answer(result)), std::length_error);
}
