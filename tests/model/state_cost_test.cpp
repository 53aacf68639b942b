#include "tuner/model/state_cost.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

StateCost some_cost() {
  return {.events = 1,
          .bytes = 2,
          .writes = 3,
          .syncs = 4,
          .snapshots = 5,
          .snapshot_bytes = 6,
          .write_s = 0.5,
          .snapshot_s = 0.25,
          .sync_s = 8,
          .publish_s = 16,
          .publish_cpu_s = 0.125};
}

}  // namespace

TEST_CASE("Costs add up member by member", "[state_cost]") {
  StateCost sum = some_cost();
  sum += some_cost();
  CHECK(to_json(sum) == Json{{"events", 2},
                             {"bytes", 4},
                             {"writes", 6},
                             {"syncs", 8},
                             {"snapshots", 10},
                             {"snapshot_bytes", 12},
                             {"write_s", 1},
                             {"snapshot_s", 0.5},
                             {"sync_s", 16},
                             {"publish_s", 32},
                             {"publish_cpu_s", 0.25}});
}

TEST_CASE("What a run has lost by its state is the loop's time and the processor's",
          "[state_cost]") {
  CHECK(some_cost().total_s() == 0.875);
}

TEST_CASE("A cost is read as it was written, and what is not there is 0", "[state_cost]") {
  Json json = to_json(some_cost());
  CHECK(to_json(parse_state_cost(json)) == json);
  json.erase("syncs");
  json.erase("sync_s");
  CHECK(parse_state_cost(json).syncs == 0);
  CHECK(parse_state_cost(json).sync_s == 0);
  CHECK(parse_state_cost(json).publish_s == 16);
  json["events"] = 1.5;
  CHECK_THROWS(parse_state_cost(json));
}
