#include "tuner/host/policy_answer.h"

#include <string>

#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

namespace tune {
namespace {

using namespace std::string_literals;

std::string levels(std::size_t count, const std::string& inside = "1") {
  return std::string(count, '[') + inside + std::string(count, ']');
}

/// What the reader makes of `bytes` that come after its first question.
Said answer_of(const std::string& bytes) {
  AnswerReader reader;
  reader.open();
  reader.take(bytes);
  auto said = reader.answer();
  REQUIRE(said);
  return *std::move(said);
}

template <class Call>
std::string complaint_of(const Call& call) {
  try {
    call();
  } catch (const BadAnswer& bad) {
    return bad.what();
  }
  return "none";
}

std::string complaint_about(const std::string& bytes) {
  return complaint_of([&] { answer_of(bytes); });
}

template <class Judge>
std::string complaint_about(const Judge& judge, const std::string& line) {
  const Said said = answer_of(line + "\n");
  return complaint_of([&] { judge(said); });
}

ConfigRules rules_of(const Json& space, const std::vector<std::string>& constraints = {}) {
  ConfigRules rules{space_of(space), {}, 7};
  for (const auto& text : constraints) rules.constraints.push_back(rules.space.constraint(text));
  return rules;
}

}  // namespace

TEST_CASE("An answer that is no JSON object is refused, and shown from its beginning",
          "[policy_answer][unit]") {
  CHECK(complaint_about("hello\n") == "answered what is no JSON object: hello (it is no JSON)");
  CHECK(complaint_about("[1]\n") == "answered what is no JSON object: [1] (it is no object)");
  CHECK(complaint_about("{}{}\n") == "answered what is no JSON object: {}{} (it is no JSON)");
  CHECK(complaint_about("{\"a\":\x01}\n") ==
        "answered what is no JSON object: {\"a\": } (it is no JSON)");
  CHECK(complaint_about("{\"a\":\"\xff\"}\n") ==
        "answered what is no JSON object: {\"a\":\"?\"} (it is no JSON)");
  CHECK(complaint_about("{\"a\":1\0}\n"s) ==
        "answered what is no JSON object: {\"a\":1 } (it is no JSON)");
  CHECK(complaint_about("{\"a\":1}\0\n"s) ==
        "answered what is no JSON object: {\"a\":1}  (it is no JSON)");
  CHECK(complaint_about("{\"a\":1e999}\n") ==
        "answered what is no JSON object: {\"a\":1e999} (it holds a number that is too large)");
  CHECK(complaint_about("{\"a\":1,\"a\":2}\n") ==
        "answered what is no JSON object: {\"a\":1,\"a\":2} ('a' is in it twice)");
  const std::string shown = complaint_about(std::string(300, 'x') + "\n");
  CHECK(shown ==
        "answered what is no JSON object: " + std::string(200, 'x') + "... (it is no JSON)");
}

TEST_CASE("What is nested too deeply is refused before it is parsed, wherever it stands",
          "[policy_answer][unit]") {
  const std::size_t most = most_answer_levels - 1;  // the object is one
  for (const std::string name : {"config", "state", "action", "error", "stop", "unknown"}) {
    for (const std::size_t depth : {most + 1, std::size_t{2'000}, std::size_t{1'000'000}}) {
      CHECK(complaint_about("{\"" + name + "\":" + levels(depth) + "}\n")
                .starts_with("answered what is nested deeper than 512 levels: {\"" + name));
    }
  }
  CHECK(answer_of("{\"state\":" + levels(most) + "}\n").fields.contains("state"));
  CHECK(complaint_about(std::string(1'000'000, '[') + "\n")
            .starts_with("answered what is nested deeper"));
  // An error that nobody asked for is no way around.
  AnswerReader reader;
  reader.take("{\"error\":" + levels(80'000) + "}\n");
  CHECK(
      complaint_of([&] { reader.open(); }).starts_with("said what nobody had asked for: {\"error"));
}

TEST_CASE("A line without an end is refused once it is too long", "[policy_answer][unit]") {
  AnswerReader reader;
  reader.open();
  const std::string block(1 << 20, 'x');
  for (int i = 0; i < 16; ++i) reader.take(block);
  CHECK_FALSE(reader.answer());
  CHECK(complaint_of([&] { reader.take("x"); }).starts_with("said a line longer than 16 MiB: xxx"));
}

TEST_CASE("An error is a refusal, with or without a question", "[policy_answer][unit]") {
  CHECK(complaint_about("{\"error\":\"no\\u001b[0m\"}\n") == "failed: no [0m");
  CHECK(complaint_about("{\"error\":{\"code\":3}}\n") == "failed: {\"code\":3}");
  CHECK(complaint_about("{\"error\":\"\"}\n") == "failed, and gave no reason");
  CHECK(answer_of("{\"error\":null}\n").fields.contains("error"));
  CHECK(complaint_about("{\"error\":\"" + std::string(5'000, 'x') + "\"}\n").size() < 4'100);
  AnswerReader reader;
  reader.take("{\"error\":\"in on_trial_end\"}\n");
  CHECK(complaint_of([&] { reader.open(); }) == "failed: in on_trial_end");
}

TEST_CASE("What is said while no question is open is a fault, whoever gives numbers back",
          "[policy_answer][unit]") {
  SECTION("before the first question") {
    AnswerReader reader;
    reader.take("{\"hello\":1}\n");
    CHECK(complaint_of([&] { reader.open(); }) == "said what nobody had asked for: {\"hello\":1}");
  }
  SECTION("right behind an answer") {
    CHECK(complaint_about("{}\n{\"stop\":true}\n") ==
          "said what nobody had asked for: {\"stop\":true}");
    CHECK(complaint_about("{}\n{\"st") == "said what nobody had asked for: {\"st");
  }
  SECTION("later than that, before the next question") {
    AnswerReader reader;
    reader.open();
    reader.take("{}\n");
    CHECK(reader.answer());
    reader.take("{\"stop\":true}\n");
    CHECK_FALSE(reader.answer());
    CHECK(complaint_of([&] { reader.open(); }) ==
          "said what nobody had asked for: {\"stop\":true}");
  }
  SECTION("blank lines are nothing") {
    AnswerReader reader;
    reader.take("\n \r\n");
    CHECK(reader.open() == 1);
    reader.take("\n{}\r\n\n");
    CHECK(reader.answer());
    CHECK(reader.open() == 2);
  }
  SECTION("a new process has been asked nothing") {
    AnswerReader reader;
    reader.open();
    reader.take("{\"half");
    reader.restart();
    CHECK(reader.open() == 2);
  }
}

TEST_CASE("An answer that gives back another question's number is refused",
          "[policy_answer][unit]") {
  AnswerReader reader;
  CHECK(reader.open() == 1);
  reader.take("{\"question\":1}\n");
  CHECK(reader.answer());
  CHECK(reader.open() == 2);
  SECTION("its own") {
    reader.take("{\"question\":2.0}\n");
    CHECK(reader.answer());
  }
  SECTION("none") {
    reader.take("{}\n");
    CHECK(reader.answer());
  }
  SECTION("others") {
    const std::string other = GENERATE(as<std::string>(), "1", "3", "-2", "2.5", "\"2\"", "[2]",
                                       "18446744073709551618", "true");
    reader.take("{\"question\":" + other + "}\n");
    CHECK_THAT(complaint_of([&] { reader.answer(); }),
               Catch::Matchers::Contains("and question 2 was open"));
  }
}

TEST_CASE("Half a line of who has died is nobody's answer, and a whole one says why",
          "[policy_answer][unit]") {
  AnswerReader reader;
  reader.open();
  reader.take("{\"conf");
  CHECK_NOTHROW(reader.hear_last());
  reader.take("ig\":{}}\n");
  CHECK(reader.answer());
  reader.take("{\"error\":\"because\"}\n");
  CHECK(complaint_of([&] { reader.hear_last(); }) == "failed: because");
}

TEST_CASE("Who speaks another version of the protocol is refused with both numbers",
          "[policy_answer][unit]") {
  CHECK(complaint_about(greeting_in, "{}") == "none");
  CHECK(complaint_about(greeting_in, R"({"version":1})") == "none");
  CHECK(complaint_about(greeting_in, R"({"version":2})") ==
        "speaks version 2 of the protocol, and this driver 1");
  CHECK(complaint_about(greeting_in, R"({"version":"1"})") ==
        "speaks version \"1\" of the protocol, and this driver 1");
}

TEST_CASE("A suggestion is a config, nothing now, or the end, and one of them",
          "[policy_answer][unit]") {
  const auto meaning = [](const std::string& line) {
    return suggestion_in(answer_of(line + "\n"));
  };
  CHECK(std::get<Json>(meaning(R"({"config":{"x":1}})")) == Json{{"x", 1}});
  CHECK(std::get<Json>(meaning(R"({"config":{},"exhausted":false})")) == Json::object());
  CHECK(std::holds_alternative<NothingNow>(meaning(R"({"nothing_now":true,"config":null})")));
  CHECK(std::holds_alternative<Exhausted>(meaning(R"({"exhausted":true})")));
  for (const std::string line :
       {R"({})", R"({"config":null})", R"({"config":[1]})", R"({"config":"x"})",
        R"({"config":{},"exhausted":true})", R"({"nothing_now":true,"exhausted":true})"}) {
    CHECK(
        complaint_about(suggestion_in, line) ==
        R"(was to suggest: a "config", which is an object, or "nothing_now" or "exhausted", and answered )" +
            line);
  }
  CHECK(complaint_about(suggestion_in, R"({"exhausted":1})") ==
        R"(was to say "exhausted" as true or false, and answered {"exhausted":1})");
}

TEST_CASE("A decision is an action and what belongs to it", "[policy_answer][unit]") {
  const auto meaning = [](const std::string& line) { return decision_in(answer_of(line + "\n")); };
  CHECK(meaning("{}").action == Action::proceed);
  CHECK(meaning(R"({"action":"pause","checkpoint":true})").checkpoint);
  CHECK(meaning(R"({"action":"stop","at_max":true})").at_max);
  CHECK_FALSE(meaning(R"({"action":"stop"})").at_max);
  CHECK_THAT(complaint_about(decision_in, R"({"action":"pause","at_max":true})"),
             Catch::Matchers::Contains("say \"at_max\" with the action stop only"));
  const auto exploit = meaning(R"({"action":"exploit","donor":3,"config":{"x":1}})");
  CHECK((index_of(exploit.donor) == 3 && exploit.config == Json{{"x", 1}}));
  const auto stops = meaning(R"({"stop":[1,{"trial":2e0,"reason":"enough"},{"trial":3}]})").stops;
  REQUIRE(stops.size() == 3);
  CHECK((index_of(stops[1].trial) == 2 && stops[1].reason == "enough"));
  CHECK(stops[2].reason == "the scheduler's program says so");
  CHECK(meaning(R"({"stop":4})").stops.size() == 1);
  CHECK(meaning(R"({"note":"of a later version"})").action == Action::proceed);
  CHECK(complaint_about(decision_in, R"({"acton":"stop"})") ==
        "answered with 'acton', did you mean 'action'?");

  for (const std::string line :
       {R"({"action":"go"})", R"({"action":3})", R"({"action":["stop"]})", R"({"action":{}})"}) {
    CHECK_THAT(complaint_about(decision_in, line),
               Catch::Matchers::Contains("with the action continue, pause, exploit or stop, and "
                                         "answered " +
                                         line));
  }
  for (const std::string donor :
       {"-1", "4294967296", "9223372036854775808", "1.5", "\"1\"", "null"}) {
    CHECK_THAT(
        complaint_about(decision_in, R"({"action":"exploit","config":{},"donor":)" + donor + "}"),
        Catch::Matchers::Contains("was to name a \"donor\", by its number"));
    CHECK_THAT(complaint_about(decision_in, R"({"stop":[{"trial":)" + donor + "}]}"),
               Catch::Matchers::Contains("was to name the trials to stop by their numbers"));
  }
  CHECK_THAT(complaint_about(decision_in, R"({"action":"exploit","donor":1,"config":[]})"),
             Catch::Matchers::Contains("and a \"config\", which is an object"));
  CHECK_THAT(complaint_about(decision_in, R"({"checkpoint":"yes"})"),
             Catch::Matchers::Contains("\"checkpoint\" as true or false"));
  CHECK_THAT(complaint_about(decision_in, R"({"stop":[{"trial":1,"reason":7}]})"),
             Catch::Matchers::Contains("the reason of a stop as a text"));
}

TEST_CASE("A verdict is whether the trial stops, and why all do", "[policy_answer][unit]") {
  const auto meaning = [](const std::string& line) { return verdict_in(answer_of(line + "\n")); };
  CHECK_FALSE(meaning("{}").stop);
  CHECK(meaning(R"({"stop":true,"stop_all":null})").stop);
  CHECK(meaning(R"({"stop_all":"enough"})").stop_all == "enough");
  CHECK_THAT(complaint_about(verdict_in, R"({"stop":1})"),
             Catch::Matchers::Contains("\"stop\" as true or false"));
  CHECK_THAT(complaint_about(verdict_in, R"({"stop_all":true})"),
             Catch::Matchers::Contains("\"stop_all\" why the search ends"));
}

TEST_CASE("A state is kept to the letter", "[policy_answer][unit]") {
  const auto kept = [](const std::string& line) { return state_in(answer_of(line + "\n")); };
  // 128 bits, as numpy's generators have; and what JSON has no word for.
  for (const std::string state :
       {"340282366920938463463374607431768211455", "[NaN, -Infinity]", "-0", "1e-400", "null",
        R"({"a" : [1 ,2], "b": "}\"],{"})", R"("state")", "[]"}) {
    CHECK(kept("{\"state\":" + state + "}") == state);
    CHECK(kept(R"({ "no" : [{"state":1}] , "s\u0074ate" :  )" + state + " , \"more\":2 }") ==
          state);
  }
  CHECK(complaint_about(state_in, R"({"stat":1})") ==
        R"(was to say its "state", and answered {"stat":1})");
}

TEST_CASE("A config of a program is of the param space, and what it leaves out is drawn",
          "[policy_answer][unit]") {
  const auto rules =
      rules_of(R"({"x": {"uniform": [0, 1]}, "n": {"choice": [1, 2]}, "f": 3})"_json);
  const auto judge = [&](const Json& given) {
    return judge_config(given, TrialId{4}, rules, "gave");
  };
  const JudgedConfig whole = judge({{"x", 0.5}, {"n", 2}, {"f", 3}});
  CHECK(whole.text == R"({"f":3,"n":2,"x":0.5})");
  CHECK(whole.unfit.empty());
  const Json drawn = judge({{"n", 1}}).config.config;
  CHECK((drawn.size() == 3 && drawn.at("n") == 1 && drawn == judge({{"n", 1}}).config.config));
  for (const Json& outside : {Json{{"x", 2}}, Json{{"y", 1}}, Json{{"n", 3}}, Json{{"x", "NaN"}}}) {
    CHECK(complaint_of([&] {
            judge(outside);
          }).starts_with("gave what is not in the param space: /"));
  }
}

TEST_CASE("A config of a program that breaks a constraint is named with it",
          "[policy_answer][unit]") {
  const auto rules = rules_of(R"({"x": {"randint": [0, 9]}, "n": {"choice": [1, 2]}})"_json,
                              {"x <= 5", "n * x >= 8"});
  CHECK(judge_config({{"x", 7}}, TrialId{0}, rules, "gave").unfit == "x <= 5");
  // What is left to draw is drawn so that they hold, if that can be.
  for (std::uint32_t trial = 0; trial < 20; ++trial) {
    CHECK(judge_config({{"x", 4}}, TrialId{trial}, rules, "gave").config.config.at("n") == 2);
  }
}

}  // namespace tune
