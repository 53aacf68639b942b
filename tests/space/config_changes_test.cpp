#include "tuner/space/config_changes.h"

#include "tests/support/catch.h"

using namespace tune;

TEST_CASE("Only places whose values differ are named, shortly", "[config changes]") {
  const Json before = {{"lr", 0.01}, {"layers", 2}, {"name", "a"}, {"mean", {0.1, 0.2}}};
  Json after = before;
  CHECK(changes_text(before, after) == "the same config");
  after["lr"] = 0.0123456;
  after["name"] = "b";
  CHECK(changes_text(before, after) == "lr 0.01 -> 0.01235, name a -> b");
  after["mean"] = {0.1, 0.3};
  CHECK(changes_text(before, after) ==
        "lr 0.01 -> 0.01235, mean [0.1,0.2] -> [0.1,0.3], name a -> b");
}

TEST_CASE("A name that is used twice has its path", "[config changes]") {
  const Json before = {{"adam", {{"lr", 1}}}, {"sgd", {{"lr", 2}, {"momentum", 0.5}}}};
  Json after = before;
  after["sgd"]["lr"] = 3;
  CHECK(changes_text(before, after) == "lr 2 -> 3");
  after["adam"]["lr"] = 4;
  after["sgd"]["momentum"] = 0.6;
  CHECK(changes_text(before, after) == "adam/lr 1 -> 4, sgd/lr 2 -> 3, momentum 0.5 -> 0.6");
}

TEST_CASE("What is new or gone is a change", "[config changes]") {
  const auto changes = changes_between({{"a", 1}, {"b", {{"c", 2}}}}, {{"b", 3}, {"d", 4}});
  REQUIRE(changes.size() == 3);
  CHECK((changes[0].name == "a" && changes[0].after.is_null()));
  CHECK((changes[1].name == "b" && changes[1].after == 3));
  CHECK((changes[2].name == "d" && changes[2].before.is_null()));
  CHECK(changes_text(Json::object(), {{"net", {{"layers", 2}, {"act", "relu"}}}}) ==
        "act null -> relu, layers null -> 2");
}
