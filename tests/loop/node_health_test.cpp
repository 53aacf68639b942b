// NodeHealth: which failures count against a node.
#include "tuner/run/trials/node_health.h"

#include "tests/support/catch.h"

using namespace tune;

namespace {

struct Health : NodeHealth {
  Health() {
    add_node();
    add_node();
  }
  /// Whether that leaves the node out.
  bool fails(int node, std::uint32_t trial, const std::string& reason = "Xid 79",
             Blame blame = Blame::unknown) {
    return on_failure(node, TrialId{trial}, reason, blame, ++now) == Verdict::left_out;
  }
  Seconds now = 0;
};

}  // namespace

TEST_CASE("Three different trials in a row count against a node, one trial alone does not",
          "[loop][nodes][unit]") {
  Health health;
  for (int i = 0; i < 5; ++i) CHECK_FALSE(health.fails(0, 7));
  CHECK_FALSE(health.fails(0, 8));
  CHECK(health.fails(0, 9));
  using Verdict = NodeHealth::Verdict;
  CHECK(health.on_failure(0, TrialId{10}, "Xid 79", {}, 99) == Verdict::is_left_out);
  CHECK(health.on_failure(0, TrialId{11}, "an error", Blame::config, 99) == Verdict::open);
  CHECK(health.left_out().size() == 1);
}

TEST_CASE("A result ends a node's streak, unless its trial was begun before that",
          "[loop][nodes][unit]") {
  Health health;
  health.fails(0, 1);
  health.fails(0, 2);
  health.on_result(0, health.now + 1);
  CHECK_FALSE(health.fails(0, 3));
  CHECK_FALSE(health.fails(0, 4));
  health.on_result(0, 1);
  CHECK(health.fails(0, 5));
}

TEST_CASE("What a config explains, or another node has, too, does not count against a node",
          "[loop][nodes][unit]") {
  Health health;
  for (std::uint32_t i = 0; i < 5; ++i) {
    CHECK_FALSE(health.fails(0, i, "CUDA out of memory", Blame::config));
  }
  CHECK_FALSE(health.fails(1, 10, "ValueError: 12 layers"));
  for (std::uint32_t i = 0; i < 5; ++i) CHECK_FALSE(health.fails(0, i, "ValueError: 7 layers"));
}

TEST_CASE("A start that the machine refuses counts for each try", "[loop][nodes][unit]") {
  Health health;
  CHECK_FALSE(health.fails(1, 1, "no python3", Blame::machine));
  CHECK_FALSE(health.fails(1, 1, "no python3", Blame::machine));
  CHECK(health.fails(1, 1, "no python3", Blame::machine));
}

TEST_CASE("The last node is never left out, and one that was left out may be taken back",
          "[loop][nodes][unit]") {
  Health health;
  for (std::uint32_t i = 0; i < 3; ++i) health.fails(0, i);
  for (std::uint32_t i = 0; i < 5; ++i) CHECK_FALSE(health.fails(1, i, "no space"));
  CHECK(health.failed_on(1) == std::set{TrialId{2}, TrialId{3}, TrialId{4}});
  health.lose_node(1);
  CHECK(health.take_back() == std::vector<int>{0});
  CHECK(health.left_out().empty());
}
