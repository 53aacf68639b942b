// What a policy says that it went by, and how that stands in a record.
#include "tuner/model/rationale.h"

#include <limits>

#include "tests/support/catch.h"
#include "tuner/model/event.h"
#include "tuner/policy/stopper.h"

using namespace tune;

namespace {

ResultReported judged(Rationale why) {
  ResultReported reported{TrialId{1}, 2, {}, {.action = Action::stop, .why = std::move(why)}};
  reported.result.training_iteration = 16;
  reported.result.metrics = parse_metrics(R"({"loss":0.61,"why":{"not":"this"}})");
  return reported;
}

std::string line_of(const Event& event) {
  std::string line;
  append_json(line, event);
  return line;
}

Result result_of(std::int64_t iteration, double loss) {
  Result result;
  result.training_iteration = iteration;
  result.metrics = parse_metrics("{\"loss\":" + std::to_string(loss) + "}");
  return result;
}

}  // namespace

TEST_CASE("A why is a JSON object in the order in which it was made", "[why]") {
  CHECK(Rationale().empty());
  CHECK(Rationale().text().empty());
  const Rationale why = Rationale()
                            .add("rung", 16)
                            .add("score", 0.61)
                            .add("cutoff", std::numeric_limits<double>::infinity())
                            .add("rule", "a \"quoted\" one");
  CHECK(why.text() == R"({"rung":16,"score":0.61,"cutoff":"Infinity","rule":"a \"quoted\" one"})");
}

TEST_CASE("A why takes no name that could break its record", "[why]") {
  for (const char* const name : {"", "metrics", "a\"b", "Ab", "a b"}) {
    CAPTURE(name);
    CHECK_THROWS_AS(Rationale().add(name, 1), std::invalid_argument);
  }
}

TEST_CASE("A why in words is for people", "[why]") {
  CHECK(Rationale().words().empty());
  CHECK(Rationale().add("rung", 16).add("cut_off", 0.1234567).words() ==
        "rung 16, cut off 0.12346");
  const Rationale bound =
      Rationale().add("metric", "val loss").add("value", 0.05).add("bound", 0.1);
  CHECK(Rationale(bound).add("rule", "bound").words() == "val loss 0.05, bound 0.1");
  CHECK(Rationale().add("value", 3).words() == "value 3");
}

TEST_CASE("A record of a judged result has its why before the metrics, and reads back the same",
          "[why][event]") {
  const Rationale why =
      Rationale().add("rung", 16).add("score", 1e-7).add("rule", R"(},"metrics":{)");
  const std::string line = line_of({7, 1.5, judged(why)});
  CHECK(line.find(R"("action":"stop","at_max":false,"why":{"rung":16,)") != std::string::npos);
  const Event event = parse_event(line);
  CHECK(std::get<ResultReported>(event.body).decision.why.text() == why.text());
  CHECK(std::get<ResultReported>(event.body).result.metrics.text ==
        R"({"loss":0.61,"why":{"not":"this"}})");
  CHECK(line_of(event) == line);
}

TEST_CASE("A record without a why, as those of before, has none", "[why][event]") {
  const std::string line = line_of({7, 1.5, judged({})});
  CHECK(line.find(R"("action":"stop","at_max":false,"metrics")") != std::string::npos);
  const Event event = parse_event(line);
  CHECK(std::get<ResultReported>(event.body).decision.why.empty());
  CHECK(line_of(event) == line);
}

TEST_CASE("A why that is no object is a broken record", "[why][event]") {
  std::string line = line_of({7, 1.5, judged(Rationale().add("rung", 16))});
  line.replace(line.find(R"({"rung":16})"), 11, R"(["rung",16])");
  CHECK_THROWS_AS(parse_event(line), std::invalid_argument);
}

TEST_CASE("Decisions for different reasons are the same decision", "[why]") {
  const Decision one{.action = Action::stop, .why = Rationale().add("score", 1)};
  const Decision other{.action = Action::stop, .why = Rationale().add("score", 2)};
  CHECK(one == other);
  CHECK_FALSE(one == Decision{});
}

TEST_CASE("Stop rules say what they went by, and which of several it was", "[why][stopper]") {
  std::vector<NamedStopper> rules;
  rules.push_back({"max_iteration", make_max_iteration(9)});
  rules.push_back({"loss", make_metric_bound("loss", Comparison::less_equal, 0.5)});
  rules.push_back(
      {"plateau", make_trial_plateau({.metric = "loss", .num_results = 2, .grace_period = 2})});
  const auto any = make_any_of(std::move(rules));
  Trial trial;
  CHECK_FALSE(any->should_stop(trial, result_of(1, 3)));
  CHECK(any->should_stop(trial, result_of(2, 0.25)));
  CHECK(any->why().text() == R"({"metric":"loss","value":0.25,"bound":0.5,"rule":"loss"})");
  CHECK_FALSE(any->should_stop(trial, result_of(3, 4)));
  CHECK(any->should_stop(trial, result_of(4, 4)));
  CHECK(any->why().text() ==
        R"({"metric":"loss","deviation":0,"bound":0.01,"of":2,"rule":"plateau"})");
  CHECK(any->should_stop(trial, result_of(9, 0)));
  CHECK(any->why().text() == R"({"max_iteration":9,"rule":"max_iteration"})");
}
