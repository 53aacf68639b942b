// A driver and real agents on loopback: where programs run, and what becomes of them when one of
// the two is gone.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <thread>

#include "tests/cluster/cluster_world.h"
#include "tests/support/catch.h"
#include "tuner/base/error.h"
#include "tuner/cluster/host_launcher.h"
#include "tuner/disk/liveness.h"
#include "tuner/process/orphans.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace {

const std::vector<std::string> parent_of = {"sh", "-c", "echo $PPID"};

pid_t number_in(const std::filesystem::path& file) { return std::stoi(read_file(file)); }

bool lives(pid_t pid) { return process_start_ticks(pid).has_value(); }

/// The agent of the node: the parent of what runs there.
pid_t agent_of(World& world, int node) {
  LaunchSpec spec = world.spec(parent_of, node);
  spec.stdout_path = world.dir.path() / ("parent-" + std::to_string(node));
  const LaunchId launch{1000 + static_cast<std::uint64_t>(node)};
  world.driver().launch(launch, spec);
  world.until([&] {
    return std::any_of(world.heard.begin(), world.heard.end(), [&](const Wakeup& wakeup) {
      const auto* const exited = std::get_if<Exited>(&wakeup);
      return exited != nullptr && exited->launch == launch;
    });
  });
  std::erase_if(world.heard, [&](const Wakeup& wakeup) { return launch_of(wakeup) == launch; });
  return number_in(spec.stdout_path);
}

/// What a shell runs with these words on node 0; it has printed its number.
pid_t shell_on(World& world, const std::string& words) {
  const LaunchSpec spec = world.spec({"sh", "-c", words});
  world.driver().launch(LaunchId{1}, spec);
  world.until([&] { return read_file(spec.stdout_path).ends_with("\n"); });
  return number_in(spec.stdout_path);
}

}  // namespace

TEST_CASE("Each program runs under the agent of its node, which writes its log",
          "[cluster][process]") {
  World world({"oak", "elm"});
  const auto nodes = world.start();
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].name == "oak");
  CHECK(nodes[1].name == "elm");
  CHECK(nodes[0].totals.at("cpu") >= 1);
  const pid_t oak = agent_of(world, 0), elm = agent_of(world, 1);
  CHECK(oak != elm);
  CHECK(agent_of(world, 1) == elm);
}

namespace {

/// A rank on the node of its number, which prints its MASTER_PORT.
LaunchSpec rank_on(World& world, int rank, std::optional<LaunchId> first) {
  LaunchSpec spec = world.spec({"sh", "-c", "echo $MASTER_PORT; exec sleep 1000"}, rank);
  spec.stdout_path = world.dir.path() / ("rank-" + std::to_string(rank));
  spec.rank = Rank{.rank = rank, .world_size = 2, .resources = {}, .devices = {}, .first = first};
  return spec;
}

}  // namespace

TEST_CASE("A rank on another node is told the port that rank 0's agent has reserved",
          "[cluster][process]") {
  World world({"oak", "elm"});
  world.start();
  world.driver().launch(LaunchId{1}, rank_on(world, 0, {}));
  world.driver().launch(LaunchId{2}, rank_on(world, 1, LaunchId{1}));
  const auto port_of = [&](int rank) {
    return read_file(world.dir.path() / ("rank-" + std::to_string(rank)));
  };
  world.until([&] { return port_of(0).ends_with("\n") && port_of(1).ends_with("\n"); });
  CHECK(std::stoi(port_of(0)) > 0);
  CHECK(port_of(0) == port_of(1));
}

TEST_CASE("A rank on another node is not started without rank 0, nor once it was signalled",
          "[cluster][process]") {
  World world({"oak", "elm"});
  world.start();
  LaunchSpec first = rank_on(world, 0, {});
  first.argv = {"/nowhere/to/be/found"};
  world.driver().launch(LaunchId{1}, first);
  world.driver().launch(LaunchId{2}, rank_on(world, 1, LaunchId{1}));
  world.driver().launch(LaunchId{3}, rank_on(world, 1, LaunchId{1}));
  world.driver().signal(LaunchId{3}, SIGTERM);
  const auto exited = world.wait_for<Exited>();
  CHECK(exited.launch == LaunchId{3});
  CHECK(exited.signal == SIGTERM);
  world.until([&] { return world.count_of<LaunchFailed>() == 2; });
  CHECK_FALSE(std::filesystem::exists(world.dir.path() / "rank-1"));
}

TEST_CASE("What a spec gives as resources each node has", "[cluster][process]") {
  World world({"oak"});
  world.options.resources = {{"cpu", 64}, {"gpu", 2}};
  const auto nodes = world.start();
  CHECK(nodes[0].totals == Resources{{"cpu", 64}, {"gpu", 2}});
  CHECK(nodes[0].gpus == std::vector<std::string>{"0", "1"});
}

TEST_CASE("A command that its trainable could not be told is that launch's fault, and no node's",
          "[cluster][process]") {
  World world({"oak"});
  world.start();
  world.driver().launch(LaunchId{1}, world.spec({"sleep", "1000"}));
  world.driver().send(LaunchId{1}, protocol::Start{});  // without a config
  CHECK(world.wait_for<Faulted>().launch == LaunchId{1});
  CHECK(world.count_of<NodeLost>() == 0);
}

TEST_CASE("When the run is over the agents leave, and nothing of them is left",
          "[cluster][process]") {
  World world({"oak"});
  world.start();
  const pid_t agent = agent_of(world, 0);
  const pid_t program = shell_on(world, "echo $$; exec sleep 1000");
  world.executor.reset();
  CHECK_FALSE(lives(agent));
  CHECK_FALSE(lives(program));
  CHECK_FALSE(std::filesystem::exists(world.dir.path() / "cluster/meeting.json"));
}

TEST_CASE("An agent whose run is over ends in good order", "[cluster][process]") {
  World world({"oak"});
  const auto ended = world.dir.path() / "ended";
  world.options.launcher = {"sh", "-c", "${agent}; echo $? > " + ended.string()};
  world.start();
  (void)shell_on(world, "echo $$; exec sleep 1000");
  world.executor.reset();
  CHECK(read_file(ended) == "0\n");
}

TEST_CASE("An agent that is killed is a lost node, and what ran there is lost at once",
          "[cluster][process]") {
  World world({"oak", "elm"}, 1000);
  world.start();
  const pid_t elm = agent_of(world, 1);
  world.driver().launch(LaunchId{1}, world.spec({"sleep", "1000"}, 0));
  world.driver().launch(LaunchId{2}, world.spec({"sleep", "1000"}, 1));
  world.until([&] { return world.count_of<Launched>() == 2; });
  ::kill(elm, SIGKILL);
  CHECK(world.wait_for<NodeLost>().node == 1);
  const auto lost = world.wait_for<Lost>();
  CHECK(lost.launch == LaunchId{2});
  CHECK_THAT(lost.reason, Contains("node elm is lost"));
  world.driver().launch(LaunchId{3}, world.spec({"true"}, 1));
  world.until([&] { return world.count_of<Lost>() == 2; });
  CHECK(world.count_of<Exited>() == 0);
}

TEST_CASE("An agent that is told to leave ends what it runs, and says so", "[cluster][process]") {
  World world({"oak"}, 1000);
  world.start();
  const pid_t agent = agent_of(world, 0);
  const pid_t program = shell_on(world, "trap '' TERM; echo $$; sleep 1000");
  ::kill(agent, SIGTERM);
  const auto lost = world.wait_for<Lost>();
  CHECK_THAT(lost.reason, Contains("SIGTERM"));
  CHECK_FALSE(lives(program));
  CHECK(world.count_of<Exited>() == 0);
}

TEST_CASE("An agent that Slurm has started passes its warning on, once for all, and goes on",
          "[cluster][process]") {
  World world({"oak", "elm"}, 1000);
  world.options.launcher = {"env", "TUNE_TEST_WARNED=1"};
  world.start();
  const pid_t oak = agent_of(world, 0), elm = agent_of(world, 1);
  const pid_t program = shell_on(world, "echo $$; exec sleep 1000");
  ::kill(oak, SIGTERM);
  CHECK(world.wait_for<Interrupted>().signal == SIGTERM);
  ::kill(elm, SIGTERM);
  // Heard after that.
  world.driver().launch(LaunchId{2}, world.spec({"true"}, 1));
  world.wait_for<Exited>();
  CHECK(lives(program));
  CHECK(world.count_of<Interrupted>() == 1);
  CHECK(world.count_of<NodeLost>() == 0);
  CHECK(world.notices.size() == 1);
}

TEST_CASE("An agent that does not hear its driver for the lease ends what it runs",
          "[cluster][process]") {
  World world({"oak"}, 1);
  world.start();
  const pid_t program = shell_on(world, "echo $$; exec sleep 1000");
  // The driver does nothing from here on, as if it were frozen or cut off.
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
  while (lives(program) && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK_FALSE(lives(program));
  // It comes back to an agent that has left.
  world.wait_for<NodeLost>();
  CHECK(world.wait_for<Lost>().launch == LaunchId{1});
}

TEST_CASE("What a stopped agent runs ends with the lease, and so does the agent",
          "[cluster][process]") {
  World world({"oak"}, 1);
  world.start();
  const pid_t agent = agent_of(world, 0);
  const pid_t program = shell_on(world, "echo $$; exec sleep 1000");
  ::kill(agent, SIGSTOP);
  world.until([&] { return !lives(program) && !lives(agent); });
}

TEST_CASE("What has left the process group of its program ends after an agent that is killed",
          "[cluster][process]") {
  World world({"oak"});
  world.start();
  const pid_t agent = agent_of(world, 0);
  LaunchSpec spec = world.spec({"sh", "-c", "setsid sh -c 'echo $$; exec sleep 1000'"});
  spec.environment.push_back(std::string(protocol::env_session) + "=" +
                             to_text(SessionMark{7, this_identity()}));
  world.driver().launch(LaunchId{1}, spec);
  world.until([&] { return read_file(spec.stdout_path).ends_with("\n"); });
  const pid_t helper = number_in(spec.stdout_path);
  ::kill(agent, SIGKILL);
  world.until([&] { return !lives(helper); });
}

TEST_CASE("A node that is silent is lost after the lease, and what it says later counts no more",
          "[cluster][process]") {
  World world({"oak"}, 1);
  world.start();
  const pid_t agent = agent_of(world, 0);
  world.driver().launch(LaunchId{1}, world.spec({"sleep", "1000"}));
  world.wait_for<Launched>();
  ::kill(agent, SIGSTOP);
  world.wait_for<NodeLost>();
  CHECK(world.wait_for<Lost>().launch == LaunchId{1});
  const std::size_t heard = world.heard.size();
  ::kill(agent, SIGCONT);
  world.until([&] { return !lives(agent); });
  CHECK(world.heard.size() == heard);
}

TEST_CASE("What is wrong with a host is said with its name, and ends the start",
          "[cluster][process]") {
  const TempDir other;  // the agents, which write there, end with the world
  World world({"oak", "elm"});
  SECTION("no such program") {
    world.options.program = "/nonexistent/tune";
    CHECK_THROWS_WITH(world.start(), Contains("no agent on node oak") && Contains("exit code 127"));
  }
  SECTION("no such launcher") {
    world.options.launcher = {"/nonexistent/ssh"};
    CHECK_THROWS_WITH(world.start(), Contains("/nonexistent/ssh"));
  }
  SECTION("another version of tune") {
    world.options.launcher = {
        "sh", "-c", "[ $0 = oak ] || export TUNE_TEST_VERSION=2.0; exec ${agent}", "${host}"};
    CHECK_THROWS_WITH(world.start(), Contains("no agent on node elm") && Contains("tune 2.0") &&
                                         Contains("tune 1.0"));
  }
  SECTION("a node that does not have the directory") {
    world.options.launcher = {
        "sh", "-c", "[ $0 = oak ] && exec ${agent}; exec \"$1\" agent /nonexistent/x --node elm",
        "${host}", CLUSTER_AGENT};
    CHECK_THROWS_WITH(world.start(),
                      Contains("no agent on node elm") && Contains("no directory /nonexistent/x"));
  }
  SECTION("a node that has another directory of that name") {
    // A copy: the agent finds the driver by it, and what it writes there does not arrive.
    world.options.launcher = {"sh",
                              "-c",
                              "cp -r \"$1/cluster\" \"$2\"; chmod go= \"$2/cluster\"; "
                              "exec \"$3\" agent \"$2\" --node $0",
                              "${host}",
                              world.dir.path().string(),
                              other.path().string(),
                              CLUSTER_AGENT};
    world.options.hosts = {"oak"};
    CHECK_THROWS_WITH(world.start(), Contains("node oak does not see"));
  }
}

TEST_CASE("The secret is for its owner alone, and in nobody's arguments or environment",
          "[cluster][process]") {
  World world({"oak"});
  world.start();
  const auto folder = world.dir.path() / "cluster";
  struct stat status {};
  REQUIRE(::stat(folder.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  REQUIRE(::stat((folder / "meeting.json").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  const Json meeting = Json::parse(read_file(folder / "meeting.json"));
  const auto secret = meeting.at("secret").get<std::string>();
  CHECK(secret.size() == 64);
  const auto process = std::filesystem::path("/proc") / std::to_string(agent_of(world, 0));
  CHECK(read_file(process / "cmdline").find(secret) == std::string::npos);
  CHECK(read_file(process / "environ").find(secret) == std::string::npos);
}

TEST_CASE("A secret that others may read is not used", "[cluster][unit]") {
  TempDir dir;
  make_cluster_directory(dir.path());
  write_meeting(dir.path(), make_meeting("127.0.0.1", 9));
  CHECK(read_meeting(dir.path()).port == 9);
  std::filesystem::permissions(dir.path() / "cluster/meeting.json",
                               std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  CHECK_THROWS_WITH(read_meeting(dir.path()), Contains("others may read it"));
  std::filesystem::permissions(dir.path() / "cluster", std::filesystem::perms::group_exec,
                               std::filesystem::perm_options::add);
  CHECK_THROWS_WITH(make_cluster_directory(dir.path()), Contains("others may read it"));
}

TEST_CASE("A driver waits for the agents of the one before, until they have ended or must have",
          "[cluster][process]") {
  World world({"oak"}, 1);
  make_cluster_directory(world.dir.path());
  const auto elsewhere = world.dir.path() / "cluster/agent-elsewhere";
  const auto here = world.dir.path() / "cluster/agent-here";
  SECTION("one that is seen to be dead is nobody") {
    const auto self = this_identity();
    std::ofstream(here) << Json({{"host", self.host},
                                 {"pid", self.pid},
                                 {"start_ticks", 1},
                                 {"boot", self.boot},
                                 {"pid_namespace", self.pid_namespace}});
    world.start();
    CHECK(world.notices.empty());
  }
  SECTION("one that is not seen has its lease") {
    std::ofstream(elsewhere) << R"({"host":"far","pid":1,"start_ticks":1,"boot":"b",)"
                             << R"("pid_namespace":1})";
    world.start();
    REQUIRE(world.notices.size() == 1);
    CHECK_THAT(world.notices[0], Contains("agents of an earlier driver"));
  }
  CHECK_FALSE(std::filesystem::exists(here));
  CHECK_FALSE(std::filesystem::exists(elsewhere));
}

TEST_CASE("A launcher that has lost its way to a host says nothing of the agent there",
          "[cluster][process]") {
  TempDir dir;
  make_cluster_directory(dir.path());
  const auto seen_to_end = [&](const char* words) {
    HostLauncher launcher({.directory = dir.path(), .launcher = {"sh", "-c", words}, .agent = {}});
    launcher.start({"oak"});
    while (launcher.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return launcher.has_ended_there("oak");
  };
  CHECK(seen_to_end("exit 0"));
  CHECK(seen_to_end("exit 1"));
  CHECK_FALSE(seen_to_end("exit 255"));
  CHECK_FALSE(seen_to_end("kill -9 $$"));
}

TEST_CASE("A launcher gets the agent's command as words, or as one word for a shell",
          "[cluster][unit]") {
  const std::vector<std::string> agent = {"/opt/tune", "agent", "/a b"};
  CHECK(launcher_command({"env", "N=${host}"}, "oak", agent) ==
        std::vector<std::string>{"env", "N=oak", "/opt/tune", "agent", "/a b"});
  CHECK(launcher_command({"ssh", "${host}", "exec ${agent}"}, "oak", agent) ==
        std::vector<std::string>{"ssh", "oak", "exec /opt/tune agent '/a b'"});
}

TEST_CASE("A driver listens at one address", "[cluster][unit]") {
  World world({"oak"});
  for (const char* const address : {"0.0.0.0", "::", "oak", "192.0.2.1"}) {
    world.options.bind = address;
    CHECK_THROWS_WITH(world.driver(), Contains("--bind"));
    CHECK_FALSE(std::filesystem::exists(world.dir.path() / "cluster/meeting.json"));
  }
}
