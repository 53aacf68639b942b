// The loop in virtual time: trials on several nodes, some of which are lost.
#include <algorithm>
#include <set>

#include "tests/loop/harness.h"
#include "tests/support/catch.h"

using namespace tune;
using Catch::Matchers::Contains;

namespace {

/// Two nodes for two trials each; ten steps of 10 s, saved every second one.
struct Nodes : SlowHarness {
  Nodes() {
    nodes = {{"oak", {{"cpu", 2}}, {}}, {"elm", {{"cpu", 2}}, {}}};
    spec.checkpoint_config.checkpoint_frequency = 2;
  }

  std::string node_of(int i) const { return std::string(std::string_view(trial(i).host)); }
  bool was_told(const std::string& part) const {
    return std::any_of(told.begin(), told.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    });
  }
};

}  // namespace

TEST_CASE("Trials are spread over the nodes, and each knows its own", "[loop][nodes]") {
  Nodes harness;
  harness.run();
  CHECK(harness.most_live == 4);
  std::multiset<std::string> where;
  for (int i = 0; i < 4; ++i) where.insert(harness.node_of(i));
  CHECK(where == std::multiset<std::string>{"elm", "elm", "oak", "oak"});
  CHECK_THAT(harness.journal(), Contains(R"("node":"elm")"));
}

TEST_CASE("What ran on a lost node goes on on another from its last checkpoint, as no failure",
          "[loop][nodes]") {
  Nodes harness;
  harness.nodes_lost = {{55, 1}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  int moved = 0;
  for (int i = 0; i < 4; ++i) {
    CHECK(harness.trial(i).state == TrialState::terminated);
    CHECK(harness.trial(i).iteration == 10);
    CHECK(harness.trial(i).failures == 0);
    CHECK(harness.node_of(i) == "oak");
    if (harness.trial(i).attempt == 1) continue;
    ++moved;
    CHECK(harness.trial(i).restored_iteration == 4);
  }
  CHECK(moved == 2);
  CHECK_THAT(harness.journal(), Contains("lost_node: node 1 is lost"));
  CHECK(harness.was_told("notice node 1 is lost"));
}

TEST_CASE("A node that joins late gets trials, on its own devices", "[loop][nodes]") {
  Nodes harness;
  harness.nodes = {{"oak", {{"cpu", 1}, {"gpu", 1}}, {"GPU-o"}}};
  harness.spec.resources_per_trial = {{"gpu", 1}};
  harness.trials = 2;
  harness.joins = {{15, {"elm", {{"cpu", 1}, {"gpu", 1}}, {"GPU-e"}}}};
  harness.run();
  CHECK(harness.node_of(1) == "elm");
  CHECK(*harness.trial(0).gpus == "GPU-o");
  CHECK(*harness.trial(1).gpus == "GPU-e");
}

TEST_CASE("A trial whose node is lost three times in a row has failed", "[loop][nodes]") {
  Nodes harness;
  harness.trials = 1;
  harness.spec.failure_config.max_failures = 3;
  harness.nodes.push_back({"fir", {{"cpu", 2}}, {}});
  harness.nodes.push_back({"ash", {{"cpu", 2}}, {}});
  harness.nodes_lost = {{5, 0}, {15, 1}, {25, 2}};
  harness.run();
  CHECK(harness.trial(0).state == TrialState::error);
  CHECK(harness.trial(0).attempt == 3);
  CHECK_THAT(*harness.trial(0).error, Contains("third in a row"));
}

TEST_CASE("When no node is left the driver leaves, and a resume goes on", "[loop][nodes]") {
  Nodes harness;
  harness.nodes_lost = {{25, 0}, {35, 1}};
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::given_up);
  CHECK_THAT(end.reason, Contains("no node is left"));
  for (int i = 0; i < 4; ++i) CHECK(harness.trial(i).state == TrialState::pending);
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  for (int i = 0; i < 4; ++i) CHECK(harness.trial(i).iteration == 10);
}

TEST_CASE("A process that waits for its paused trial, or for any, is gone with its node",
          "[loop][nodes]") {
  Nodes harness;
  harness.trials = 8;
  harness.program.can_reset = true;
  harness.spec.reuse_processes = true;
  harness.nodes_lost = {{101, 1}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  for (int i = 0; i < 8; ++i) CHECK(harness.trial(i).iteration == 10);
}
