#include "tuner/model/constraint.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/space/space_helpers.h"
#include "tests/support/catch.h"

namespace tune {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const SearchSpace space = space_of(R"({
  "batch": {"choice": [16, 32]}, "model": {"layers": [{"randint": [1, 9]}], "name": "a"},
  "optimizer": {"choice": [{"momentum": {"uniform": [0, 1]}}, {"kind": "adam"}]}})"_json);

Constraint constraint(const std::string& text) { return space.constraint(text); }

std::string complaint_about(const std::string& text) {
  try {
    constraint(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "none";
}

Result result_of(const std::string& metrics) {
  Result result;
  result.training_iteration = 3;
  result.metrics = parse_metrics(metrics);
  return result;
}

}  // namespace

TEST_CASE("A constraint holds by all digits of whole numbers, and not where they are rounded",
          "[constraint][unit]") {
  // 2^53 + 1, which is 2^53 as a double.
  const SearchSpace seeds = space_of(R"({"seed": {"randint": [0, 9223372036854775807]}})"_json);
  const Json config = {{"seed", 9007199254740993}};
  const auto holds = [&](const std::string& text) {
    return find_broken({seeds.constraint(text)}, config) == nullptr;
  };
  CHECK_FALSE(holds("seed <= 9007199254740992"));
  CHECK(holds("seed >= 9007199254740993"));
  CHECK_FALSE(holds("seed % 2 <= 0"));
  CHECK(holds("-9223372036854775807 <= seed"));
  CHECK(holds("seed % 2 / 2 <= 1"));
  CHECK_FALSE(holds("seed * 1.0 % 10 <= 9"));  // nobody knows
}

TEST_CASE("A constraint's value is by how much it is missed", "[constraint][unit]") {
  const auto value = [](const std::string& text) {
    return constraint(text).value({{"batch", 16}}, {});
  };
  CHECK(value("batch <= 10") == 6);
  CHECK(value("batch*2 - 1 <= 10 + 3*batch") == 31 - 58);
  CHECK(value("batch >= 10 + 2*3") == 0);
  CHECK(value("batch >= 20") == 4);
  CHECK(value("batch < 20 ? 1 : 2 <= 5 - 1") == -3);
}

TEST_CASE("Names of the space are hyperparameters, all others metrics", "[constraint][unit]") {
  CHECK_FALSE(constraint("batch * model.layers.0 <= 100").needs_metrics());
  CHECK_FALSE(constraint("optimizer.momentum <= 0.5").needs_metrics());
  const Constraint both = constraint("val.memory + batch >= 2 * latency");
  CHECK(both.metrics() == std::vector<std::string>{"latency", "val/memory"});
  CHECK(both.needs_config());
  CHECK_FALSE(constraint("latency <= 3").needs_config());
  CHECK(both.value({{"batch", 16}},
                   [](const std::string& name) { return name == "latency" ? 10 : 1; }) == 20 - 17);
}

TEST_CASE("What a config does not have, does not constrain it, and a lacking metric has no value",
          "[constraint][unit]") {
  const Json config = R"({"batch": 16, "optimizer": {"kind": "adam"}})"_json;
  CHECK(constraint("optimizer.momentum >= 2").value(config, {}) == 0);
  CHECK(constraint("optimizer.momentum + ms >= 2").value(config, [](const auto&) { return 0.0; }) ==
        0);
  CHECK(std::isnan(constraint("ms >= 2").value(config, [](const auto&) { return std::nullopt; })));
}

TEST_CASE("What is no constraint is refused with what is wrong", "[constraint][unit]") {
  CHECK(complaint_about("batch < 3") ==
        "'batch < 3' is not a constraint: it must have one '<=' or '>=' between two expressions, "
        "got none");
  CHECK(complaint_about("1 <= batch <= 3").ends_with("between two expressions, got 2"));
  CHECK(complaint_about("3 <= 4") ==
        "'3 <= 4' is not a constraint: it names neither a hyperparameter nor a metric");
  CHECK(complaint_about("model.name <= 4") ==
        "the constraint 'model.name <= 4' uses 'model.name', which is not a number");
  CHECK(complaint_about("batch) * (2 <= 4").find("is not an expression") != std::string::npos);
  for (const char* const half : {"<= 4", "batch <=", "batch + <= 3", "batch <= 1, 2", ""}) {
    INFO(half);
    CHECK(complaint_about(half) != "none");
  }
}

TEST_CASE("Configs are held against those about configs, results against the others",
          "[constraint][unit]") {
  const std::vector<Constraint> both = {constraint("batch <= 20"), constraint("ms * batch <= 64"),
                                        constraint("val.loss <= training_iteration")};
  CHECK(find_broken(both, {{"batch", 16}}) == nullptr);
  const Constraint* const broken = find_broken(both, {{"batch", 32}});
  REQUIRE(broken != nullptr);
  CHECK(broken->text() == "batch <= 20");
  CHECK(too_narrow(both, "in the grid") ==
        "no config with 'batch <= 20' was found in the grid: the constraints leave too little of "
        "the param space");

  Trial trial;
  trial.config = InternedJson(R"({"batch": 32})");
  CHECK(values_of(both, trial, result_of(R"({"ms": 3, "val": {"loss": 1}})")) ==
        std::vector<double>{32, -2});
  const auto unknown = values_of(both, trial);
  REQUIRE(unknown.size() == 2);
  CHECK(std::isnan(unknown[0]));
  CHECK_FALSE(lacking_metric(both, result_of(R"({"ms": "NaN", "val": {"loss": 1}})")));
  CHECK(lacking_metric(both, result_of(R"({"ms": 3})")) ==
        "'val/loss' of the constraint 'val.loss <= training_iteration'");
  CHECK(lacking_metric({constraint("val/loss <= 3")}, result_of(R"({"val": {"loss": 1}})")) ==
        "'loss' of the constraint 'val/loss <= 3', where '/' divides: a nested metric is named "
        "with dots, 'val.loss'");
  // What only a result itself has, is not there any more when the trial has ended.
  CHECK(lacking_metric({constraint("time_this_iter_s <= 3")}, result_of("{}")));
}

TEST_CASE("A violation adds up what is missed, and what is not finite is beyond all",
          "[constraint][unit]") {
  CHECK(violation({}) == 0);
  CHECK(violation({-3, 0}) == 0);
  CHECK(violation({-3, 1, 0.5}) == 1.5);
  CHECK(violation({-3, nan}) == infinity);
  CHECK(violation({-3, -infinity}) == infinity);
}

}  // namespace tune
