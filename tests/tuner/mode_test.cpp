// Whose mode a scheduler compares by: asked of what is new, taken as it was of what has begun.
#include "tests/support/catch.h"
#include "tuner/run.h"
#include "tuner/spec/spec.h"

using namespace tune;

namespace {

Json search_by(const Json& scheduler) {
  return {{"trainable", {{"command", {"true"}}}},
          {"name", "x"},
          {"param_space", {{"x", {{"uniform", {0, 1}}}}}},
          {"metric", "loss"},
          {"mode", "min"},
          {"scheduler", scheduler}};
}

}  // namespace

TEST_CASE("A scheduler with a metric of its own needs a mode where the search is new alone",
          "[spec][unit]") {
  const Catalogue catalogue = built_in_catalogue();
  const Json foreign = search_by({{"type", "asha"}, {"metric", "accuracy"}});
  std::vector<Problem> problems;
  SECTION("A new one is refused, and the place is named") {
    parse_spec(foreign, "/", catalogue, problems);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].pointer.starts_with("/scheduler"));
    CHECK(problems[0].sentence.find("mode") != std::string::npos);
  }
  SECTION("What has begun is taken up again, and may be changed") {
    parse_recorded_spec(foreign, catalogue, problems);
    CHECK(problems.empty());
    Json more = foreign;
    more["num_samples"] = 20;
    CHECK(parse_changed_spec(more, "/", catalogue, problems).num_samples == 20);
    CHECK(problems.empty());
  }
  SECTION("With its mode it is taken") {
    parse_spec(search_by({{"type", "asha"}, {"metric", "accuracy"}, {"mode", "max"}}), "/",
               catalogue, problems);
    CHECK(problems.empty());
  }
}
