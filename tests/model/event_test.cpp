// Events as lines: what is written is read back, and nothing else is.
#include "tuner/model/event.h"

#include <cmath>
#include <limits>
#include <set>

#include "tests/support/catch.h"
#include "tuner/base/json_limits.h"

using namespace tune;

namespace {

Result a_result() {
  Result result;
  result.training_iteration = 7;
  result.timestamp = 1700000000.25;
  result.time_this_iter_s = 0.1;
  result.time_total_s = 0.7;
  result.time_since_restore = 0.3;
  result.iterations_since_restore = 3;
  result.timesteps_total = 70;
  result.done = true;
  result.metrics =
      parse_metrics(R"({"loss":"NaN","a":{"b":1e300,"metrics":{"x":2}},"s":"\"metrics\":"})");
  return result;
}

std::vector<EventBody> one_of_each() {
  Checkpoint checkpoint;
  checkpoint.index = 3;
  checkpoint.iteration = 7;
  checkpoint.time_total_s = 0.7;
  checkpoint.timesteps_total = 70;
  checkpoint.triggers.add(Trigger::frequency);
  checkpoint.triggers.add(Trigger::pause);
  checkpoint.bytes = std::uint64_t{1} << 40;
  checkpoint.save_s = 0.25;
  checkpoint.commit_s = 1.5;
  checkpoint.slowest_rank = 3;
  checkpoint.order = SavedWhen::before_result;
  checkpoint.kind = "last-";
  return {
      SessionStarted{"host \"a\"", 12, "0.1"},
      TrialAdded{TrialId{1}, R"({"config":{"x":"}"},"y":[1,2]})", "x=\xc3\xa4", "/a b"},
      AttemptStarted{TrialId{1}, 2, 3, {0, 5}},
      AttemptStarted{TrialId{1}, 3, 0, {0, 1}, {}, false, "GPU-4f,GPU-7e"},
      AttemptStarted{.trial = TrialId{1}, .attempt = 4, .by_searcher = true},
      AttemptStarted{TrialId{1}, 4, 0, {2}, {}, false, "0", false, "elm"},
      ProcessStarted{TrialId{1}, 2, 4711, 123456789012},
      ResultReported{TrialId{1}, 2, a_result(), {Action::stop, true, true}},
      CheckpointCommitted{TrialId{1}, checkpoint},
      CheckpointFailed{TrialId{1}, 4, "no space"},
      CheckpointsDropped{TrialId{1}, {1, 2}},
      CheckpointDamaged{TrialId{1}, 3, "a\nb"},
      AttemptEnded{TrialId{1}, 2, Outcome::failed, "it died", true, 1700000001.5},
      AttemptEnded{TrialId{1}, 3, Outcome::failed, "the disk is full", false, 0, EndedBy::exit,
                   true},
      StopRequested{"enough", true},
      CallbackSaved{"mine", R"({"seen":[1,{"state":"}"}]})"},
      SessionEnded{"finished"},
      SessionEnded{"received SIGTERM", {}, SessionEnd::stopped},
      TrialRequeued{TrialId{1}, true},
      TrialStopRequested{TrialId{1}, "stopped by the user"},
      TrialExploited{TrialId{1}, {TrialId{0}, R"({"metrics":{"lr":1}})", "lr=1"}},
      SuggestionAsked{TrialId{1}},
      ClockStepped{-3600.5},
      SpecChanged{R"({"stop":{"fields":{"x":1}},"num_samples":-1})"},
      TrialHeld{TrialId{1}, true},
  };
}

std::string text_of(const Event& event) {
  std::string text;
  append_json(text, event);
  return text;
}

}  // namespace

TEST_CASE("Who ended a trial is read from the record, or from the sentence of an old one",
          "[event]") {
  const auto end = [](const std::string& rest) {
    const auto event = parse_event(
        R"({"n":1,"t":1,"e":"end","trial":0,"attempt":1,"outcome":"completed")" + rest + "}");
    return std::get<AttemptEnded>(event.body).by;
  };
  CHECK(end(R"(,"reason":"it said that it was done")") == EndedBy::done);
  CHECK(end(R"(,"reason":"it has returned","by":"done")") == EndedBy::done);
  CHECK(end(R"(,"reason":"it said that it was done","by":"exit")") == EndedBy::exit);
  CHECK(end("") == EndedBy::exit);
  CHECK_THROWS_AS(end(R"(,"by":"user")"), std::invalid_argument);
  const auto stop = [](const std::string& rest) {
    const auto event =
        parse_event(R"({"n":1,"t":1,"e":"trial_stop","trial":0,"reason":)" + rest + "}");
    return std::get<TrialStopRequested>(event.body).by;
  };
  CHECK(stop(R"x("stopped by the user (tune stop)")x") == EndedBy::user);
  CHECK(stop(R"("it was worth nothing")") == EndedBy::scheduler);
  CHECK(stop(R"("you have stopped it","by":"user")") == EndedBy::user);
  // Whatever the words are, what is written reads back.
  const std::string line =
      text_of({1, 1, AttemptEnded{TrialId{0}, 1, Outcome::completed, "", false, 0, EndedBy::done}});
  CHECK(std::get<AttemptEnded>(parse_event(line).body).by == EndedBy::done);
}

TEST_CASE("Whether a scheduler let a trial train to its end is read, or told by an old reason",
          "[event]") {
  const auto at_max = [](const std::string& rest) {
    const auto event = parse_event(
        R"({"n":1,"t":1,"e":"result","trial":0,"attempt":1,"iteration":9,"this_s":1,"total_s":9,)"
        R"("since_restore_s":9,"since_restore":9,)" +
        rest + R"("metrics":{"loss":1}})");
    return std::get<ResultReported>(event.body).decision.at_max;
  };
  CHECK(at_max(R"("action":"stop","at_max":true,"why":{"rung":9},)"));
  CHECK_FALSE(at_max(R"("action":"stop","at_max":false,"why":{"max_t":9},)"));
  CHECK(at_max(R"("action":"stop","why":{"max_t":9},)"));
  CHECK_FALSE(at_max(R"("action":"stop","why":{"rung":9,"max_t":9},)"));
  CHECK_FALSE(at_max(R"("why":{"max_t":9},)"));
  Result result;
  result.metrics = parse_metrics(R"({"loss":1})");
  const auto written = [&](bool is_at_max) {
    return text_of(
        {1, 1,
         ResultReported{
             TrialId{0},
             1,
             result,
             {.action = Action::stop, .at_max = is_at_max, .why = Rationale().add("max_t", 9)}}});
  };
  for (const bool each : {false, true}) {
    const Event read = parse_event(written(each));
    CHECK(std::get<ResultReported>(read.body).decision.at_max == each);
  }
}

TEST_CASE("Every kind of event reads back as it was written", "[event]") {
  const auto bodies = one_of_each();
  std::set<std::size_t> kinds;
  for (const EventBody& body : bodies) kinds.insert(body.index());
  REQUIRE(kinds.size() == std::variant_size_v<EventBody>);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    CAPTURE(i);
    const std::string written = text_of({i + 1, 1700000000.25, bodies[i]});
    CHECK(written.find('\n') == std::string::npos);
    CHECK(Json::accept(written));
    const Event read = parse_event(written);
    CHECK(read.number == i + 1);
    CHECK(read.body.index() == bodies[i].index());
    CHECK(text_of(read) == written);
  }
}

TEST_CASE("A result's numbers and raw text survive the journal", "[event]") {
  const Event read = parse_event(text_of(
      {1, 1700000000.25, ResultReported{TrialId{1}, 1, a_result(), {Action::pause, false}}}));
  const auto& reported = std::get<ResultReported>(read.body);
  CHECK(reported.result.metrics.text == a_result().metrics.text);
  CHECK(reported.result.metrics.numbers.size() == 3);
  CHECK(std::isnan(*reported.result.find("loss")));
  CHECK(reported.result.find("a/b") == 1e300);
  CHECK(reported.result.find("a/metrics/x") == 2);
  CHECK(reported.result.timestamp == 1700000000.25);
  CHECK_FALSE(reported.result.episodes_total);
  CHECK(reported.decision == Decision{Action::pause, false});
}

TEST_CASE("A record with one member twice is refused", "[event]") {
  CHECK_THROWS_AS(parse_event(R"({"n":2,"t":1,"e":"trial","trial":0,"config":{"a":1},)"
                              R"("tag":"x","config":{"a":2}})"),
                  std::invalid_argument);
  CHECK_THROWS_AS(parse_event(R"({"n":2,"t":1,"e":"trial","trial":0,"config":{"a":1},"tag":"x"})"),
                  std::invalid_argument);
}

TEST_CASE("An exploit survives the journal with its config, wherever it stands", "[event]") {
  const Exploit exploit{TrialId{7}, R"({"metrics":"\"donor\":3"})", "x=3"};
  const Decision decision{.action = Action::exploit, .exploit = exploit};
  Event read = parse_event(text_of({1, 2, ResultReported{TrialId{1}, 1, a_result(), decision}}));
  CHECK(std::get<ResultReported>(read.body).decision == decision);
  CHECK(std::get<ResultReported>(read.body).result.metrics.text == a_result().metrics.text);
  read = parse_event(text_of({1, 2, AttemptStarted{TrialId{1}, 2, 4, {}, TrialId{0}}}));
  CHECK(std::get<AttemptStarted>(read.body).donor == TrialId{0});
  read = parse_event(text_of({1, 2, CheckpointDamaged{TrialId{1}, 4, "bytes", TrialId{3}}}));
  CHECK(std::get<CheckpointDamaged>(read.body).clone == TrialId{3});
}

TEST_CASE("Changed resources survive the journal, whatever their names are", "[event]") {
  const Decision decision{.action = Action::pause,
                          .resources = Resources{{"metrics", 2.5}, {"gpu", 0}}};
  const std::string text = text_of({1, 2, ResultReported{TrialId{1}, 1, a_result(), decision}});
  const Event read = parse_event(text);
  CHECK(std::get<ResultReported>(read.body).decision == decision);
  CHECK(std::get<ResultReported>(read.body).result.metrics.text == a_result().metrics.text);
  std::string bad = text;
  bad.replace(bad.find("2.5"), 3, "-25");
  CHECK_THROWS_AS(parse_event(bad), std::invalid_argument);
}

TEST_CASE("Text that is not UTF-8 cannot make a record unreadable", "[event]") {
  const Event read =
      parse_event(text_of({1, 0, AttemptEnded{TrialId{0}, 1, Outcome::failed, "\xff\x01 bad"}}));
  CHECK(std::get<AttemptEnded>(read.body).reason == "?\x01 bad");
}

TEST_CASE("A record cut at any length is refused", "[event][damage]") {
  std::size_t cuts = 0;
  for (const auto& body : one_of_each()) {
    const std::string whole = text_of({1, 2, body});
    for (std::size_t length = 0; length < whole.size(); ++length, ++cuts) {
      CAPTURE(whole, length);
      CHECK_THROWS_AS(parse_event(whole.substr(0, length)), std::invalid_argument);
    }
  }
  CHECK(cuts > 1000);
}

TEST_CASE("A record without what its kind needs is refused by the field's name", "[event]") {
  CHECK_THROWS_WITH(parse_event(R"({"n":1,"t":2,"e":"result","trial":1})"),
                    "the record lacks a valid 'iteration'");
  CHECK_THROWS_WITH(parse_event(R"({"n":1,"t":2,"e":"wonder"})"), "unknown event 'wonder'");
  CHECK_THROWS_WITH(parse_event(R"({"n":1,"t":2,"e":"end","trial":1,"outcome":"odd"})"),
                    "unknown outcome 'odd'");
}

TEST_CASE("A record's config that is a text is no deeper than any other", "[event]") {
  const auto exploit = [](std::size_t levels) {
    return R"({"n":1,"t":0,"e":"exploit","trial":1,"donor":0,"config":")" +
           std::string(levels, '[') + std::string(levels, ']') + R"("})";
  };
  CHECK_NOTHROW(parse_event(exploit(most_file_levels)));
  CHECK_THROWS_AS(parse_event(exploit(most_file_levels + 1)), std::invalid_argument);
}

TEST_CASE("How a session has ended is read out of the sentence where a record lacks the word",
          "[event]") {
  const auto how = [](const std::string& members) {
    const Event event = parse_event(R"({"n":1,"t":1,"e":"session_end",)" + members + "}");
    return std::get<SessionEnded>(event.body).how;
  };
  CHECK(how(R"("reason":"finished")") == SessionEnd::finished);
  CHECK(how(R"("reason":"the named trials are finished")") == SessionEnd::named_finished);
  CHECK(how(R"("reason":"received SIGINT")") == SessionEnd::interrupted);
  CHECK(how(R"x("reason":"paused by the user (tune pause)")x") == SessionEnd::interrupted);
  CHECK(how(R"("reason":"given up: the disk is full")") == SessionEnd::given_up);
  CHECK(how(R"("reason":"enough")") == SessionEnd::stopped);
  CHECK(how(R"("reason":"received SIGINT","how":"fault")") == SessionEnd::fault);
  CHECK_THROWS_AS(how(R"("reason":"x","how":"somehow")"), std::invalid_argument);
}
