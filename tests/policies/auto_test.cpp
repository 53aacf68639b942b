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
                   std::optional<std::int64_t> at_once = {}, bool has_metric = true) {
  const SearchSpace space = space_of(json);
  PolicyContext context{space, std::nullopt, num_samples, 1};
  if (has_metric) context.objective = Objective{"loss", Mode::min};
  context.max_concurrent_trials = at_once;
  const SearcherChoice choice = choose_searcher(context);
  CHECK(choice.reason.empty() == !has_metric);
  return choice.type;
}

}  // namespace

TEST_CASE("What auto becomes depends on metric, space, number of trials and concurrency",
          "[searcher][unit]") {
  CHECK(choice(numbers(4), 100) == "gp");
  CHECK(choice(numbers(4), 100, 16) == "gp");
  CHECK(choice(numbers(4), 100, {}, false) == "random");
  CHECK(choice({{"x", {{"grid_search", {1, 2}}}}}, 100) == "random");
  CHECK(choice(numbers(4), 10) == "sobol");
  CHECK(choice(numbers(4), 201) == "tpe");
  CHECK(choice(numbers(4), -1) == "tpe");
  CHECK(choice(numbers(21), 100) == "tpe");
  CHECK(choice(numbers(4), 100, 17) == "tpe");
  Json mixed = numbers(1);
  mixed["a"] = {{"choice", {1, 2}}};
  CHECK(choice(mixed, 100) == "gp");
  mixed["b"] = {{"choice", {1, 2}}};
  CHECK(choice(mixed, 100) == "tpe");
  mixed["b"] = {{"choice", {1}}};  // nothing to choose
  CHECK(choice(mixed, 100) == "gp");
  CHECK(choice(R"({"x": {"choice": [{"y": {"uniform": [0, 1]}}, 3]}})"_json, 100) == "tpe");
}
