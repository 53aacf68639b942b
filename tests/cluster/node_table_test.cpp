// When what ran on a lost node is over, in virtual time.
#include "tuner/cluster/node_table.h"

#include "tests/support/catch.h"
#include "tuner/cluster/messages.h"

using namespace tune;

namespace {

constexpr LaunchId one{1}, two{2}, three{3};

/// With a lease of 30 s, and 5 s for agents to end what they run.
struct Table : NodeTable {
  Table() : NodeTable(30, 5, [this](const Node&) { return is_seen_dead; }) {}
  std::size_t join(const std::string& name, Seconds now, bool is_back = false) {
    return NodeTable::join({name, {{"cpu", 2}}, {}}, "agent-" + name, is_back, now);
  }
  bool is_seen_dead = false;
};

using Launches = std::vector<LaunchId>;

}  // namespace

TEST_CASE("What ran on a lost node is over once its lease and the time to end are",
          "[cluster][unit]") {
  Table nodes;
  const std::size_t oak = nodes.join("oak", 100);
  nodes.begin(oak, one);
  nodes.begin(oak, two);
  nodes.hear(oak, 110);
  CHECK_FALSE(nodes.is_silent(oak, 140));
  CHECK(nodes.is_silent(oak, 140.1));
  CHECK(nodes.take_lost(oak, 1000).empty());  // its agent is there
  nodes.lose(oak, "it is silent");
  CHECK(nodes.at(oak).why_lost == "node oak is lost: it is silent");
  CHECK(nodes.take_lost(oak, 144.9).empty());
  CHECK(nodes.place_of(one) == oak);
  CHECK(nodes.take_lost(oak, 145) == Launches{one, two});
  CHECK(nodes.place_of(one) == std::nullopt);
  CHECK(nodes.take_lost(oak, 146).empty());
}

TEST_CASE("It is over at once where its agent has said so, or is seen to be dead",
          "[cluster][unit]") {
  Table nodes;
  const std::size_t oak = nodes.join("oak", 100);
  nodes.begin(oak, one);
  SECTION("said") { nodes.note_end(oak); }
  SECTION("seen") { nodes.is_seen_dead = true; }
  nodes.lose(oak, "it has ended");
  CHECK(nodes.take_lost(oak, 100) == Launches{one});
}

TEST_CASE("A node has one agent, and no other before what ran there is over", "[cluster][unit]") {
  Table nodes;
  const std::size_t oak = nodes.join("oak", 100);
  CHECK(nodes.refusal("elm").empty());
  CHECK(nodes.refusal("oak") == "node oak has an agent already");
  nodes.begin(oak, one);
  nodes.lose(oak, "it is silent");
  CHECK(nodes.refusal("oak") == "what ran on node oak under its last agent may run yet");
  nodes.take_lost(oak, 135);
  CHECK(nodes.refusal("oak").empty());
  const std::size_t again = nodes.join("oak", 140);
  CHECK(again != oak);
  CHECK(nodes.at(oak).is_lost);
  CHECK_FALSE(nodes.at(again).is_lost);
}

TEST_CASE("A node that is told to leave has left, and is not lost by a fault", "[cluster][unit]") {
  Table nodes;
  const std::size_t oak = nodes.join("oak", 100);
  nodes.dismiss(oak, "its job ends");
  nodes.lose(oak, "its connection has ended");
  CHECK(nodes.at(oak).why_lost == "node oak has left: its job ends");
}

TEST_CASE("Renewals come in their order", "[cluster][unit]") {
  Table nodes;
  const std::size_t oak = nodes.join("oak", 100);
  nodes.renew(oak, 1);
  nodes.renew(oak, 2);
  CHECK_THROWS_AS(nodes.renew(oak, 2), WireError);
  CHECK_THROWS_AS(nodes.renew(oak, 4), WireError);
  CHECK(nodes.at(oak).renewal == 2);
}

TEST_CASE("Nodes have the order of their hosts, those that nobody has named behind them",
          "[cluster][unit]") {
  Table nodes;
  for (const char* const name : {"fir", "elm", "ash", "oak"}) nodes.join(name, 100);
  CHECK(nodes.order_by({"oak", "elm"}) == std::vector<std::size_t>{3, 1, 0, 2});
  CHECK(nodes.at(0).resources.name == "oak");
  CHECK(nodes.at(3).resources.name == "ash");
}

TEST_CASE("What is kept of a driver before is no launch until it is adopted", "[cluster][unit]") {
  Table nodes;
  const std::size_t oak = nodes.join("oak", 100, true);
  for (const LaunchId launch : {one, two, three}) {
    KeptLaunch kept;
    kept.launch = launch;
    kept.has_ended = launch == three;
    nodes.keep(oak, kept);
  }
  CHECK(nodes.is_any_handing_over());
  nodes.handed_over(oak);
  CHECK_FALSE(nodes.is_any_handing_over());
  CHECK_THROWS_AS(nodes.keep(oak, {}), WireError);
  CHECK(nodes.place_of(one) == std::nullopt);
  CHECK(nodes.kept().size() == 3);
  const auto unwanted = nodes.kept_besides({one});
  REQUIRE(unwanted.size() == 1);
  CHECK(unwanted[0] == NodeTable::Placed{oak, two});
  CHECK_FALSE(nodes.has_kept_ended(unwanted[0], 1000));
  SECTION("it ends") {
    CHECK(nodes.note_kept(oak, two, Exited{two}));
    CHECK_FALSE(nodes.note_kept(oak, LaunchId{9}, Exited{LaunchId{9}}));
  }
  SECTION("its node is lost for as long as its lease") {
    nodes.lose(oak, "it is silent");
    CHECK_FALSE(nodes.has_kept_ended(unwanted[0], 134));
  }
  CHECK(nodes.has_kept_ended(unwanted[0], 135));
  CHECK(nodes.adopt({one, three}).size() == 2);
  CHECK(nodes.place_of(one) == oak);
  CHECK(nodes.place_of(two) == std::nullopt);
  CHECK(nodes.place_of(three) == std::nullopt);
  CHECK(nodes.kept().empty());
}
