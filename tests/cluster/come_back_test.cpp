// Agents whose driver has died, and drivers that come after one: what runs goes from the one to the
// other, or ends.
#include <signal.h>

#include <algorithm>

#include "tests/cluster/cluster_world.h"
#include "tests/support/catch.h"
#include "tuner/cluster/host_launcher.h"
#include "tuner/disk/liveness.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace {

bool lives(pid_t pid) { return process_start_ticks(pid).has_value(); }

/// One driver after the other, made of nothing but a connection, and a real agent.
class Drivers final : private Connection::Owner {
 public:
  explicit Drivers(Seconds lease_s = 30) : lease_s_(lease_s) {
    make_cluster_directory(dir.path());
    begin();
    agent.emplace(HostLauncher::Options{.directory = dir.path(),
                                        .launcher = {"env"},
                                        .agent = {CLUSTER_AGENT, "agent", dir.path().string()}});
    agent->start({"oak"});
    until([this] { return join.has_value(); });
  }
  ~Drivers() {
    if (connection_) connection_->close();
  }

  /// The next one listens, with a key and a port of its own.
  void begin(const std::string& turns_away = "") {
    turns_away_ = turns_away;
    join.reset();
    heard.clear();
    acceptor_.emplace(reactor.context(), boost::asio::ip::tcp::endpoint(
                                             boost::asio::ip::make_address("127.0.0.1"), 0));
    meeting_ = make_meeting("127.0.0.1", acceptor_->local_endpoint().port());
    tls_.emplace(TlsSide::driver, meeting_.secret);
    write_meeting(dir.path(), meeting_);
    acceptor_->async_accept(
        [this](boost::system::error_code error, boost::asio::ip::tcp::socket socket) {
          if (error) return;
          connection_ = std::make_shared<Connection>(std::move(socket), *tls_, TlsSide::driver,
                                                     static_cast<Connection::Owner&>(*this));
          connection_->id = {meeting_.session, 0};
          connection_->start();
        });
  }
  /// It is killed: its file stays.
  void die() {
    std::exchange(connection_, nullptr)->close();
    acceptor_.reset();
  }

  void say(const Message& message) {
    connection_->say(message);
    connection_->flush();
  }

  void until(const std::function<bool()>& holds) {
    const Seconds deadline = clock->steady() + patience_s;
    while (!holds()) {
      if (clock->steady() > deadline) throw std::runtime_error("it did not happen");
      std::vector<Wakeup> wakeups;
      reactor.wait(clock->steady() + 0.02, wakeups);
      if (!connection_) continue;
      if (join && turns_away_.empty()) connection_->say(Renewed{renewal_});
      connection_->begin_batch();
      connection_->flush();
    }
  }

  template <class Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Message& message : heard) {
      if (const auto* const kind = std::get_if<Kind>(&message)) found.push_back(*kind);
    }
    return found;
  }

  /// A shell runs these words, as launch 7; it has printed its number.
  pid_t run_shell(const std::string& words) {
    LaunchSpec spec{
        {{"sh", "-c", words}, {}, dir.path(), dir.path() / "out.log", dir.path() / "err.log"}};
    spec.plain = PlainReading{.metrics = {{"loss", ""}}, .closing = {"loss"}};
    say(Launch{LaunchId{7}, spec});
    until([&] { return read_file(spec.stdout_path).ends_with("\n"); });
    return std::stoi(read_file(spec.stdout_path));
  }

  TempDir dir;
  AsioReactor reactor{Interrupts::leave_alone};
  std::unique_ptr<Clock> clock = make_system_clock();
  std::optional<HostLauncher> agent;
  std::optional<Join> join;
  std::vector<Message> heard;  ///< behind it

 private:
  void on_open(Connection&) override {}
  void on_frame(Connection& connection, const Frame& frame) override {
    Message message = parse_message(frame.message);
    if (const auto* const joins = std::get_if<Join>(&message)) {
      join = *joins;
      renewal_ = 0;
      if (!turns_away_.empty()) return connection.say(TurnedAway{turns_away_});
      connection.say(Welcome{lease_s_, 1});
      connection.id.attempt = 1;
      connection.expect_large();
    } else if (const auto* const renewal = std::get_if<Renewal>(&message)) {
      renewal_ = renewal->number;
    } else {
      heard.push_back(std::move(message));
    }
  }
  void on_end(Connection&, const std::string&) override { connection_.reset(); }

  const Seconds lease_s_;
  std::string turns_away_;
  Meeting meeting_;
  std::optional<Tls> tls_;
  std::optional<boost::asio::ip::tcp::acceptor> acceptor_;
  std::shared_ptr<Connection> connection_;
  std::uint64_t renewal_ = 0;
};

}  // namespace

TEST_CASE("An agent whose driver is killed keeps what it runs for the next one",
          "[cluster][process]") {
  Drivers drivers;
  CHECK_FALSE(drivers.join->is_back);
  const pid_t program = drivers.run_shell("echo $$; read x < go; echo loss=1; exec sleep 1000");
  drivers.say(
      Told{LaunchId{7}, protocol::format(protocol::Start{
                            .trial_id = "trial_00003", .config = Json::object(), .attempt = 2})});
  drivers.say(Told{LaunchId{7}, protocol::format(protocol::Step{5})});
  drivers.say(Launch{LaunchId{8}, {}});  // so what was said before it has arrived
  drivers.until([&] { return drivers.all<Happened>().size() >= 3; });
  drivers.die();
  std::ofstream(drivers.dir.path() / "go") << "\n";
  drivers.begin();
  drivers.until([&] { return !drivers.all<HandedOver>().empty(); });
  CHECK(drivers.join->is_back);
  CHECK(lives(program));
  const auto kept = drivers.all<KeptLaunch>();
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].launch == LaunchId{7});
  CHECK(kept[0].started.pid == program);
  CHECK(kept[0].trial == "trial_00003");
  CHECK(kept[0].attempt == 2);
  CHECK(kept[0].told == KeptLaunch::Told::step);
  CHECK(kept[0].iteration == 5);
  CHECK(kept[1].has_ended);  // it could not be launched
  SECTION("which ends it when its run is over") {
    drivers.say(Leave{});
    drivers.until([&] { return !drivers.agent->is_running(); });
  }
  SECTION("which may die, too") {
    drivers.die();
    drivers.begin();
    drivers.until([&] { return !drivers.all<HandedOver>().empty(); });
    CHECK(drivers.all<KeptLaunch>().size() == 2);
    CHECK(lives(program));
    drivers.say(Leave{});
    drivers.until([&] { return !drivers.agent->is_running(); });
  }
  CHECK_FALSE(lives(program));
}

TEST_CASE("An agent that no driver comes for ends what it runs after its lease",
          "[cluster][process]") {
  Drivers drivers(1);
  const pid_t program = drivers.run_shell("echo $$; exec sleep 1000");
  drivers.die();
  drivers.until([&] { return !drivers.agent->is_running(); });
  CHECK_FALSE(lives(program));
  CHECK_THAT(drivers.agent->ending("oak").value(), Contains("nothing was heard of the driver"));
  CHECK(agents_left(drivers.dir.path()).empty());
}

TEST_CASE("An agent that comes back too late is told so, and ends what it runs at once",
          "[cluster][process]") {
  Drivers drivers(1000);
  const pid_t program = drivers.run_shell("echo $$; exec sleep 1000");
  drivers.die();
  drivers.begin("what ran on node oak is lost");
  drivers.until([&] { return !drivers.agent->is_running(); });
  CHECK_FALSE(lives(program));
  CHECK_THAT(drivers.agent->ending("oak").value(), Contains("what ran on node oak is lost"));
}

TEST_CASE(
    "A driver without hosts waits for the agents of the one before, until their leases are over",
    "[cluster][unit]") {
  TempDir dir;
  int told = 0, waited = 0;
  const auto wait_for = [&](Seconds patience_s) {
    wait_for_agents_left(
        dir.path(), patience_s, [&] { ++told; }, [&] { ++waited; });
  };
  wait_for(1000);
  make_cluster_directory(dir.path());
  wait_for(1000);
  CHECK(waited == 0);
  std::ofstream(dir.path() / "cluster/agent-elsewhere")
      << R"({"host":"far","pid":1,"start_ticks":1,"boot":"b","pid_namespace":1})";
  wait_for(0.05);
  CHECK(told == 1);
  CHECK(waited > 0);
}

TEST_CASE("Who comes back once the run has begun is turned away", "[cluster][net]") {
  World world({});
  world.start();
  const Proof proof(world.dir.path());
  Stranger agent(world.reactor, read_meeting(world.dir.path()));
  agent.say(Join{"1.0", {"oak", {{"cpu", 2}}, {}}, proof.file(), proof.text(), true});
  world.until([&] { return !agent.end.empty(); });
  CHECK_THAT(std::get<TurnedAway>(agent.heard.at(0)).reason, Contains("too late"));
  CHECK(world.count_of<NodeJoined>() == 0);
}

TEST_CASE("What a driver before has left goes on or is ended, as the next one says",
          "[cluster][net]") {
  World world({});
  make_cluster_directory(world.dir.path());
  const Proof proof(world.dir.path());
  world.driver();
  Stranger agent(world.reactor, read_meeting(world.dir.path()));
  agent.say(Join{"1.0", {"oak", {{"cpu", 2}}, {}}, proof.file(), proof.text(), true});
  bool has_handed_over = false;
  const auto hand_over = [&] {
    if (agent.heard.empty() || std::exchange(has_handed_over, true)) return false;
    for (const std::uint64_t id : {1, 2, 3}) {
      KeptLaunch kept{.launch = LaunchId{id}, .spec = world.spec({"sleep"})};
      kept.told = KeptLaunch::Told::step;
      kept.has_ended = id == 3;
      agent.say(kept);
    }
    agent.say(HandedOver{});
    return false;
  };
  const auto nodes = world.driver().start(hand_over);
  REQUIRE(nodes.size() == 1);
  CHECK(nodes[0].name == "oak");
  CHECK(world.notices.empty());
  REQUIRE(world.driver().kept().size() == 3);
  // What comes meanwhile is neither lost nor an event before its time.
  agent.say(Happened{Reported{.launch = LaunchId{1}, .iteration = 4}});
  const auto end = [&] {
    for (const Message& message : agent.heard) {
      const auto* const signalled = std::get_if<Signalled>(&message);
      if (signalled == nullptr) continue;
      CHECK(signalled->launch == LaunchId{2});
      CHECK(signalled->signal == SIGKILL);
      agent.say(Happened{Exited{LaunchId{2}, 0, SIGKILL}});
    }
    return false;
  };
  const auto adopted = world.driver().adopt({LaunchId{1}}, end);
  REQUIRE(adopted.size() == 1);
  REQUIRE(adopted.at(LaunchId{1}).since.size() == 1);
  CHECK(std::holds_alternative<Reported>(adopted.at(LaunchId{1}).since[0]));
  agent.say(Happened{Exited{LaunchId{1}}});
  CHECK(world.wait_for<Exited>().launch == LaunchId{1});
  CHECK(world.count_of<Exited>() == 1);
}
