// Who knocks at the driver's door and is no agent of its: closed and counted, and the others notice
// nothing.
#include <list>

#include "tests/cluster/cluster_world.h"
#include "tests/support/catch.h"
#include "tuner/cluster/agent_door.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/host_launcher.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace {

/// A driver that waits for nobody.
struct Door : World {
  Door() : World({}) { start(); }
  Meeting meeting() const { return read_meeting(dir.path()); }

  /// The agent works, and so does the door.
  void check_that_others_come_in() {
    const std::size_t before = count_of<NodeJoined>();
    Stranger friendly(reactor, meeting());
    const Proof proof(dir.path());
    friendly.say(
        Join{"1.0", {"friend-" + std::to_string(before), {}, {}}, proof.file(), proof.text()});
    until([&] { return count_of<NodeJoined>() > before; });
    CHECK(friendly.end.empty());
  }
};

Join join_of(const Proof& proof, const std::string& name = "oak") {
  return {"1.0", {name, {{"cpu", 2}}, {}}, proof.file(), proof.text()};
}

/// One whom the driver takes for the agent of a node.
struct Joined {
  explicit Joined(Door& door) : proof(door.dir.path()), agent(door.reactor, door.meeting()) {
    agent.say(join_of(proof));
    door.wait_for<NodeJoined>();
  }
  const Proof proof;
  Stranger agent;
};

}  // namespace

TEST_CASE("Who does not know the secret is not let in", "[cluster][net]") {
  Door door;
  Meeting wrong = door.meeting();
  wrong.secret[31] ^= 1;
  Stranger stranger(door.reactor, wrong);
  door.until([&] { return !stranger.end.empty() && door.driver().strangers() == 1; });
  CHECK_FALSE(stranger.is_open);
  door.check_that_others_come_in();
}

TEST_CASE("A driver that does not know the secret gets nothing from an agent", "[cluster][net]") {
  Door door;
  // As one who listens at the address in the file, and has not read it.
  Meeting own = make_meeting("127.0.0.1", 0);
  Tls tls(TlsSide::driver, own.secret);
  boost::asio::ip::tcp::acceptor acceptor(door.reactor.context(),
                                          {boost::asio::ip::make_address("127.0.0.1"), 0});
  struct Impostor final : Connection::Owner {
    bool is_open = false, has_ended = false;
    void on_open(Connection&) override { is_open = true; }
    void on_frame(Connection&, const Frame&) override {}
    void on_end(Connection&, const std::string&) override { has_ended = true; }
  } impostor;
  std::shared_ptr<Connection> connection;
  acceptor.async_accept([&](boost::system::error_code, boost::asio::ip::tcp::socket socket) {
    connection = std::make_shared<Connection>(std::move(socket), tls, TlsSide::driver, impostor);
    connection->start();
  });
  Meeting meeting = door.meeting();
  meeting.port = acceptor.local_endpoint().port();
  Stranger agent(door.reactor, meeting);
  door.until([&] { return impostor.has_ended && !agent.end.empty(); });
  CHECK_FALSE(impostor.is_open);
  CHECK_FALSE(agent.is_open);
}

TEST_CASE("Connections that say nothing keep no agent out", "[cluster][net]") {
  Door door;
  std::list<boost::asio::ip::tcp::socket> silent;
  const Meeting meeting = door.meeting();
  for (std::size_t i = 0; i < 2 * AgentDoor::most_waiting; ++i) {
    silent.emplace_back(door.reactor.context());
    silent.back().connect({boost::asio::ip::make_address(meeting.address), meeting.port});
    door.reactor.context().poll();
  }
  door.check_that_others_come_in();
  CHECK(door.driver().strangers() >= AgentDoor::most_waiting);
}

TEST_CASE("Noise, a frame of 2 GB, and a first message that is no Join close their connections",
          "[cluster][net]") {
  Door door;
  SECTION("what is no TLS") {
    boost::asio::ip::tcp::socket socket(door.reactor.context());
    const Meeting meeting = door.meeting();
    socket.connect({boost::asio::ip::make_address(meeting.address), meeting.port});
    boost::asio::write(socket, boost::asio::buffer(std::string(1000, 'x')));
    door.until([&] { return door.driver().strangers() == 1; });
  }
  SECTION("no Join") {
    Stranger stranger(door.reactor, door.meeting());
    stranger.say(Renewal{1});
    door.until([&] { return !stranger.end.empty(); });
  }
  SECTION("a frame that is too large for who has not joined") {
    Stranger stranger(door.reactor, door.meeting());
    stranger.say(Left{std::string(most_first_frame_bytes, 'x')});
    door.until([&] { return !stranger.end.empty(); });
  }
  SECTION("a frame of another session") {
    Stranger stranger(door.reactor, door.meeting());
    const Proof proof(door.dir.path());
    ++stranger.connection().id.session;
    stranger.say(join_of(proof));
    door.until([&] { return !stranger.end.empty(); });
  }
  CHECK(door.driver().strangers() == 1);
  CHECK(door.count_of<NodeJoined>() == 0);
  door.check_that_others_come_in();
}

TEST_CASE("A node has one agent", "[cluster][net]") {
  Door door;
  const Joined first(door);
  Stranger second(door.reactor, door.meeting());
  second.say(join_of(first.proof));
  door.until([&] { return !second.end.empty(); });
  CHECK(std::get<TurnedAway>(second.heard.at(0)).reason == "node oak has an agent already");
  CHECK(first.agent.end.empty());
  CHECK(door.count_of<NodeJoined>() == 1);
  CHECK_THAT(door.notices.at(0), Contains("oak"));
}

TEST_CASE("An agent that says what is not of the wire is a lost node", "[cluster][net]") {
  Door door;
  Joined joined(door);
  Stranger& agent = joined.agent;
  SECTION("an event of an earlier connection") { agent.connection().id.attempt += 1; }
  SECTION("a message of a driver's") { agent.say(Renewed{1}); }
  SECTION("a renewal before its time") { agent.say(Renewal{2}); }
  agent.say(Renewal{1});
  const auto lost = door.wait_for<NodeLost>();
  CHECK_THAT(lost.reason, Contains("node oak is lost"));
  door.check_that_others_come_in();
}

TEST_CASE("What an agent says of a launch that it has not is not heard", "[cluster][net]") {
  Door door;
  Joined joined(door);
  Stranger& agent = joined.agent;
  agent.say(Happened{Exited{LaunchId{5}}});
  door.driver().launch(LaunchId{6}, door.spec({"true"}));
  agent.say(Happened{Exited{LaunchId{6}}});
  CHECK(door.wait_for<Exited>().launch == LaunchId{6});
  agent.say(Happened{Exited{LaunchId{6}}});
  agent.say(Left{"enough"});
  door.wait_for<NodeLost>();
  CHECK(door.count_of<Exited>() == 1);
  CHECK(door.count_of<Lost>() == 0);
}

TEST_CASE("An agent's lease lasts from what the driver has heard, not from what it says",
          "[cluster][process]") {
  TempDir dir;
  make_cluster_directory(dir.path());
  AsioReactor reactor(Interrupts::leave_alone);
  boost::asio::ip::tcp::acceptor acceptor(reactor.context(),
                                          {boost::asio::ip::make_address("127.0.0.1"), 0});
  const Meeting meeting = make_meeting("127.0.0.1", acceptor.local_endpoint().port());
  write_meeting(dir.path(), meeting);
  Tls tls(TlsSide::driver, meeting.secret);
  /// Answers with the renewals that it has heard, as long as it hears.
  struct Driver final : Connection::Owner {
    std::uint64_t heard = 0;
    bool is_deaf = false, has_joined = false, has_ended = false;
    void on_open(Connection&) override {}
    void on_frame(Connection& connection, const Frame& frame) override {
      const Message message = parse_message(frame.message);
      if (std::holds_alternative<Join>(message)) {
        has_joined = true;
        connection.say(Welcome{1, 1});
        connection.id.attempt = 1;
        connection.flush();
      } else if (const auto* const renewal = std::get_if<Renewal>(&message)) {
        if (!is_deaf) heard = renewal->number;
      }
    }
    void on_end(Connection&, const std::string&) override { has_ended = true; }
  } driver;
  std::shared_ptr<Connection> connection;
  acceptor.async_accept([&](boost::system::error_code, boost::asio::ip::tcp::socket socket) {
    connection = std::make_shared<Connection>(std::move(socket), tls, TlsSide::driver, driver);
    connection->id = {meeting.session, 0};
    connection->start();
  });
  HostLauncher agent({.directory = dir.path(),
                      .launcher = {"env"},
                      .agent = {CLUSTER_AGENT, "agent", dir.path().string()}});
  agent.start({"oak"});
  const auto clock = make_system_clock();
  const auto speak_for = [&](Seconds time_s) {
    const Seconds until = clock->steady() + time_s;
    while (agent.is_running() && clock->steady() < until) {
      if (driver.has_joined && !driver.has_ended) {
        connection->say(Renewed{driver.heard});
        connection->begin_batch();
        connection->flush();
      }
      std::vector<Wakeup> wakeups;
      reactor.wait(clock->steady() + 0.1, wakeups);
    }
  };
  speak_for(2.5);
  CHECK(agent.is_running());
  driver.is_deaf = true;
  speak_for(patience_s);
  CHECK_FALSE(agent.is_running());
  CHECK_THAT(agent.ending("oak").value(), Contains("nothing was heard of the driver"));
  connection->close();
}
