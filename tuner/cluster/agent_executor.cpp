// What is said to agents and by them, and what follows from it for nodes and launches.
#include "tuner/cluster/agent_executor.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/cluster/agent_door.h"
#include "tuner/cluster/agent_restarts.h"
#include "tuner/cluster/agent_start.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/node_table.h"
#include "tuner/cluster/rendezvous.h"
#include "tuner/cluster/session_end.h"
#include "tuner/disk/liveness.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace {

constexpr std::chrono::milliseconds tick_period{100};
/// An agent's lease is renewed so often while it lasts.
constexpr int renewals_in_lease = 6;
/// A driver that has slept so long has not listened; that is nobody's silence.
constexpr Seconds oversleep_s = 2;
/// From one word about strangers to the next.
constexpr Seconds tell_period_s = 60;
/// For Slurm, at the end, where nobody has said how long that may take: before a driver that is to
/// be gone is killed for it (watchdog.h).
constexpr Seconds brief_patience_s = 4;
/// For what is killed to be gone.
constexpr Seconds kill_patience_s = 60;

}  // namespace

class AgentExecutor::Impl final : private AsioReactor::Client, private Connection::Owner {
 public:
  Impl(AsioReactor& reactor, ClusterOptions options)
      : reactor_(reactor),
        options_(std::move(options)),
        next_tick_(reactor.context()),
        nodes_(options_.lease_s, options_.after_lease_s,
               [this](const NodeTable::Node& node) { return is_seen_dead(node); }) {
    make_cluster_directory(options_.directory);
    start_.emplace(options_, nodes_);
    door_.emplace(reactor.context(),
                  AgentDoor::Options{options_.directory, options_.bind, options_.version},
                  AgentDoor::Callbacks{[this](const std::shared_ptr<Connection>& connection,
                                              const Join& join) { return admit(connection, join); },
                                       [this](const std::string& node, const std::string& reason) {
                                         on_refused(node, reason);
                                       }});
    reactor.serve(*this);
    tick();
  }

  ~Impl() {
    leave(brief_patience_s, [] { return false; });
    for (const auto& connection : connections_) {
      if (connection) connection->close();
    }
    tell_of_strangers();
  }

  void leave(Seconds slurm_patience_s, const std::function<bool()>& is_given_up) {
    if (std::exchange(is_leaving_, true)) return;
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      if (!connections_[place]) continue;
      const NodeTable::Node& node = nodes_.at(place);
      if (node.kept.empty() && !node.is_handing_over) {
        connections_[place]->say(Leave{});
      } else {
        // The run has not begun: what runs there may go on under the next driver.
        close(place);
      }
    }
    flush();
    JobLauncher* const jobs = has_started_ ? jobs_ : nullptr;
    if (jobs != nullptr) jobs->end();
    SessionEnd end(reactor_, is_given_up, options_.notice);
    const auto any_talks = [this] { return !by_connection_.empty(); };
    end.wait_for_agents(any_talks);
    if (jobs != nullptr) {
      if (any_talks()) jobs->end_rest();
      end.wait_for_slurm(*jobs, slurm_patience_s);
    } else if (launcher_ && jobs_ == nullptr) {
      end.wait_for_launcher(*launcher_);
    }
  }

  std::vector<NodeResources> start(const std::function<bool()>& is_interrupted) {
    launcher_ = make_launcher(options_);
    jobs_ = dynamic_cast<JobLauncher*>(launcher_.get());
    while (!start_->look(*launcher_, seconds_since_boot())) wait_a_bit(is_interrupted);
    // Not as they happened to come.
    std::vector<std::shared_ptr<Connection>> connections;
    std::vector<NodeResources> nodes;
    for (const std::size_t before : nodes_.order_by(options_.hosts)) {
      by_connection_[connections_[before].get()] = nodes.size();
      connections.push_back(std::move(connections_[before]));
      nodes.push_back(nodes_.at(nodes.size()).resources);
    }
    connections_ = std::move(connections);
    numbered_ = nodes.size();
    has_started_ = kept().empty();
    return nodes;
  }

  std::vector<KeptLaunch> kept() const { return nodes_.kept(); }

  std::map<LaunchId, KeptLaunch> adopt(const std::set<LaunchId>& launches,
                                       const std::function<bool()>& is_interrupted) {
    if (has_started_) return {};  // nothing is kept
    const auto ending = nodes_.kept_besides(launches);
    for (const auto& [place, launch] : ending) {
      if (!connections_[place]) continue;
      connections_[place]->say(Signalled{launch, SIGKILL});
      connections_[place]->flush();
    }
    const Seconds until = seconds_since_boot() +
                          std::max(kill_patience_s, options_.lease_s + options_.after_lease_s + 1);
    const auto has_ended = [this](const NodeTable::Placed& each) {
      return nodes_.has_kept_ended(each, seconds_since_boot());
    };
    while (!std::all_of(ending.begin(), ending.end(), has_ended)) {
      if (seconds_since_boot() > until) {
        throw machine_error("processes of an earlier driver's trials do not end, killed or not");
      }
      wait_a_bit(is_interrupted);
    }
    auto adopted = nodes_.adopt(launches);
    // What has happened to nodes meanwhile nobody has heard.
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      const NodeTable::Node& node = nodes_.at(place);
      if (place >= numbered_) happen(NodeJoined{node.resources});
      if (node.is_lost) happen(NodeLost{static_cast<int>(place), node.why_lost});
    }
    has_started_ = true;
    return adopted;
  }

  std::uint64_t strangers() const { return door_->strangers(); }

  void want(const NodeDemand& demand) {
    std::vector<JobLauncher::NodeUse> uses;
    for (std::size_t i = 0; i < std::min(demand.running.size(), nodes_.size()); ++i) {
      if (nodes_.at(i).is_lost) continue;
      uses.push_back({nodes_.at(i).resources.name, demand.running[i], demand.is_given_up[i]});
    }
    if (jobs_ != nullptr) jobs_->want(demand, uses);
  }
  std::string awaited() const { return jobs_ == nullptr ? "" : jobs_->awaited(); }
  std::string exhausted() const {
    return jobs_ == nullptr ? "no node is left that trials could run on" : jobs_->exhausted();
  }

  void launch(LaunchId launch, LaunchSpec spec) {
    const auto place = static_cast<std::size_t>(spec.node);
    const NodeTable::Node& node = nodes_.at(place);
    // As it is seen from here.
    if (!spec.argv.empty() && spec.argv[0].find('/') != std::string::npos) {
      spec.argv[0] = std::filesystem::absolute(spec.argv[0]);
    }
    if (node.is_lost) return happen(Lost{launch, node.why_lost});
    if (spec.rank && spec.rank->first) {
      const auto first = nodes_.place_of(*spec.rank->first);
      if (!first) return fail_without_first(launch);
      if (*first != place && !rendezvous_.admit(launch, spec)) return;
    }
    try {
      connections_[place]->say(Launch{launch, std::move(spec)});
    } catch (const WireError& error) {
      return happen(LaunchFailed{launch, error.what(), true});
    }
    nodes_.begin(place, launch);
  }

  /// What would be told to a rank that waits for its port is not: it has not said hello.
  void send(LaunchId launch, const protocol::Command& command) {
    Connection* const connection = connection_of(launch);
    if (connection == nullptr) return;
    try {
      connection->say(Told{launch, protocol::format(command)});
    } catch (const std::exception& error) {
      happen(Faulted{launch, std::string("cannot tell it: ") + error.what()});
    }
  }

  void signal(LaunchId launch, int signal) {
    if (Connection* const connection = connection_of(launch)) {
      connection->say(Signalled{launch, signal});
      return;
    }
    if (rendezvous_.withdraw(launch)) happen(Exited{.launch = launch, .signal = signal});
  }

 private:
  template <class Event>
  void happen(Event event) {
    reactor_.happened().emplace_back(std::move(event));
  }

  void fail_without_first(LaunchId launch) {
    happen(LaunchFailed{launch, "its rank 0 was gone before it could be started"});
  }

  void wait_a_bit(const std::function<bool()>& is_interrupted) {
    std::vector<Wakeup> wakeups;
    reactor_.wait(clock_->steady() + 0.1, wakeups);
    const bool is_signalled = std::any_of(wakeups.begin(), wakeups.end(), [](const auto& what) {
      return std::holds_alternative<Interrupted>(what);
    });
    if (is_signalled || is_interrupted()) {
      throw WaitInterrupted("interrupted while agents were started");
    }
  }

  std::string admit(const std::shared_ptr<Connection>& connection, const Join& join) {
    const std::string& name = join.node.name;
    if (is_leaving_) return "the run is over";
    if (has_started_ && join.is_back) {
      return "it is too late to come back: what ran on node " + name + " is lost";
    }
    if (auto refusal = nodes_.refusal(name); !refusal.empty()) return refusal;
    NodeResources resources;
    try {
      resources = with_given(join.node, options_.resources);
    } catch (const Error& error) {
      return error.what();
    }
    resources.address = connection->peer_address();
    connection->hand_over(*this);
    connection->expect_large();
    connection->say(Welcome{options_.lease_s, ++attempts_});
    connection->id.attempt = attempts_;
    connection->flush();
    if (has_started_) {
      std::optional<int> before;
      if (const auto place = restarts_.arrived(name)) before = static_cast<int>(*place);
      happen(NodeJoined{resources, before});
    }
    if (jobs_ != nullptr) jobs_->joined(resources);
    by_connection_[connection.get()] =
        nodes_.join(std::move(resources), join.file, join.is_back, seconds_since_boot());
    connections_.push_back(connection);
    reactor_.wake();
    return "";
  }

  void on_refused(const std::string& node, const std::string& reason) {
    if (has_started_) return options_.notice("an agent could not join: " + reason);
    start_->refused(node, reason);
    reactor_.wake();
  }

  void on_open(Connection&) override {}

  void on_frame(Connection& connection, const Frame& frame) override {
    const std::size_t place = place_of(connection);
    nodes_.hear(place, seconds_since_boot());
    Message message = parse_message(frame.message);
    if (auto* const happened = std::get_if<Happened>(&message)) {
      on(place, happened->event);
    } else if (auto* const kept = std::get_if<KeptLaunch>(&message)) {
      nodes_.keep(place, std::move(*kept));
    } else if (std::holds_alternative<HandedOver>(message)) {
      nodes_.handed_over(place);
      reactor_.wake();
    } else if (const auto* const left = std::get_if<Left>(&message)) {
      nodes_.note_end(place);
      lose(place, left->reason);
    } else if (const auto* const renewal = std::get_if<Renewal>(&message)) {
      nodes_.renew(place, renewal->number);
    } else if (const auto* const warned = std::get_if<Warned>(&message)) {
      on_warning(nodes_.at(place).resources.name, warned->reason);
    } else {
      throw WireError("a driver's message, from an agent");
    }
  }

  /// All agents of a job are warned, and each may be more than once.
  void on_warning(const std::string& node, const std::string& reason) {
    if (jobs_ != nullptr) return jobs_->warned(node);
    if (std::exchange(is_warned_, true)) return;
    options_.notice(reason);
    happen(Interrupted{SIGTERM});
  }

  void on(std::size_t place, LaunchEvent& event) {
    const LaunchId launch = std::visit([](const auto& each) { return each.launch; }, event);
    if (nodes_.note_kept(place, launch, event)) return;
    if (nodes_.place_of(launch) != place) return;  // it knows no such launch any more
    if (const auto* const launched = std::get_if<Launched>(&event)) {
      for (auto& [rank, spec] : rendezvous_.open(launch, launched->port)) {
        this->launch(rank, std::move(spec));
      }
    }
    if (std::holds_alternative<Exited>(event) || std::holds_alternative<LaunchFailed>(event)) {
      nodes_.end(launch);
      close_rendezvous(launch);
    }
    std::visit([this](auto& each) { happen(std::move(each)); }, event);
  }

  void close_rendezvous(LaunchId first) {
    for (const LaunchId rank : rendezvous_.close(first)) fail_without_first(rank);
  }

  void on_end(Connection& connection, const std::string& reason) override {
    lose(place_of(connection), "its connection has ended: " + reason);
  }

  std::size_t place_of(const Connection& connection) const {
    const auto found = by_connection_.find(&connection);
    ensure(found != by_connection_.end(), "a connection is of a node");
    return found->second;
  }

  Connection* connection_of(LaunchId launch) const {
    const auto place = nodes_.place_of(launch);
    return place ? connections_[*place].get() : nullptr;
  }

  void close(std::size_t place) {
    by_connection_.erase(connections_[place].get());
    std::exchange(connections_[place], nullptr)->close();
  }

  void lose(std::size_t place, const std::string& reason) {
    if (!connections_[place]) return;
    close(place);
    nodes_.lose(place, reason);
    const NodeTable::Node& node = nodes_.at(place);
    const std::string& name = node.resources.name;
    if (jobs_ != nullptr) jobs_->lost(name);
    if (!is_leaving_) {
      const bool is_awaited = has_started_ && launcher_->can_start_again(name);
      if (is_awaited) restarts_.await(name, place);
      happen(NodeLost{static_cast<int>(place), node.why_lost, is_awaited, !node.dismissed.empty()});
    }
    look_at_lost(place);
  }

  void look_at_awaited() {
    const auto is_idle = [this](std::size_t place) { return nodes_.at(place).launches.empty(); };
    for (auto& [place, reason] : restarts_.look(*launcher_, is_idle, seconds_since_boot())) {
      happen(NodeLost{static_cast<int>(place), std::move(reason)});
    }
  }

  /// What is to become of nodes that are jobs of their own.
  void carry_out_orders() {
    for (JobLauncher::Order& order : jobs_->take_orders()) {
      const auto found = std::find_if(
          by_connection_.begin(), by_connection_.end(),
          [&](const auto& each) { return nodes_.at(each.second).resources.name == order.node; });
      if (found == by_connection_.end()) continue;
      const std::size_t place = found->second;
      if (order.what == JobOrder::leave) {
        nodes_.dismiss(place, std::move(order.reason));
        connections_[place]->say(Leave{});
        connections_[place]->flush();
        continue;
      }
      happen(NodeEnding{static_cast<int>(place), std::move(order.reason),
                        order.what == JobOrder::hurry});
      reactor_.wake();
    }
  }

  void look_at_lost(std::size_t place) {
    for (const LaunchId launch : nodes_.take_lost(place, seconds_since_boot())) {
      happen(Lost{launch, nodes_.at(place).why_lost});
      close_rendezvous(launch);
    }
  }

  bool is_seen_dead(const NodeTable::Node& node) const {
    return is_agent_dead(options_.directory, node.proof) ||
           (launcher_ && launcher_->has_ended_there(node.resources.name));
  }

  void tick() {
    const Seconds now = seconds_since_boot();
    const bool has_slept = ticked_at_ != 0 && now > ticked_at_ + oversleep_s;
    ticked_at_ = now;
    const bool renews = now >= renewed_at_ + options_.lease_s / renewals_in_lease;
    if (renews) renewed_at_ = now;
    if (now >= told_at_ + tell_period_s) {
      told_at_ = now;
      tell_of_strangers();
    }
    if (launcher_) launcher_->look();
    if (jobs_ != nullptr && !is_leaving_) carry_out_orders();
    for (std::size_t place = 0; place < nodes_.size(); ++place) {
      if (!connections_[place]) {
        look_at_lost(place);
        continue;
      }
      if (has_slept) nodes_.hear(place, now);
      if (nodes_.is_silent(place, now)) {
        lose(place, "nothing was heard of it for " +
                        std::to_string(static_cast<long>(options_.lease_s)) + " s");
        continue;
      }
      if (!renews) continue;
      connections_[place]->say(Renewed{nodes_.at(place).renewal});
      connections_[place]->flush();
    }
    if (launcher_ && !is_leaving_) look_at_awaited();
    next_tick_.expires_after(tick_period);
    next_tick_.async_wait([this](boost::system::error_code aborted) {
      if (!aborted) tick();
    });
  }

  void tell_of_strangers() {
    const std::uint64_t count = door_ ? door_->strangers() : 0;
    if (count == told_strangers_ || !has_started_) return;
    told_strangers_ = count;
    options_.notice(count_of(count, "connection") + " to the port for agents came to nothing");
  }

  void flush() override {
    for (const auto& connection : connections_) {
      if (connection) connection->flush();
    }
  }

  void begin_batch() override {
    for (const auto& connection : connections_) {
      if (connection) connection->begin_batch();
    }
  }

  AsioReactor& reactor_;
  const ClusterOptions options_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  boost::asio::steady_timer next_tick_;
  std::unique_ptr<AgentLauncher> launcher_;  ///< none: nothing has been started
  JobLauncher* jobs_ = nullptr;              ///< the same; null: it is another one
  std::optional<AgentStart> start_;
  AgentRestarts restarts_;
  NodeTable nodes_;
  std::vector<std::shared_ptr<Connection>> connections_;  ///< by place; none: it is lost
  Rendezvous rendezvous_;
  std::unordered_map<const Connection*, std::size_t> by_connection_;
  std::uint32_t attempts_ = 0;
  std::size_t numbered_ = 0;  ///< nodes that `start` has answered
  bool has_started_ = false;
  bool is_leaving_ = false;
  bool is_warned_ = false;  ///< that its machines will end it
  Seconds ticked_at_ = 0;   ///< since boot
  Seconds renewed_at_ = 0;  ///< the same
  Seconds told_at_ = 0;     ///< the same
  std::uint64_t told_strangers_ = 0;
  std::optional<AgentDoor> door_;
};

AgentExecutor::AgentExecutor(AsioReactor& reactor, ClusterOptions options)
    : impl_(std::make_unique<Impl>(reactor, std::move(options))) {}
AgentExecutor::~AgentExecutor() = default;

void AgentExecutor::leave(Seconds slurm_patience_s, const std::function<bool()>& is_given_up) {
  impl_->leave(slurm_patience_s, is_given_up);
}

std::vector<NodeResources> AgentExecutor::start(const std::function<bool()>& is_interrupted) {
  return impl_->start(is_interrupted);
}
std::vector<KeptLaunch> AgentExecutor::kept() const { return impl_->kept(); }
std::map<LaunchId, KeptLaunch> AgentExecutor::adopt(const std::set<LaunchId>& launches,
                                                    const std::function<bool()>& is_interrupted) {
  return impl_->adopt(launches, is_interrupted);
}
std::uint64_t AgentExecutor::strangers() const { return impl_->strangers(); }

void AgentExecutor::want(const NodeDemand& demand) { impl_->want(demand); }
std::string AgentExecutor::awaited() const { return impl_->awaited(); }
std::string AgentExecutor::exhausted() const { return impl_->exhausted(); }

void AgentExecutor::launch(LaunchId launch, LaunchSpec spec) {
  impl_->launch(launch, std::move(spec));
}
void AgentExecutor::send(LaunchId launch, const protocol::Command& command) {
  impl_->send(launch, command);
}
void AgentExecutor::signal(LaunchId launch, int signal) { impl_->signal(launch, signal); }

}  // namespace tune
