// Which agents a driver starts, how long it waits for them, and why it gives up, in virtual time.
#include "tuner/cluster/agent_start.h"

#include "tests/cluster/fake_launcher.h"
#include "tests/execution/session.h"
#include "tests/support/catch.h"
#include "tuner/cluster/cluster_files.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace {

struct Starting {
  Starting() {
    make_cluster_directory(dir.path());
    options.directory = dir.path();
    options.hosts = {"oak", "elm"};
    options.bind = "10.0.0.1";
    options.lease_s = 30;
    options.after_lease_s = 5;
    options.notice = [this](const std::string& sentence) { notices.push_back(sentence); };
  }
  bool look(Seconds now) {
    if (!agents) agents.emplace(options, nodes);
    return agents->look(launcher, now);
  }
  std::size_t join(const std::string& name, bool is_back = false) {
    return nodes.join({name, {{"cpu", 2}}, {}}, "agent-" + name, is_back, 0);
  }
  /// An agent of a driver before, on another machine.
  std::filesystem::path leave_agent(const std::string& name) const {
    const auto file = cluster_directory(dir.path()) / ("agent-" + name);
    std::ofstream(file) << R"({"host":"far","pid":1,"start_ticks":1,"boot":"b","pid_namespace":1})";
    return file;
  }

  TempDir dir;
  ClusterOptions options;
  std::vector<std::string> notices;
  FakeLauncher launcher;
  NodeTable nodes{30, 5, [](const NodeTable::Node&) { return false; }};
  std::optional<AgentStart> agents;
};

using Hosts = std::vector<std::string>;

}  // namespace

TEST_CASE("A driver has started once an agent has joined on each host", "[cluster][unit]") {
  Starting start;
  CHECK_FALSE(start.look(100));
  CHECK(start.launcher.started == Hosts{"oak", "elm"});
  start.join("oak");
  CHECK_FALSE(start.look(110));
  start.join("elm");
  CHECK(start.look(120));
  CHECK(start.launcher.started.size() == 2);
}

TEST_CASE("Where an agent of a driver before comes back none is started, and its words are awaited",
          "[cluster][unit]") {
  Starting start;
  start.leave_agent("oak");
  CHECK_FALSE(start.look(100));
  CHECK_FALSE(start.look(100.9));
  const std::size_t oak = start.join("oak", true);
  CHECK_FALSE(start.look(100.95));
  CHECK(start.launcher.started.empty());
  start.nodes.handed_over(oak);
  CHECK_FALSE(start.look(100.99));
  CHECK(start.launcher.started == Hosts{"elm"});
  start.join("elm");
  CHECK(start.look(101));
  CHECK(start.notices.empty());
}

TEST_CASE(
    "An agent that does not come back is waited for until its lease is over, and that is said",
    "[cluster][unit]") {
  Starting start;
  const auto file = start.leave_agent("ash");
  CHECK_FALSE(start.look(100));
  CHECK_FALSE(start.look(101));
  CHECK_FALSE(start.look(134.9));
  REQUIRE(start.notices.size() == 1);
  CHECK_THAT(start.notices[0], Contains("they have 35 s to come back"));
  CHECK(start.launcher.started.empty());
  CHECK_FALSE(start.look(135));
  CHECK(start.launcher.started == Hosts{"oak", "elm"});
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("A host without an agent ends the start with the reason", "[cluster][unit]") {
  Starting start;
  CHECK_FALSE(start.look(100));
  start.join("oak");
  const auto reason_at = [&](Seconds now) {
    try {
      (void)start.look(now);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  SECTION("it was turned away") {
    start.agents->refused("elm", "elm is of another version");
    CHECK(reason_at(101) == "elm is of another version");
  }
  SECTION("its launcher has ended, after one of nobody knows which node was turned away") {
    start.agents->refused("", "an agent is of another version");
    start.launcher.endings["elm"] = "exit code 1";
    CHECK(reason_at(101) ==
          "there is no agent on node elm: its launcher has ended with exit code 1; an agent is of "
          "another version");
  }
  SECTION("it is silent") {
    CHECK(reason_at(160).empty());
    CHECK_THAT(reason_at(160.1), Contains("no agent of node elm has reached the driver") &&
                                     Contains("10.0.0.1") && Contains("within 60 s"));
  }
  SECTION("another one is lost meanwhile") {
    start.nodes.lose(0, "its connection has ended");
    start.join("oak");
    start.join("elm");
    CHECK(reason_at(101) == "node oak is lost: its connection has ended");
  }
}
