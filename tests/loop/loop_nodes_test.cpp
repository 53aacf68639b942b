// The loop in virtual time: trials on several nodes, some of which are lost.
#include <algorithm>
#include <csignal>
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

TEST_CASE("A node on which three trials in a row fail before a result is left out, and said once",
          "[loop][nodes]") {
  Nodes harness;
  harness.trials = 8;
  harness.bad_nodes = {1};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  // Its failures were not the trials'.
  for (int i = 0; i < 8; ++i) {
    CHECK(harness.trial(i).state == TrialState::terminated);
    CHECK(harness.node_of(i) == "oak");
  }
  // Three, and the one that had begun beside the third.
  CHECK(harness.launches == 8 + 4);
  CHECK(std::count_if(harness.told.begin(), harness.told.end(), [](const std::string& line) {
          return line.starts_with("notice node elm gets no more trials: 3 in a row have failed");
        }) == 1);
}

TEST_CASE("A node on which nothing can be started is left out, and holds the others up for seconds",
          "[loop][nodes]") {
  Nodes harness;
  harness.trials = 8;
  harness.bad_nodes = {-2};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  for (int i = 0; i < 8; ++i) CHECK(harness.trial(i).state == TrialState::terminated);
  CHECK(harness.was_told("node elm gets no more trials"));
  CHECK(harness.was_told("there is no python3 there"));
  CHECK(harness.clock.steady() < 420);
}

TEST_CASE("What runs on a node that is left out goes on there, and the next run tries it again",
          "[loop][nodes]") {
  Nodes harness;
  harness.trials = 12;
  harness.nodes[1].totals["cpu"] = 4;
  harness.wishes = {{1, {.kind = ControlRequest::Kind::waits}},
                    {150, {.kind = ControlRequest::Kind::waits}}};
  harness.becomes_bad = {{50, 1}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  for (int i = 0; i < 12; ++i) CHECK(harness.trial(i).state == TrialState::terminated);
  REQUIRE(harness.answers.size() == 2);
  CHECK(harness.answers[0].left_out.empty());
  REQUIRE(harness.answers[1].left_out.size() == 1);
  CHECK_THAT(harness.answers[1].left_out[0], Contains("elm: "));
}

TEST_CASE("A failure that other nodes have, too, leaves no node out", "[loop][nodes]") {
  Nodes harness;
  harness.bad_nodes = {0, 1};
  harness.trials = 40;
  CHECK(harness.run().kind == LoopEnd::Kind::given_up);
  CHECK_FALSE(harness.was_told("gets no more trials"));
}

TEST_CASE("A node that is left out gets trials again when the other one is lost", "[loop][nodes]") {
  Nodes harness;
  harness.trials = 8;
  harness.becomes_bad = {{0, 1}, {50, -1}};
  harness.nodes_lost = {{75, 0}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.was_told("node elm gets no more trials"));
  CHECK(harness.was_told("node elm gets trials again"));
  for (int i = 0; i < 8; ++i) CHECK(harness.trial(i).iteration == 10);
}

TEST_CASE("Where trials fit no node that is left the run ends with a sentence, and waits for none",
          "[loop][nodes]") {
  Nodes harness;
  harness.trials = 1;
  harness.spec.workers = TrialWorkers{.count = 2};
  harness.spec.placement = Placement::spread;
  harness.spec.resources_per_trial = {{"cpu", 4}};
  harness.nodes_lost = {{25, 1}};
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::given_up);
  CHECK_THAT(end.reason, Contains("trials fit no node that is left: a trial takes 4 of 'cpu', but "
                                  "there are 2"));
  CHECK(harness.trial(0).state == TrialState::pending);
}

TEST_CASE("Workers whose other node is lost go on together on what is left", "[loop][nodes]") {
  Nodes harness;
  harness.trials = 1;
  harness.spec.workers = TrialWorkers{.count = 2};
  harness.spec.placement = Placement::spread;
  harness.spec.resources_per_trial = {{"cpu", 2}};
  harness.nodes_lost = {{55, 1}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).iteration == 10);
  CHECK(harness.node_of(0) == "oak");
}

namespace {

/// What the loop has said it has a use for.
struct Supply : NodeSupply {
  void want(const NodeDemand& demand) override { demands.push_back(demand); }
  std::string awaited() const override { return "a node"; }
  std::string exhausted() const override { return why_none; }

  std::vector<NodeDemand> demands;
  std::string why_none;
};

}  // namespace

TEST_CASE("Without a node trials wait for the first, and the loop says how many", "[loop][nodes]") {
  Nodes harness;
  Supply supply;
  harness.supply = &supply;
  harness.nodes.clear();
  harness.joins = {{100, {"oak", {{"cpu", 2}}, {}}}};
  harness.wishes = {{50, {.kind = ControlRequest::Kind::waits}}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.answers.at(0).sentence == "a node");
  CHECK(supply.demands.front().waiting >= 4);
  CHECK(supply.demands.front().running.empty());
  for (int i = 0; i < 4; ++i) CHECK(harness.trial(i).iteration == 10);
}

TEST_CASE("A finished search whose nodes have yet to come waits for none", "[loop][nodes]") {
  Nodes harness;
  harness.run();
  Supply supply;
  harness.supply = &supply;
  harness.nodes.clear();
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
}

TEST_CASE("When no node will come any more the run ends with the reason", "[loop][nodes]") {
  Nodes harness;
  Supply supply;
  supply.why_none = "there is none";
  harness.supply = &supply;
  harness.nodes.clear();
  const LoopEnd end = harness.run();
  CHECK(end.kind == LoopEnd::Kind::given_up);
  CHECK(end.reason == "there is none");
}

TEST_CASE("What runs on a node that ends is saved with its next result and goes on elsewhere",
          "[loop][nodes]") {
  Nodes harness;
  harness.program.can_save = true;
  harness.spec.checkpoint_config.checkpoint_frequency = 0;
  Supply supply;
  harness.supply = &supply;
  harness.endings = {{55, {1, "node elm ends soon", false}}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.was_told("notice node elm ends soon"));
  int moved = 0;
  for (int i = 0; i < 4; ++i) {
    CHECK(harness.trial(i).iteration == 10);
    CHECK(harness.trial(i).failures == 0);
    CHECK(harness.node_of(i) == "oak");
    if (harness.trial(i).attempt == 1) continue;
    ++moved;
    CHECK(harness.trial(i).restored_iteration == 6);
  }
  CHECK(moved == 2);
  CHECK_THAT(harness.journal(), !Contains("lost_node"));
  const auto& heard = *std::find_if(supply.demands.begin(), supply.demands.end(), [](auto& each) {
    return each.is_given_up.at(1) && each.running.at(1) == 0;
  });
  CHECK(heard.waiting >= 2);
}

TEST_CASE("What cannot be saved in time before its node ends goes on from its last checkpoint",
          "[loop][nodes]") {
  Nodes harness;
  harness.program.is_function = true;  // which saves when it likes
  Supply supply;
  harness.supply = &supply;
  harness.spec.checkpoint_config.checkpoint_frequency = 0;
  harness.endings = {{55, {1, "", false}}, {78, {1, "", true}}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  for (int i = 0; i < 4; ++i) {
    CHECK(harness.trial(i).iteration == 10);
    CHECK(harness.trial(i).failures == 0);
  }
  CHECK_THAT(harness.journal(), Contains("its node ends, and it goes on elsewhere"));
  CHECK_THAT(harness.journal(), !Contains("lost_node"));
}

TEST_CASE("Nothing starts on a node that ends", "[loop][nodes]") {
  Nodes harness;
  harness.trials = 8;
  Supply supply;
  harness.supply = &supply;
  harness.endings = {{95, {1, "", false}}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  for (int i = 4; i < 8; ++i) CHECK(harness.node_of(i) == "oak");
}

TEST_CASE("Nodes that are lost one after the other count only while a trial gives no result",
          "[loop][nodes]") {
  Nodes harness;
  harness.trials = 1;
  harness.nodes.push_back({"fir", {{"cpu", 2}}, {}});
  harness.nodes.push_back({"ash", {{"cpu", 2}}, {}});
  // Of each the trial has given two results.
  harness.nodes_lost = {{25, 0}, {50, 1}, {75, 2}};
  CHECK(harness.run().kind == LoopEnd::Kind::finished);
  CHECK(harness.trial(0).attempt == 4);
  CHECK(harness.trial(0).iteration == 10);
}

TEST_CASE("A trial that is told to end together with its node's agent has not failed",
          "[loop][nodes]") {
  // The word to the agent comes before or after the trial's end.
  for (const Seconds told_at : {45.0, 51.0}) {
    Nodes harness;
    bool has_died = false;
    harness.program.step = [&](const Json& config, std::int64_t iteration) {
      const bool dies = config.at("x") == 1 && iteration == 5 && !std::exchange(has_died, true);
      return FakeStep{.metrics = R"({"loss":1})",
                      .takes_s = 10,
                      .dies_of = dies ? std::optional(SIGTERM) : std::nullopt};
    };
    Supply supply;
    harness.supply = &supply;
    harness.endings = {{told_at, {1, "", false}}};
    CHECK(harness.run().kind == LoopEnd::Kind::finished);
    CHECK(has_died);
    CHECK(harness.trial(1).state == TrialState::terminated);
    CHECK(harness.trial(1).failures == 0);
    CHECK(harness.node_of(1) == "oak");
  }
}

TEST_CASE("A trial that jobs give too little time to is named after the third, and has not failed",
          "[loop][nodes]") {
  const auto end_jobs = [](Nodes& harness, std::vector<Seconds> times) {
    harness.trials = 1;
    harness.nodes.push_back({"fir", {{"cpu", 2}}, {}});
    harness.nodes.push_back({"ash", {{"cpu", 2}}, {}});
    for (int i = 0; i < 3; ++i) {
      harness.endings.push_back({times.at(static_cast<std::size_t>(i)), {i, "", true}});
    }
    Supply supply;
    harness.supply = &supply;
    CHECK(harness.run().kind == LoopEnd::Kind::finished);
    harness.supply = nullptr;
    CHECK(harness.trial(0).attempt == 4);
    CHECK(harness.trial(0).failures == 0);
    CHECK(harness.trial(0).iteration == 10);
  };
  SECTION("before a result") {
    Nodes harness;
    end_jobs(harness, {8, 17, 25});
    CHECK(
        harness.was_told("trial_00000 has been ended 3 times in a row by the end of its job before "
                         "its next result, behind iteration 0: that takes longer than the 9 s"));
  }
  SECTION("before a checkpoint") {
    Nodes harness;
    harness.spec.checkpoint_config.checkpoint_frequency = 9;
    end_jobs(harness, {25, 50, 75});
    CHECK(harness.was_told("3 times in a row by the end of its job before it had a checkpoint"));
  }
  SECTION("with a checkpoint in each") {
    Nodes harness;
    end_jobs(harness, {25, 50, 75});
    CHECK_FALSE(harness.was_told("times in a row"));
  }
}
