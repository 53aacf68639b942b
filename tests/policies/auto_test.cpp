// What "auto" becomes.
#include "tests/policies/policies.h"
#include "tests/support/catch.h"

using namespace tune;

namespace {

Json numbers(int count) {
  Json space = Json::object();
  for (int i = 0; i < count; ++i) space["x" + std::to_string(i)] = {{"uniform", {0, 1}}};
  return space;
}

std::string choice(const Json& json, std::int64_t num_samples,
                   std::optional<std::int64_t> at_once = {}, std::size_t metrics = 1) {
  const SearchSpace space = space_of(json);
  PolicyContext context{space, {}, num_samples, 1};
  context.objectives.resize(metrics);
  context.max_concurrent_trials = at_once;
  const SearcherChoice choice = choose_searcher(context);
  CHECK(choice.reason.empty() == (metrics == 0));
  return choice.type;
}

}  // namespace

TEST_CASE("What auto becomes depends on metric, space, number of trials and concurrency",
          "[searcher][unit]") {
  CHECK(choice(numbers(4), 100) == "gp");
  CHECK(choice(numbers(4), 100, 16) == "gp");
  CHECK(choice(numbers(4), 100, {}, 0) == "random");
  CHECK(choice({{"x", {{"grid_search", {1, 2}}}}}, 100) == "random");
  CHECK(choice(numbers(4), 10) == "sobol");
  CHECK(choice(numbers(4), 200) == "gp");
  CHECK(choice(numbers(4), 201) == "stages");
  CHECK(choice(numbers(4), -1) == "stages");
  CHECK(choice(numbers(21), 100) == "tpe");
  CHECK(choice(numbers(21), 201) == "tpe");
  CHECK(choice(numbers(4), 100, 17) == "tpe");
  CHECK(choice(numbers(4), 201, 17) == "tpe");
  CHECK(choice(numbers(4), 100, {}, 2) == "gp");
  CHECK(choice(numbers(4), 201, {}, 2) == "tpe");
  CHECK(choice(numbers(4), -1, {}, 2) == "tpe");
  CHECK(choice(numbers(4), 100, 17, 2) == "tpe");
  CHECK(choice(numbers(21), 100, {}, 2) == "tpe");
  CHECK(choice(numbers(4), 100, {}, 3) == "tpe");
  CHECK(choice(numbers(4), 10, {}, 2) == "sobol");
  CHECK(choice(numbers(4), 1000, {}, 2) == "tpe");
  CHECK(choice(numbers(4), 1001, {}, 2) == "nsga2");
  CHECK(choice({{"x", {{"grid_search", {1, 2}}}}}, 1001, {}, 2) == "random");
  Json mixed = numbers(20);
  mixed["a"] = {{"choice", {1}}};  // nothing to choose
  CHECK(choice(mixed, 100) == "gp");
  mixed["a"] = {{"choice", {1, 2}}};
  CHECK(choice(mixed, 100) == "tpe");
  CHECK(choice({{"a", {{"choice", {1, 2}}}}}, 100) == "gp");
  CHECK(choice(R"({"x": {"choice": [{"y": {"uniform": [0, 1]}}, 3]}})"_json, 100) == "gp");
}

TEST_CASE("auto says of a single trial how more are run", "[searcher][unit]") {
  const SearchSpace space = space_of(numbers(4));
  PolicyContext context{space, {{"loss", Mode::min}}, 1, 1};
  CHECK(choose_searcher(context).reason.find("--num-samples N") != std::string::npos);
  context.num_samples = 2;
  CHECK(choose_searcher(context).reason.find("--num-samples") == std::string::npos);
}

TEST_CASE("auto learns from trials that are known beforehand, however few are to come",
          "[searcher][unit]") {
  const SearchSpace space = space_of(numbers(4));
  PolicyContext context{space, {{"loss", Mode::min}}, 3, 1};
  CHECK(choose_searcher(context).type == "sobol");
  context.knows_trials = true;
  CHECK(choose_searcher(context).type == "gp");
  context.scheduler = {{"type", "asha"}};
  CHECK(choose_searcher(context).type == "tpe");
}

TEST_CASE(
    "auto goes by the concurrency that resources allow, and by a scheduler made for a searcher",
    "[searcher][unit]") {
  const SearchSpace space = space_of(numbers(4));
  PolicyContext context{space, {{"loss", Mode::min}}, 100, 1};
  context.resources = {{"cpu", 64}, {"gpu", 8}};
  context.resources_per_trial = {{"cpu", 1}};
  CHECK(choose_searcher(context).type == "tpe");
  context.resources_per_trial = {{"cpu", 1}, {"gpu", 1}};
  CHECK(choose_searcher(context).type == "gp");
  context.resources_per_trial = {{"tpu", 1}};
  CHECK(choose_searcher(context).type == "gp");
  context.resources_per_trial = {{"cpu", 1}};
  context.max_concurrent_trials = 4;
  CHECK(choose_searcher(context).type == "gp");
  context.scheduler = {{"type", "bohb"}};
  CHECK(choose_searcher(context).type == "bohb");
  context.scheduler = {{"type", "asha"}};
  CHECK(choose_searcher(context).type == "tpe");
  context.scheduler = {{"type", "pbt"}};
  CHECK(choose_searcher(context).type == "gp");
}
