// Which lost nodes get another agent, and when they are given up, in virtual time.
#include "tuner/cluster/agent_restarts.h"

#include "tests/cluster/fake_launcher.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace {

/// Node "oak" was lost at its place 3.
struct LostOak {
  LostOak() { restarts.await("oak", 3); }
  std::vector<AgentRestarts::GivenUp> look(Seconds now) {
    return restarts.look(
        launcher, [this](std::size_t) { return is_idle; }, now);
  }
  FakeLauncher launcher;
  AgentRestarts restarts;
  bool is_idle = true;
};

}  // namespace

TEST_CASE("An agent is started again once, when nothing of the last one runs there any more",
          "[cluster][unit]") {
  LostOak lost;
  lost.is_idle = false;
  CHECK(lost.look(100).empty());
  CHECK(lost.launcher.started.empty());
  lost.is_idle = true;
  CHECK(lost.look(1000).empty());
  CHECK(lost.look(1001).empty());
  CHECK(lost.launcher.started == std::vector<std::string>{"oak"});
  CHECK(lost.restarts.arrived("oak") == 3u);
  CHECK(lost.restarts.arrived("oak") == std::nullopt);
  CHECK(lost.look(9000).empty());
}

TEST_CASE("A node is given up whose agent does not come back, and said why", "[cluster][unit]") {
  LostOak lost;
  const auto reason_at = [&](Seconds now) {
    const auto given_up = lost.look(now);
    REQUIRE(given_up.size() == 1);
    CHECK(given_up[0].place == 3);
    CHECK(lost.restarts.arrived("oak") == std::nullopt);
    return given_up[0].reason;
  };
  SECTION("it cannot be started") {
    lost.launcher.refuses_with = "there is no such job";
    CHECK(reason_at(100) == "node oak does not come back: there is no such job");
  }
  SECTION("its launcher ends") {
    lost.look(100);
    lost.launcher.endings["oak"] = "exit code 1";
    CHECK_THAT(reason_at(101), Contains("ended with exit code 1"));
  }
  SECTION("it is silent") {
    lost.look(100);
    CHECK(lost.look(160).empty());
    CHECK_THAT(reason_at(160.1), Contains("no agent has come"));
  }
}
