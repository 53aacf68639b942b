// Lines and what they mean.
// Knows no process.
#include "tuner/execution/local/message_parser.h"

#include <cmath>

#include "tests/support/catch.h"

using namespace tune;

namespace {

constexpr LaunchId launch{7};

Wakeup parse(const std::string& line) {
  // Behind a line there may be anything, and nothing of it may matter.
  const std::string padded = line + "\n{\"type\":\"saved\"}" + std::string(64, '"');
  return MessageParser().parse(launch, std::string_view(padded).substr(0, line.size()));
}

std::string fault_of(const std::string& line) {
  const auto wakeup = parse(line);
  REQUIRE(std::holds_alternative<Faulted>(wakeup));
  CHECK(std::get<Faulted>(wakeup).launch == launch);
  return std::get<Faulted>(wakeup).reason;
}

template <class Kind>
Kind read_as(const std::string& line) {
  auto wakeup = parse(line);
  if (const auto* fault = std::get_if<Faulted>(&wakeup)) INFO(fault->reason);
  REQUIRE(std::holds_alternative<Kind>(wakeup));
  return std::get<Kind>(wakeup);
}

}  // namespace

TEST_CASE("Every answer that a trainable formats is read as it was meant", "[unit][protocol]") {
  const auto hello =
      read_as<Greeted>(protocol::format(protocol::Hello{.api = protocol::Api::function_api,
                                                        .can_reset = true,
                                                        .can_save = true,
                                                        .can_save_at_start = true,
                                                        .can_stay = true}));
  CHECK(hello.hello.api == protocol::Api::function_api);
  CHECK(hello.hello.can_reset);
  CHECK(hello.hello.can_save);
  CHECK(hello.hello.can_save_at_start);
  CHECK(hello.hello.can_stay);
  CHECK(read_as<Refused>(protocol::format(protocol::Refused{})).launch == launch);
  CHECK(read_as<Refused>(protocol::format(protocol::Refused{"a thread"})).reason == "a thread");

  protocol::Result result{{{"loss", 0.5}}, false, true, "a \"b\"\n\xC3\xA9", 7, true};
  const auto reported = read_as<Reported>(protocol::format(result));
  REQUIRE(reported.metrics.has_value());
  CHECK(reported.metrics->text == R"({"loss":0.5})");
  CHECK(reported.metrics->find("loss") == 0.5);
  CHECK_FALSE(reported.done);
  CHECK(reported.should_checkpoint);
  CHECK(reported.can_save);
  CHECK(reported.checkpoint == "a \"b\"\n\xC3\xA9");
  CHECK(reported.iteration == 7);

  const auto last = read_as<Reported>(protocol::format(protocol::Result{.done = true}));
  CHECK_FALSE(last.metrics.has_value());
  CHECK(last.done);
  CHECK_FALSE(last.iteration.has_value());
  CHECK_FALSE(last.stays);
  CHECK(read_as<Reported>(protocol::format(protocol::Result{.done = true, .stays = true})).stays);

  CHECK_FALSE(read_as<SaveAnswered>(protocol::format(protocol::Saved{})).error.has_value());
  const auto unsaved = read_as<SaveAnswered>(protocol::format(protocol::Saved{"full", 3}));
  CHECK(unsaved.error == "full");
  CHECK(unsaved.iteration == 3);
  CHECK(read_as<SaveAnswered>(R"({"type":"saved","error":""})").error == "it gave no reason");
  CHECK(fault_of(protocol::format(protocol::Failure{"bad luck", "here\nand there"})) ==
        "bad luck\nhere\nand there");
}

TEST_CASE("Fields may come in any order, and unknown ones are ignored", "[unit][protocol]") {
  const auto reported = read_as<Reported>(
      R"( {"new":{"done":[1,{"type":3}]},"metrics" : {"a":{"b":1}} ,"done":true,"type":"result"} )");
  CHECK(reported.done);
  CHECK(reported.metrics->text == R"({"a":{"b":1}})");
  CHECK(reported.metrics->find("a/b") == 1);
  CHECK_FALSE(read_as<SaveAnswered>(R"({"type":"saved","metrics":17,"done":"x"})").error);
}

TEST_CASE("The type is taken as it is written, and of a field that stands twice the last counts",
          "[unit][protocol]") {
  CHECK(fault_of(R"({"t\u0079pe":"saved"})").find("without \"type\"") != std::string::npos);
  CHECK(read_as<Reported>(R"({"type":"result","d\u006fne":true})").done);
  CHECK_FALSE(read_as<SaveAnswered>(R"({"type":"saved","type":"result"})").error);
  CHECK(
      read_as<Reported>(R"({"type":"result","done":true,"iteration":1,"iteration":2})").iteration ==
      2);
}

TEST_CASE("Null is a field that is not there, whichever it is", "[unit][protocol]") {
  const auto hello =
      read_as<Greeted>(R"({"type":"hello","protocol":1,"api":null,"can_reset":null,"pid":null})");
  CHECK(hello.hello.api == protocol::Api::class_api);
  CHECK_FALSE(hello.hello.can_reset);
  const auto reported =
      read_as<Reported>(R"({"type":"result","iteration":null,"metrics":{"a":1},"done":null,)"
                        R"("should_checkpoint":null,"checkpoint":null})");
  CHECK_FALSE(reported.iteration.has_value());
  CHECK_FALSE(reported.done);
  CHECK_FALSE(reported.should_checkpoint);
  CHECK_FALSE(reported.checkpoint.has_value());
  CHECK_FALSE(read_as<SaveAnswered>(R"({"type":"saved","error":null,"iteration":null})").error);
  CHECK(fault_of(R"({"type":"error","message":null,"trace":null})") ==
        "the trainable reported an error without a message");
  CHECK(fault_of(R"({"type":"hello","protocol":null})").find("without \"protocol\"") !=
        std::string::npos);
}

TEST_CASE("Numbers beyond 64 bits and beyond any double are values", "[unit][protocol]") {
  const auto reported = read_as<Reported>(
      R"({"type":"result","metrics":{"big":30000000000000000000,"low":-9223372036854775809,)"
      R"("huge":1e309,"least":-1e400}})");
  CHECK(reported.metrics->find("big") == 3e19);
  CHECK(reported.metrics->find("low") == -9223372036854775808.0);
  CHECK(reported.metrics->find("huge") == INFINITY);
  CHECK(reported.metrics->find("least") == -INFINITY);
}

TEST_CASE("NaN and infinities are values, quoted or as Python writes them", "[unit][protocol]") {
  const std::string line =
      GENERATE(R"({"type":"result","metrics":{"a":"NaN","b":-1,"c":"-Infinity"}})",
               R"({"type":"result","metrics":{"a":NaN,"b":-1,"c":-Infinity}})",
               R"({"metrics":{"a":NaN,"b":-1,"c":-Infinity},"type":"result","extra":Infinity})");
  const auto reported = read_as<Reported>(line);
  CHECK(std::isnan(*reported.metrics->find("a")));
  CHECK(reported.metrics->find("b") == -1);
  CHECK(reported.metrics->find("c") == -INFINITY);
  CHECK(reported.metrics->text == R"({"a":"NaN","b":-1,"c":"-Infinity"})");
}

TEST_CASE("Whatever is not the protocol is a fault that says why", "[unit][protocol]") {
  const auto [line, why] = GENERATE(table<std::string, std::string>({
      {"epoch 3 done", "not a JSON object"},
      {"{", "not JSON"},
      {R"({"type":"saved")", "not JSON"},
      {R"({"type":"saved"}})", "more than one"},
      {R"({"type":"saved"} {"type":"saved"})", "more than one"},
      {R"({"type":"saved","error":"\x"})", "not JSON"},
      {R"({"type":"saved","error":nope})", "not JSON"},
      {R"({"type":"result","metrics":{"a":1},"checkpoint":n"x"})", "not JSON"},
      {R"({"type":"result","metrics":nothing,"done":true})", "not JSON"},
      {R"({"type":"result","metrics":{"a":1,}})", "not JSON"},
      {R"({"type":"result","metrics":{"a":nul}})", "not JSON"},
      {"{\"type\":\"saved\",\"error\":\"\xFF\"}", "UTF-8"},
      {"[1]", "not a JSON object"},
      {"3", "not a JSON object"},
      {"null", "not a JSON object"},
      {"{}", "without \"type\""},
      {R"({"type":3})", "\"type\" must be a string"},
      {R"({"type":"step"})", "unknown type"},
      {R"({"type":"result"})", "neither"},
      {R"({"type":"result","metrics":null,"done":false})", "neither"},
      {R"({"type":"result","metrics":[1]})", "\"metrics\" must be an object"},
      {R"({"type":"result","metrics":3})", "\"metrics\" must be an object"},
      {R"({"type":"result","metrics":{},"done":1})", "\"done\" must be true or false"},
      {R"({"type":"result","metrics":{},"checkpoint":1})", "\"checkpoint\" must be a string"},
      {R"({"type":"result","metrics":{},"iteration":"1"})", "\"iteration\" must be an integer"},
      {R"({"type":"hello"})", "without \"protocol\""},
      {R"({"type":"hello","protocol":"1"})", "\"protocol\" must be an integer"},
      {R"({"type":"hello","protocol":1.5})", "\"protocol\" must be an integer"},
      {R"({"type":"hello","protocol":2})", "it speaks protocol 2, and this driver speaks 1"},
      {R"({"type":"hello","protocol":1,"api":"other"})", "\"api\" must be"},
  }));
  CAPTURE(line);
  const auto reason = fault_of(line);
  CAPTURE(reason);
  CHECK(reason.find("not the protocol: ") == 0);
  CHECK(reason.find(why) != reason.npos);
}

TEST_CASE("Nesting beyond the limit is a fault, and not a crash", "[unit][protocol]") {
  const std::size_t depth = 200'000;
  const auto nested = std::string(depth, '[') + std::string(depth, ']');
  fault_of(R"({"type":"result","metrics":{"a":)" + nested + "}}");
  CHECK_FALSE(read_as<SaveAnswered>(R"({"type":"saved","a":)" + nested + "}").error);
}

TEST_CASE("Metrics may use all levels of a message that its own object leaves",
          "[unit][protocol]") {
  const auto message_of = [](std::size_t levels) {  // the message's own among them
    return R"({"type":"result","metrics":{"x":)" + std::string(levels - 2, '[') + "1" +
           std::string(levels - 2, ']') + "}}";
  };
  CHECK(read_as<Reported>(message_of(64)).metrics->text.size() == 7 + 2 * 62);
  for (const std::size_t levels : {65, 66, 67, 68}) {
    CHECK(fault_of(message_of(levels)).find("too deep") != std::string::npos);
  }
}

TEST_CASE("A name that stands twice is a fault that says which", "[unit][protocol]") {
  CHECK(fault_of(R"({"type":"result","metrics":{"loss":1,"loss":5}})")
            .find("'loss' is in it twice") != std::string::npos);
}

TEST_CASE("Of an error that is too long to be kept for good, the beginning is kept",
          "[unit][protocol]") {
  std::string text;
  while (text.size() < 1'000'000) text += "\xC3\xA9";
  const auto kept = fault_of(protocol::format(protocol::Failure{"x" + text, ""}));
  CHECK(kept.size() < 70'000);
  CHECK(kept.ends_with(" more bytes)"));
  CHECK(Json(kept).dump().size() > 60'000);  // throws if it is not UTF-8
  const auto answer = read_as<SaveAnswered>(protocol::format(protocol::Saved{text}));
  CHECK(answer.error->size() < 70'000);
}

TEST_CASE("A fault quotes at most 100 characters, and only printable ones", "[unit][protocol]") {
  const auto reason = fault_of("\x01\xC3\xA9" + std::string(97, 'x') + "YZ");
  CHECK(reason.find("'???" + std::string(97, 'x') + "'...") != reason.npos);
}
