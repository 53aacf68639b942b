// A driver with agents on loopback, and others who knock at its door.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/execution/session.h"
#include "tuner/cluster/agent_executor.h"
#include "tuner/cluster/connection.h"

namespace tune::test {

/// One who connects as an agent does, and says what it is told to.
class Stranger final : private Connection::Owner {
 public:
  Stranger(AsioReactor& reactor, const Meeting& meeting) : tls_(TlsSide::agent, meeting.secret) {
    boost::asio::ip::tcp::socket socket(reactor.context());
    socket.connect({boost::asio::ip::make_address(meeting.address), meeting.port});
    connection_ = std::make_shared<Connection>(std::move(socket), tls_, TlsSide::agent, owner());
    connection_->id = {meeting.session, 0};
    connection_->start();
  }
  ~Stranger() { connection_->close(); }

  void say(const Message& message) {
    connection_->say(message);
    connection_->flush();
  }
  Connection& connection() { return *connection_; }

  bool is_open = false;
  std::vector<Message> heard;
  std::string end;  ///< why; empty: it has not ended

 private:
  Connection::Owner& owner() { return *this; }
  void on_open(Connection&) override { is_open = true; }
  void on_frame(Connection&, const Frame& frame) override {
    heard.push_back(parse_message(frame.message));
    if (const auto* const welcome = std::get_if<Welcome>(&heard.back())) {
      connection_->id.attempt = welcome->attempt;
    }
  }
  void on_end(Connection&, const std::string& reason) override { end = reason; }

  Tls tls_;
  std::shared_ptr<Connection> connection_;
};

/// A driver; its agents are processes of their own.
class World {
 public:
  explicit World(std::vector<std::string> hosts, Seconds lease_s = 30) {
    options.directory = dir.path();
    options.hosts = std::move(hosts);
    options.launcher = {"env"};
    options.program = CLUSTER_AGENT;
    options.bind = "127.0.0.1";
    options.lease_s = lease_s;
    options.after_lease_s = 0.5;
    options.version = "1.0";
    options.notice = [this](const std::string& sentence) { notices.push_back(sentence); };
  }

  AgentExecutor& driver() {
    if (!executor) executor.emplace(reactor, options);
    return *executor;
  }
  std::vector<NodeResources> start() {
    return driver().start([] { return false; });
  }

  /// Waits until that holds.
  void until(const std::function<bool()>& holds) {
    const Seconds deadline = clock->steady() + patience_s;
    while (!holds()) {
      if (clock->steady() > deadline) throw std::runtime_error("it did not happen");
      std::vector<Wakeup> wakeups;
      reactor.wait(clock->steady() + 0.05, wakeups);
      for (Wakeup& wakeup : wakeups) heard.push_back(std::move(wakeup));
    }
  }

  template <class Kind>
  Kind wait_for() {
    const Kind* found = nullptr;
    until([&] {
      for (const Wakeup& wakeup : heard) {
        found = found != nullptr ? found : std::get_if<Kind>(&wakeup);
      }
      return found != nullptr;
    });
    return *found;
  }
  template <class Kind>
  std::size_t count_of() const {
    std::size_t count = 0;
    for (const Wakeup& wakeup : heard) count += std::holds_alternative<Kind>(wakeup) ? 1 : 0;
    return count;
  }

  LaunchSpec spec(std::vector<std::string> argv, int node = 0) const {
    LaunchSpec spec{
        {std::move(argv), {}, dir.path(), dir.path() / "out.log", dir.path() / "err.log"}};
    spec.node = node;
    return spec;
  }

  TempDir dir;
  std::unique_ptr<Clock> clock = make_system_clock();
  AsioReactor reactor{Interrupts::leave_alone};
  ClusterOptions options;
  std::vector<Wakeup> heard;
  std::vector<std::string> notices;
  std::optional<AgentExecutor> executor;  ///< gives notice, also at its end
};

}  // namespace tune::test
