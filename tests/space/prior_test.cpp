#include "tuner/space/prior.h"

#include <string>
#include <vector>

#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

UserPrior prior_of(const std::string& domain) {
  const SearchSpace space = space_of({{"x", Json::parse(domain)}});
  REQUIRE(space.leaves().size() >= 1);
  REQUIRE(space.leaves()[0].prior);
  return *space.leaves()[0].prior;
}

}  // namespace

TEST_CASE("A prior is a value beside a domain, or a value and a confidence", "[prior][unit]") {
  const auto plain = prior_of(R"({"loguniform": [1e-5, 0.1], "prior": 1e-3})");
  CHECK(plain.value == 1e-3);
  CHECK(plain.confidence == Confidence::medium);
  const auto sure = prior_of(
      R"({"loguniform": {"lower": 1e-5, "upper": 0.1},
          "prior": {"value": 1e-3, "confidence": "high"}})");
  CHECK(sure.value == 1e-3);
  CHECK(sure.confidence == Confidence::high);
  CHECK(prior_of(R"({"uniform": [0, 1], "prior": {"value": 1, "confidence": "low"}})").confidence ==
        Confidence::low);
  CHECK(prior_of(R"({"uniform": [0, 1], "prior": {"value": 1}})").confidence == Confidence::medium);
  CHECK(prior_of(R"({"quniform": [0, 1, 0.25], "prior": 0.75})").value == 0.75);
  CHECK(prior_of(R"({"randn": [0, 1], "prior": -7})").value == -7);
  CHECK(is_same(prior_of(R"({"randint": [1, 2000], "prior": 1e3})").value, 1000));
  CHECK(prior_of(R"({"qlograndint": [8, 64, 8], "prior": 16})").value == 16);
}

TEST_CASE("The prior of a choice is one of its values, or what only one of them has",
          "[prior][unit]") {
  CHECK(prior_of(R"({"choice": [16, 32, "x", null], "prior": "x"})").value == 2);
  CHECK(prior_of(R"({"choice": [16, 32, null], "prior": null})").value == 2);
  CHECK(
      prior_of(R"({"choice": ["a", "b"], "prior": {"value": "b", "confidence": "high"}})").value ==
      1);
  const std::string branches =
      R"({"choice": [{"name": "sgd", "momentum": {"uniform": [0, 1], "prior": 0.9}},
                     {"name": "adam", "beta": {"uniform": [0, 1]}}], "prior": )";
  CHECK(prior_of(branches + R"({"name": "adam"}})").value == 1);
  CHECK(prior_of(branches + R"({"value": {"name": "adam"}, "confidence": "low"}})").value == 1);
  CHECK(space_of({{"x", Json::parse(branches + R"({"name": "adam"}})")}}).leaves()[1].prior);
  // A value that looks like a prior is one of the values first.
  CHECK(prior_of(R"({"choice": [{"value": 1}, 1], "prior": 1})").value == 1);
}

TEST_CASE("A wrong prior is said in one sentence with its place", "[prior][unit]") {
  const std::vector<std::pair<std::string, std::string>> table{
      {R"({"loguniform": [1e-5, 0.1], "prior": 1})",
       "/x/prior: the prior's value must be one that {\"loguniform\":[1e-05,0.1]} can draw, got 1"},
      {R"({"uniform": [0, 1], "prior": "a"})",
       "/x/prior: the prior's value must be one that {\"uniform\":[0,1]} can draw, got \"a\""},
      {R"({"uniform": [0, 1], "prior": null})",
       "/x/prior: the prior's value must be one that {\"uniform\":[0,1]} can draw, got null"},
      {R"({"randint": [0, 9], "prior": 9})",
       "/x/prior: the prior's value must be one that {\"randint\":[0,9]} can draw, got 9"},
      {R"({"randint": [0, 9], "prior": 2.5})",
       "/x/prior: the prior's value must be one that {\"randint\":[0,9]} can draw, got 2.5"},
      {R"({"quniform": [0, 1, 0.25], "prior": {"value": 0.3}})",
       "/x/prior/value: the prior's value must be one that {\"quniform\":[0,1,0.25]} can draw, got "
       "0.3"},
      {R"({"choice": [1, 2], "prior": 3})",
       "/x/prior: the prior's value must be one of those of 'choice', got 3"},
      {R"({"choice": [{"a": 1, "b": 1}, {"a": 1, "b": 2}], "prior": {"a": 1}})",
       "/x/prior: the prior's value must be one of those of 'choice', got {\"a\":1}"},
      {R"({"uniform": [0, 1], "prior": {"value": 0.5, "confidence": "sure"}})",
       "/x/prior/confidence: a confidence is \"low\", \"medium\" or \"high\", got \"sure\""},
      {R"({"uniform": [0, 1], "prior": {"value": 0.5, "confidence": 0.5}})",
       "/x/prior/confidence: a confidence is \"low\", \"medium\" or \"high\", got 0.5"},
      {R"({"uniform": [0, 1], "prior": {"value": 0.5, "sd": 1}})",
       "/x/prior/sd: a prior has 'value' and 'confidence', not 'sd'"},
      {R"({"uniform": [0, 1], "prior": {"mean": 0.5}})",
       "/x/prior: a prior is a value, or {\"value\": ..., \"confidence\": ...}, got "
       "{\"mean\":0.5}"},
      {R"({"grid_search": [1, 2], "prior": 1})",
       "/x/prior: 'grid_search' takes no prior: all of its values are tried"},
      {R"({"expr": "1 + 1", "prior": 1})",
       "/x/prior: 'expr' takes no prior: its value follows from others"},
      {R"({"randseed": [1, 2], "prior": 1})",
       "/x/prior: 'randseed' takes no prior: no searcher learns anything from a seed"},
      {R"({"value": 1, "prior": 1})",
       "/x/prior: 'value' takes no prior: nothing is drawn; write {\"value\": {...}} around an "
       "object that is meant as it is"},
      {R"({"uniform": [0, 1], "prior": 0.5, "log": true})",
       "/x: 'uniform' must be alone in its object, but for 'prior'; write {\"value\": {...}} "
       "around an object that "
       "is meant as it is"},
      {R"({"unifrom": [0, 1], "prior": 0.5})",
       "/x/unifrom: unknown domain 'unifrom', did you mean 'uniform'? Write {\"value\": {...}} "
       "around an object that is meant as it is"},
      {R"({"uniform": {"lower": 0, "upper": 1, "prior": 0.5}})",
       "/x/uniform/prior: 'uniform' takes its prior beside it: {\"uniform\": ..., \"prior\": ...}"},
  };
  for (const auto& [domain, problem] : table) {
    INFO(domain);
    CHECK(problems_of({{"x", Json::parse(domain)}}) == std::vector<std::string>{problem});
  }
}

TEST_CASE("A hyperparameter may be called prior", "[prior][unit]") {
  const SearchSpace space = space_of({{"prior", {{"uniform", {0, 1}}}},
                                      {"model", {{"prior", 3}, {"depth", {{"randint", {1, 9}}}}}}});
  REQUIRE(space.leaves().size() == 2);
  CHECK_FALSE(space.leaves()[0].prior);
  CHECK_FALSE(space.leaves()[1].prior);
}
