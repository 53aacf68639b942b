#include "tuner/model/resources.h"

#include "tests/support/catch.h"
#include "tuner/math/random.h"

using namespace tune;

namespace {
using Gpus = std::vector<int>;
}  // namespace

TEST_CASE("ResourcePool hands out what there is and no more", "[resources][unit]") {
  ResourcePool pool({{"cpu", 4}, {"licence", 1}});
  const auto first = pool.acquire({{"cpu", 3}});
  REQUIRE(first);
  CHECK(first->gpus().empty());
  CHECK_FALSE(pool.acquire({{"cpu", 2}}));
  CHECK(pool.used() == Resources{{"cpu", 3}, {"licence", 0}});
  const auto second = pool.acquire({{"cpu", 1}, {"licence", 1}});
  REQUIRE(second);
  CHECK_FALSE(pool.acquire({{"licence", 1}}));
  pool.release(*first);
  CHECK(pool.used() == Resources{{"cpu", 1}, {"licence", 1}});
  CHECK(pool.acquire({{"cpu", 3}}));
}

TEST_CASE("A request that fits only in part takes nothing", "[resources][unit]") {
  ResourcePool pool({{"cpu", 4}, {"gpu", 1}, {"z", 1}});
  const auto gpu = pool.acquire({{"gpu", 1}});
  REQUIRE(gpu);
  const Resources before = pool.used();
  CHECK_FALSE(pool.acquire({{"cpu", 1}, {"gpu", 0.5}, {"z", 1}}));
  CHECK(pool.used() == before);
}

TEST_CASE("Ten tenths of a cpu are one cpu, and all come back", "[resources][unit]") {
  ResourcePool pool({{"cpu", 1}});
  std::vector<Allocation> held;
  while (auto allocation = pool.acquire({{"cpu", 0.1}})) held.push_back(*allocation);
  CHECK(held.size() == 10);
  for (const Allocation& allocation : held) pool.release(allocation);
  CHECK(pool.used() == Resources{{"cpu", 0}});
  CHECK(pool.acquire({{"cpu", 1}}));
}

TEST_CASE("A fractional gpu goes to the device that is used the least", "[resources][unit]") {
  ResourcePool pool({{"gpu", 3}});
  CHECK(pool.acquire({{"gpu", 0.5}})->gpus() == Gpus{0});
  CHECK(pool.acquire({{"gpu", 0.7}})->gpus() == Gpus{1});
  CHECK(pool.acquire({{"gpu", 0.3}})->gpus() == Gpus{2});
  CHECK(pool.acquire({{"gpu", 0.2}})->gpus() == Gpus{2});
  CHECK(pool.acquire({{"gpu", 0.4}})->gpus() == Gpus{0});
  CHECK_FALSE(pool.acquire({{"gpu", 0.8}}));
}

TEST_CASE("Whole gpus are devices that nobody shares", "[resources][unit]") {
  ResourcePool pool({{"gpu", 4}});
  const auto shared = pool.acquire({{"gpu", 0.25}});
  const auto two = pool.acquire({{"gpu", 2}});
  REQUIRE(two);
  CHECK(two->gpus() == Gpus{1, 2});
  CHECK_FALSE(pool.acquire({{"gpu", 2}}));
  CHECK(pool.used().at("gpu") == 2.25);
  pool.release(*shared);
  CHECK(pool.acquire({{"gpu", 2}})->gpus() == Gpus{0, 3});
}

TEST_CASE("Three thirds of a gpu share one device", "[resources][unit]") {
  ResourcePool pool({{"gpu", 1}});
  std::vector<Allocation> held;
  while (auto allocation = pool.acquire({{"gpu", 1.0 / 3}})) held.push_back(*allocation);
  CHECK(held.size() == 3);
  pool.release(held[1]);
  CHECK_FALSE(pool.acquire({{"gpu", 1}}));
  pool.release(held[0]);
  pool.release(held[2]);
  CHECK(pool.acquire({{"gpu", 1}}));
}

TEST_CASE("What can never be met is said with name, wish and total", "[resources][unit]") {
  const ResourcePool pool({{"cpu", 2}, {"gpu", 2}});
  CHECK(pool.impossible({{"cpu", 3}}) == "a trial takes 3 of 'cpu', but there are 2 in all");
  CHECK(pool.impossible({{"tpu", 0.5}}) == "a trial takes 0.5 of 'tpu', but there is none");
  CHECK(pool.impossible({{"gpu", 1.5}}) ==
        "a trial takes 1.5 of 'gpu', but more than one must be a whole number");
  CHECK(pool.impossible({{"cpu", 3}, {"gpu", 1}, {"tpu", 0.5}}) ==
        "a trial takes 3 of 'cpu', but there are 2 in all, and 0.5 of 'tpu', but there is none");
  CHECK_FALSE(pool.impossible({{"cpu", 2}, {"gpu", 2}}));
  CHECK_FALSE(pool.impossible({{"gpu", 0.5}}));
  CHECK_FALSE(pool.impossible({{"tpu", 0}}));
  CHECK_FALSE(pool.impossible({}));
}

TEST_CASE("Impossible requests and empty ones are no trouble", "[resources][unit]") {
  ResourcePool pool({{"cpu", 1}});
  CHECK_FALSE(pool.acquire({{"gpu", 1}}));
  CHECK_FALSE(pool.acquire({{"cpu", 2}}));
  const auto nothing = pool.acquire({{"gpu", 0}});
  REQUIRE(nothing);
  CHECK(nothing->gpus().empty());
  pool.release(*nothing);
  CHECK(pool.used() == Resources{{"cpu", 0}});
}

TEST_CASE("After any order of acquiring and releasing nothing is lost", "[resources][property]") {
  Random random(5);
  ResourcePool pool({{"cpu", 8}, {"gpu", 4}});
  const std::vector<double> amounts{0.1, 0.25, 1.0 / 3, 0.5, 0.7, 1, 2};
  std::vector<Allocation> held;
  for (int step = 0; step < 10000; ++step) {
    const double gpus = amounts[random.below(amounts.size())];
    auto allocation = pool.acquire({{"cpu", 0.3}, {"gpu", gpus}});
    if (allocation) held.push_back(std::move(*allocation));
    if (!held.empty() && random.below(2) == 0) {
      const auto victim = held.begin() + static_cast<std::ptrdiff_t>(random.below(held.size()));
      pool.release(*victim);
      held.erase(victim);
    }
    std::vector<double> used(4);
    for (const Allocation& one : held) {
      const double share = one.amounts.at("gpu") / static_cast<double>(one.gpus().size());
      for (const int device : one.gpus()) used[device] += share;
    }
    for (const double device : used) REQUIRE(device <= 1 + 1e-8);
  }
  for (const Allocation& allocation : held) pool.release(allocation);
  CHECK(pool.used() == Resources{{"cpu", 0}, {"gpu", 0}});
  CHECK(pool.acquire({{"cpu", 8}, {"gpu", 4}}));
}

TEST_CASE("What was held once is had again while the same devices are free", "[resources][unit]") {
  ResourcePool pool({{"cpu", 2}, {"gpu", 2}});
  const auto first = pool.acquire({{"cpu", 1}, {"gpu", 1}});
  REQUIRE(first);
  pool.release(*first);
  CHECK(pool.acquire_again(*first));
  CHECK(pool.used() == Resources{{"cpu", 1}, {"gpu", 1}});
  CHECK_FALSE(pool.acquire_again(*first));
  pool.release(*first);
  const auto other = pool.acquire({{"cpu", 1}, {"gpu", 0.5}});
  REQUIRE(other);
  REQUIRE(other->gpus() == first->gpus());
  CHECK_FALSE(pool.acquire_again(*first));
  pool.release(*other);
  CHECK(pool.used() == Resources{{"cpu", 0}, {"gpu", 0}});
}

TEST_CASE("A request gets all that it wants from one node, the one with most room",
          "[resources][nodes]") {
  ResourcePool pool(std::vector<NodeResources>{{"oak", {{"cpu", 4}, {"gpu", 2}}, {"0", "1"}},
                                               {"elm", {{"cpu", 8}, {"gpu", 1}}, {"0"}}});
  CHECK_FALSE(pool.impossible({{"cpu", 8}}));
  CHECK(pool.impossible({{"cpu", 8}, {"gpu", 2}}) ==
        "a trial takes 8 of 'cpu', but there are 4 on one node");
  const auto first = pool.acquire({{"gpu", 1}});
  REQUIRE(first);
  CHECK(first->nodes.front().node == 0);
  const auto second = pool.acquire({{"gpu", 1}});
  REQUIRE(second);
  CHECK(second->nodes.front().node == 1);
  CHECK(second->gpus() == Gpus{2});
  CHECK_FALSE(pool.acquire({{"gpu", 2}}));  // one on each is not two
  pool.release(*first);
  CHECK(pool.acquire({{"gpu", 2}})->nodes.front().node == 0);
  pool.release(*second);
  CHECK(pool.acquire_again(*second));
  CHECK_FALSE(pool.acquire_again(*second));
}

TEST_CASE("A lost node gives nothing, and takes back what was its own", "[resources][nodes]") {
  ResourcePool pool(std::vector<NodeResources>{{"oak", {{"cpu", 1}}, {}}});
  const auto held = pool.acquire({{"cpu", 1}});
  pool.add_node({{"cpu", 2}});
  pool.lose_node(0);
  CHECK(pool.has_node());
  CHECK(pool.used() == Resources{{"cpu", 0}});
  pool.release(*held);
  CHECK_FALSE(pool.acquire_again(*held));
  CHECK(pool.acquire({{"cpu", 2}})->nodes.front().node == 1);
  CHECK_FALSE(pool.acquire({{"cpu", 1}}));
  pool.lose_node(1);
  CHECK_FALSE(pool.has_node());
  CHECK(pool.impossible({{"cpu", 1}}) == "there is no node");
}

namespace {

/// How many of the workers are on each node, in the order of ranks: "0:2 1:1".
std::string seats(const std::optional<Allocation>& allocation) {
  std::string text;
  if (!allocation) return "none";
  for (const NodeAllocation& each : allocation->nodes) {
    text +=
        (text.empty() ? "" : " ") + std::to_string(each.node) + ":" + std::to_string(each.workers);
  }
  return text;
}

ResourcePool pool_of(const std::vector<Resources>& nodes) {
  std::vector<NodeResources> all;
  for (const Resources& totals : nodes) all.push_back({.name = {}, .totals = totals, .gpus = {}});
  return ResourcePool(all);
}

}  // namespace

TEST_CASE("Workers that fit on one node are together, others on as few as have room",
          "[resources][unit]") {
  ResourcePool pool = pool_of({{{"gpu", 2}}, {{"gpu", 4}}, {{"gpu", 3}}});
  CHECK(seats(pool.acquire({{"gpu", 3}}, 3)) == "1:3");
  const auto wide = pool.acquire({{"gpu", 5}}, 5);
  CHECK(seats(wide) == "0:2 2:3");
  CHECK(wide->gpus() == Gpus{0, 1, 6, 7, 8});
  CHECK(wide->amounts == Resources{{"gpu", 5}});
  CHECK(seats(pool.acquire({{"gpu", 2}}, 2)) == "none");
  pool.release(*wide);
  CHECK(seats(pool.acquire({{"gpu", 6}}, 2)) == "none");  // three each, and no two have that
  CHECK(pool.acquire_again(*wide));
  CHECK(pool.used().at("gpu") == 8);
  CHECK_FALSE(pool.acquire_again(*wide));
  CHECK(pool.used().at("gpu") == 8);
}

TEST_CASE("Spread workers are on as many nodes as have room, evenly", "[resources][unit]") {
  ResourcePool pool = pool_of({{{"cpu", 8}}, {{"cpu", 1}}, {{"cpu", 8}}});
  CHECK(seats(pool.acquire({{"cpu", 5}}, 5, Placement::spread)) == "0:2 1:1 2:2");
  CHECK(seats(pool.acquire({{"cpu", 2}}, 2, Placement::spread)) == "0:1 2:1");
  CHECK(seats(pool.acquire({{"cpu", 1}})) == "0:1");
}

TEST_CASE("Workers lose nothing of a lost node to another one", "[resources][unit]") {
  ResourcePool pool = pool_of({{{"cpu", 2}}, {{"cpu", 2}}, {{"cpu", 2}}});
  const auto held = pool.acquire({{"cpu", 4}}, 4);
  CHECK(seats(held) == "0:2 1:2");
  pool.lose_node(1);
  pool.release(*held);
  CHECK_FALSE(pool.acquire_again(*held));
  CHECK(pool.used() == Resources{{"cpu", 0}});
  CHECK(seats(pool.acquire({{"cpu", 4}}, 4)) == "0:2 2:2");
}

TEST_CASE("Workers that never fit are counted", "[resources][unit]") {
  const ResourcePool pool = pool_of({{{"gpu", 2}}, {{"gpu", 1}}});
  CHECK_FALSE(pool.impossible({{"gpu", 3}}, 3));
  CHECK(pool.impossible({{"gpu", 3}}) == "a trial takes 3 of 'gpu', but there are 2 on one node");
  CHECK(pool.impossible({{"gpu", 4}}, 4) ==
        "a trial takes 4 of 'gpu', but there are 2 on one node, and of its 4 workers only 3 fit on "
        "all nodes");
  CHECK(pool.impossible({{"gpu", 9}}, 3) ==
        "a trial takes 9 of 'gpu', but there are 2 on one node");
}
