// Nodes, what runs on each, and when what ran there has ended for sure.
#include "tuner/cluster/agent_executor.h"

#include <algorithm>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cmath>
#include <csignal>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/cluster/agent_door.h"
#include "tuner/cluster/host_launcher.h"
#include "tuner/cluster/slurm_launcher.h"
#include "tuner/disk/liveness.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds tick_period{100};
/// An agent's lease is renewed so often while it lasts.
constexpr int renewals_in_lease = 6;
/// From the launcher's start to the agent's Join.
constexpr Seconds join_patience_s = 60;
/// A driver that has slept so long has not listened; that is nobody's silence.
constexpr Seconds oversleep_s = 2;
/// From one word about strangers to the next.
constexpr Seconds tell_period_s = 60;
/// For agents to leave, at the end.
constexpr Seconds leave_patience_s = 10;
/// The same, where nobody has said how long that may take: before a driver that is to be gone is
/// killed for it (watchdog.h).
constexpr Seconds brief_patience_s = 4;
/// What at the end is waited for longer is said.
constexpr Seconds worth_telling_s = 1;
/// For what is killed to be gone.
constexpr Seconds kill_patience_s = 60;
/// Agents that live come back sooner.
constexpr Seconds usual_return_s = 1;

}  // namespace

class AgentExecutor::Impl final : private AsioReactor::Client, private Connection::Owner {
 public:
  Impl(AsioReactor& reactor, ClusterOptions options)
      : reactor_(reactor), options_(std::move(options)), next_tick_(reactor.context()) {
    make_cluster_directory(options_.directory);
    agents_left_ = agents_left(options_.directory);
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
    for (const auto& node : nodes_) {
      if (node->connection) node->connection->close();
    }
    tell_of_strangers();
  }

  void leave(Seconds slurm_patience_s, const std::function<bool()>& is_given_up) {
    if (std::exchange(is_leaving_, true)) return;
    for (const auto& node : nodes_) {
      if (!node->connection) continue;
      if (node->kept.empty() && !node->is_handing_over) {
        node->connection->say(Leave{});
      } else {
        // The run has not begun: what runs there may go on under the next driver.
        by_connection_.erase(node->connection.get());
        std::exchange(node->connection, nullptr)->close();
      }
    }
    flush();
    JobLauncher* const jobs = has_started_ ? jobs_ : nullptr;
    if (jobs != nullptr) jobs->end();
    const Seconds since = seconds_since_boot();
    const Seconds agents_until = since + leave_patience_s;
    wait_while([this] { return any_talks(); }, agents_until, is_given_up);
    if (jobs != nullptr) {
      if (any_talks()) jobs->end_rest();
      wait_for_slurm(*jobs, since + slurm_patience_s, is_given_up);
    } else if (launcher_ && jobs_ == nullptr) {
      wait_while([this] { return launcher_->is_running(); }, agents_until, is_given_up);
    }
  }

  std::vector<NodeResources> start(const std::function<bool()>& is_interrupted) {
    launcher_ = make_launcher();
    wait_for_agents_left(is_interrupted);
    std::vector<std::string> missing = options_.hosts;
    std::erase_if(missing, [this](const std::string& host) { return find(host) != nullptr; });
    if (!missing.empty()) launcher_->start(missing);
    const Seconds until = seconds_since_boot() + join_patience_s;
    while (!all_have_joined() || is_any_handing_over()) {
      wait_a_bit(is_interrupted);
      look_at_start(until);
    }
    // Not as they happened to come.
    std::stable_sort(nodes_.begin(), nodes_.end(), [this](const auto& a, const auto& b) {
      return rank_of(a->resources.name) < rank_of(b->resources.name);
    });
    std::vector<NodeResources> nodes;
    for (const auto& node : nodes_) {
      by_connection_[node->connection.get()] = nodes.size();
      nodes.push_back(node->resources);
    }
    numbered_ = nodes.size();
    has_started_ = kept().empty();
    return nodes;
  }

  std::vector<KeptLaunch> kept() const {
    std::vector<KeptLaunch> kept;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const auto& [launch, each] : nodes_[i]->kept) {
        kept.push_back(each);
        kept.back().spec.node = static_cast<int>(i);
      }
    }
    return kept;
  }

  std::map<LaunchId, KeptLaunch> adopt(const std::set<LaunchId>& launches,
                                       const std::function<bool()>& is_interrupted) {
    std::map<LaunchId, KeptLaunch> adopted;
    if (has_started_) return adopted;  // nothing is kept
    std::vector<std::pair<const Node*, LaunchId>> ending;
    for (const auto& node : nodes_) {
      for (const auto& [launch, each] : node->kept) {
        if (each.has_ended || launches.contains(launch)) continue;
        ending.emplace_back(node.get(), launch);
        if (!node->connection) continue;
        node->connection->say(Signalled{launch, SIGKILL});
        node->connection->flush();
      }
    }
    const Seconds until = seconds_since_boot() +
                          std::max(kill_patience_s, options_.lease_s + options_.after_lease_s + 1);
    const auto has_ended = [this](const auto& each) {
      const auto& [node, launch] = each;
      return node->kept.at(launch).has_ended || (!node->connection && is_over(*node));
    };
    while (!std::all_of(ending.begin(), ending.end(), has_ended)) {
      if (seconds_since_boot() > until) {
        throw machine_error("processes of an earlier driver's trials do not end, killed or not");
      }
      wait_a_bit(is_interrupted);
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = *nodes_[i];
      for (auto& [launch, each] : std::exchange(node.kept, {})) {
        if (!launches.contains(launch)) continue;
        if (!each.has_ended) {
          node.launches.insert(launch);
          places_.emplace(launch, i);
        }
        adopted.emplace(launch, std::move(each));
      }
      // What has happened to nodes meanwhile nobody has heard.
      if (i >= numbered_) reactor_.happened().emplace_back(NodeJoined{node.resources});
      if (node.connection) continue;
      reactor_.happened().emplace_back(NodeLost{static_cast<int>(i), node.why_lost});
    }
    has_started_ = true;
    return adopted;
  }

  std::uint64_t strangers() const { return door_->strangers(); }

  void want(const NodeDemand& demand) {
    std::vector<JobLauncher::NodeUse> uses;
    for (std::size_t i = 0; i < std::min(demand.running.size(), nodes_.size()); ++i) {
      if (!nodes_[i]->connection) continue;
      uses.push_back({nodes_[i]->resources.name, demand.running[i], demand.is_given_up[i]});
    }
    if (jobs_ != nullptr) jobs_->want(demand, uses);
  }
  std::string awaited() const { return jobs_ == nullptr ? "" : jobs_->awaited(); }
  std::string exhausted() const {
    return jobs_ == nullptr ? "no node is left that trials could run on" : jobs_->exhausted();
  }

  void launch(LaunchId launch, LaunchSpec spec) {
    const auto place = static_cast<std::size_t>(spec.node);
    Node& node = *nodes_.at(place);
    // As it is seen from here.
    if (!spec.argv.empty() && spec.argv[0].find('/') != std::string::npos) {
      spec.argv[0] = std::filesystem::absolute(spec.argv[0]);
    }
    if (!node.connection) {
      reactor_.happened().emplace_back(Lost{launch, node.why_lost});
      return;
    }
    if (spec.rank && spec.rank->first && !add_port(launch, spec)) return;
    try {
      node.connection->say(Launch{launch, std::move(spec)});
    } catch (const WireError& error) {
      reactor_.happened().emplace_back(LaunchFailed{launch, error.what(), true});
      return;
    }
    node.launches.insert(launch);
    places_.emplace(launch, place);
  }

  /// What would be told to a rank that waits for its port is not: it has not said hello.
  void send(LaunchId launch, const protocol::Command& command) {
    Connection* const connection = connection_of(launch);
    if (connection == nullptr) return;
    try {
      connection->say(Told{launch, protocol::format(command)});
    } catch (const std::exception& error) {
      reactor_.happened().emplace_back(
          Faulted{launch, std::string("cannot tell it: ") + error.what()});
    }
  }

  void signal(LaunchId launch, int signal) {
    if (Connection* const connection = connection_of(launch)) {
      connection->say(Signalled{launch, signal});
      return;
    }
    for (auto& [first, ranks] : waiting_for_port_) {
      if (std::erase_if(ranks, [&](const auto& each) { return each.first == launch; }) == 0) {
        continue;
      }
      reactor_.happened().emplace_back(Exited{.launch = launch, .signal = signal});
    }
  }

 private:
  struct Node {
    NodeResources resources;
    std::shared_ptr<Connection> connection;  ///< none: it is lost
    Seconds heard_at = 0;                    ///< since boot
    std::uint64_t renewal = 0;               ///< the last one that was heard
    std::string proof;                       ///< its agent's file
    std::set<LaunchId> launches;             ///< that have not ended
    /// Of a driver before, until they are adopted: nothing of them is an event yet.
    std::map<LaunchId, KeptLaunch> kept;
    bool is_handing_over = false;
    std::string why_lost;   ///< a phrase
    std::string dismissed;  ///< it was told to leave, since; a phrase
    /// Its agent has ended by itself and so has all that it ran.
    bool has_ended = false;
  };

  /// A node that is lost and may come back.
  struct Awaited {
    std::size_t place = 0;
    std::optional<Seconds> until = {};  ///< since boot; none: its agent has not been started yet
  };

  /// Ranks of one trial meet at a port of rank 0's node, which its agent reserves and says. False:
  /// `launch` waits for that, or has failed.
  bool add_port(LaunchId launch, LaunchSpec& spec) {
    const LaunchId first = *spec.rank->first;
    const auto place = places_.find(first);
    if (place == places_.end()) {
      fail_without_first(launch);
      return false;
    }
    constexpr std::string_view variable = "MASTER_PORT=";
    const auto is_it = [&](const std::string& text) { return text.starts_with(variable); };
    // The user's.
    const bool is_given = std::any_of(spec.environment.begin(), spec.environment.end(), is_it);
    if (is_given || place->second == static_cast<std::size_t>(spec.node)) return true;
    const auto port = ports_.find(first);
    if (port == ports_.end()) {
      waiting_for_port_[first].emplace_back(launch, std::move(spec));
      return false;
    }
    spec.own_environment.push_back(std::string(variable) + std::to_string(port->second));
    return true;
  }

  void fail_without_first(LaunchId launch) {
    reactor_.happened().emplace_back(
        LaunchFailed{launch, "its rank 0 was gone before it could be started"});
  }

  void note_port(const Launched& launched) {
    if (launched.port != 0) ports_.emplace(launched.launch, launched.port);
    const auto waiting = waiting_for_port_.extract(launched.launch);
    if (waiting.empty()) return;
    for (auto& [rank, spec] : waiting.mapped()) launch(rank, std::move(spec));
  }

  /// Of one that has ended.
  void forget_port(LaunchId first) {
    ports_.erase(first);
    const auto waiting = waiting_for_port_.extract(first);
    if (waiting.empty()) return;
    for (const auto& [rank, spec] : waiting.mapped()) fail_without_first(rank);
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

  /// Those of a driver before that has died come back with what they run, or end it, at the latest
  /// after their lease: what runs there is not started once more before.
  void wait_for_agents_left(const std::function<bool()>& is_interrupted) {
    if (agents_left_.empty()) return;
    const Seconds patience_s = options_.lease_s + options_.after_lease_s;
    const Seconds since = seconds_since_boot();
    bool is_told = false;
    while (!agents_left_.empty() && seconds_since_boot() < since + patience_s) {
      wait_a_bit(is_interrupted);
      const auto there = agents_left(options_.directory);
      std::erase_if(agents_left_, [&](const std::string& file) {
        return std::find(there.begin(), there.end(), file) == there.end() || is_back(file);
      });
      if (agents_left_.empty() || is_told || seconds_since_boot() < since + usual_return_s)
        continue;
      is_told = true;
      options_.notice("agents of an earlier driver may run yet: they have " +
                      std::to_string(std::lround(patience_s)) +
                      " s to come back, or to end what they run");
    }
    for (const std::string& file : agents_left_) {
      std::error_code ignored;
      std::filesystem::remove(cluster_directory(options_.directory) / file, ignored);
    }
  }

  std::unique_ptr<AgentLauncher> make_launcher() {
    std::vector<std::string> agent = {options_.program, "agent", options_.directory.native()};
    if (options_.jobs) {
      auto launcher =
          std::make_unique<JobLauncher>(JobLauncher::Options{.directory = options_.directory,
                                                             .jobs = *options_.jobs,
                                                             .agent = std::move(agent),
                                                             .notice = options_.notice});
      jobs_ = launcher.get();
      return launcher;
    }
    if (options_.slurm) {
      return std::make_unique<SlurmLauncher>(SlurmLauncher::Options{.directory = options_.directory,
                                                                    .job = *options_.slurm,
                                                                    .agent = std::move(agent),
                                                                    .groups = options_.groups});
    }
    return std::make_unique<HostLauncher>(HostLauncher::Options{.directory = options_.directory,
                                                                .launcher = options_.launcher,
                                                                .agent = std::move(agent),
                                                                .groups = options_.groups});
  }

  /// The agent of that file has joined, and said all that it has kept.
  bool is_back(const std::string& file) const {
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
      return node->proof == file && node->connection && !node->is_handing_over;
    });
  }

  bool is_any_handing_over() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const auto& node) { return node->connection && node->is_handing_over; });
  }

  std::size_t rank_of(const std::string& host) const {
    const auto found = std::find(options_.hosts.begin(), options_.hosts.end(), host);
    return static_cast<std::size_t>(found - options_.hosts.begin());
  }

  bool all_have_joined() const {
    return std::all_of(options_.hosts.begin(), options_.hosts.end(),
                       [this](const std::string& host) { return find(host) != nullptr; });
  }

  void look_at_start(Seconds until) {
    launcher_->look();
    for (const std::string& host : options_.hosts) {
      const auto refused = refused_.find(host);
      if (refused != refused_.end()) throw user_error(refused->second);
      if (find(host) != nullptr) continue;
      if (const auto ending = launcher_->ending(host)) {
        throw user_error("there is no agent on node " + host + ": its launcher has ended with " +
                         *ending + (unnamed_.empty() ? "" : "; " + unnamed_));
      }
      if (seconds_since_boot() > until) {
        throw user_error(
            "no agent of node " + host + " has reached the driver at " + options_.bind +
            " within " + std::to_string(static_cast<long>(join_patience_s)) +
            " s: can that node reach this address (--bind)?" + launcher_->last_words(host));
      }
    }
    for (const auto& node : nodes_) {
      if (!node->connection) throw user_error(node->why_lost);
    }
  }

  /// One that is there, or whose trials may run yet.
  const Node* find(const std::string& name) const {
    for (const auto& node : nodes_) {
      const bool counts = node->connection || !node->launches.empty();
      if (node->resources.name == name && counts) return node.get();
    }
    return nullptr;
  }

  std::string admit(const std::shared_ptr<Connection>& connection, const Join& join) {
    const std::string& name = join.node.name;
    if (is_leaving_) return "the run is over";
    if (has_started_ && join.is_back) {
      return "it is too late to come back: what ran on node " + name + " is lost";
    }
    if (const Node* const other = find(name)) {
      return other->connection ? "node " + name + " has an agent already"
                               : "what ran on node " + name + " under its last agent may run yet";
    }
    auto node = std::make_unique<Node>();
    try {
      node->resources = with_given(join.node);
    } catch (const Error& error) {
      return error.what();
    }
    node->resources.address = connection->peer_address();
    node->connection = connection;
    node->proof = join.file;
    node->is_handing_over = join.is_back;
    node->heard_at = seconds_since_boot();
    connection->hand_over(*this);
    connection->expect_large();
    connection->say(Welcome{options_.lease_s, ++attempts_});
    connection->id.attempt = attempts_;
    connection->flush();
    by_connection_[connection.get()] = nodes_.size();
    if (has_started_) {
      const auto awaited = awaited_.find(name);
      const bool comes_back = awaited != awaited_.end();
      const auto before =
          comes_back ? std::optional(static_cast<int>(awaited->second.place)) : std::nullopt;
      if (comes_back) awaited_.erase(awaited);
      reactor_.happened().emplace_back(NodeJoined{node->resources, before});
    }
    if (jobs_ != nullptr) jobs_->joined(node->resources);
    nodes_.push_back(std::move(node));
    reactor_.wake();
    return "";
  }

  NodeResources with_given(NodeResources node) const {
    const std::size_t found = node.gpus.size();
    for (const auto& [name, amount] : options_.resources) node.totals[name] = amount;
    const std::size_t devices = node.device_count();
    if (found > 0 && devices > found) {
      throw user_error(std::to_string(devices) + " gpus are given in resources, but node " +
                       node.name + " has only " + std::to_string(found));
    }
    for (std::size_t i = node.gpus.size(); i < devices; ++i) node.gpus.push_back(std::to_string(i));
    node.gpus.resize(devices);
    return node;
  }

  void on_refused(const std::string& node, const std::string& reason) {
    if (has_started_) return options_.notice("an agent could not join: " + reason);
    // Of another version nobody knows more than that.
    (node.empty() ? unnamed_ : refused_[node]) = reason;
    reactor_.wake();
  }

  void on_open(Connection&) override {}

  void on_frame(Connection& connection, const Frame& frame) override {
    const std::size_t place = place_of(connection);
    Node& node = *nodes_[place];
    node.heard_at = seconds_since_boot();
    Message message = parse_message(frame.message);
    if (auto* const happened = std::get_if<Happened>(&message)) {
      std::visit([&](auto& event) { on(node, event); }, happened->event);
    } else if (auto* const kept = std::get_if<KeptLaunch>(&message)) {
      if (!node.is_handing_over) throw WireError("a launch that was kept, of nobody who is back");
      const LaunchId launch = kept->launch;
      node.kept.insert_or_assign(launch, std::move(*kept));
    } else if (std::holds_alternative<HandedOver>(message)) {
      node.is_handing_over = false;
      reactor_.wake();
    } else if (const auto* const left = std::get_if<Left>(&message)) {
      node.has_ended = true;
      lose(place, left->reason);
    } else if (const auto* const renewal = std::get_if<Renewal>(&message)) {
      if (renewal->number != node.renewal + 1) throw WireError("a renewal out of its order");
      node.renewal = renewal->number;
    } else if (const auto* const warned = std::get_if<Warned>(&message)) {
      on_warning(node, warned->reason);
    } else {
      throw WireError("a driver's message, from an agent");
    }
  }

  /// All agents of a job are warned, and each may be more than once.
  void on_warning(const Node& node, const std::string& reason) {
    if (jobs_ != nullptr) return jobs_->warned(node.resources.name);
    if (std::exchange(is_warned_, true)) return;
    options_.notice(reason);
    reactor_.happened().emplace_back(Interrupted{SIGTERM});
  }

  template <class Event>
  void on(Node& node, Event& event) {
    if (const auto kept = node.kept.find(event.launch); kept != node.kept.end()) {
      return note(kept->second, event);
    }
    if (!node.launches.contains(event.launch)) return;  // it knows no such launch any more
    if constexpr (std::is_same_v<Event, Launched>) note_port(event);
    if constexpr (std::is_same_v<Event, Exited> || std::is_same_v<Event, LaunchFailed>) {
      forget(node, event.launch);
    }
    reactor_.happened().emplace_back(std::move(event));
  }

  void forget(Node& node, LaunchId launch) {
    node.launches.erase(launch);
    places_.erase(launch);
    forget_port(launch);
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
    const auto found = places_.find(launch);
    return found == places_.end() ? nullptr : nodes_[found->second]->connection.get();
  }

  void lose(std::size_t place, const std::string& reason) {
    Node& node = *nodes_[place];
    if (!node.connection) return;
    node.is_handing_over = false;
    by_connection_.erase(node.connection.get());
    std::exchange(node.connection, nullptr)->close();
    const bool is_planned = !node.dismissed.empty();
    const std::string& name = node.resources.name;
    node.why_lost =
        "node " + name + (is_planned ? " has left: " + node.dismissed : " is lost: " + reason);
    if (jobs_ != nullptr) jobs_->lost(name);
    if (!is_leaving_) {
      const bool is_awaited = has_started_ && launcher_->can_start_again(name);
      if (is_awaited) awaited_.insert_or_assign(name, Awaited{place});
      reactor_.happened().emplace_back(
          NodeLost{static_cast<int>(place), node.why_lost, is_awaited, is_planned});
    }
    look_at_lost(node);
  }

  /// An agent that has died alone is started once more, when nothing of it can run any more. Where
  /// none comes its node is out.
  void look_at_awaited() {
    for (auto each = awaited_.begin(); each != awaited_.end();) {
      auto& [name, awaited] = *each;
      std::string reason;
      if (!awaited.until && nodes_[awaited.place]->launches.empty()) {
        awaited.until = seconds_since_boot() + join_patience_s;
        try {
          launcher_->start_again(name);
        } catch (const Error& error) {
          reason = error.what();
        }
      } else if (awaited.until) {
        const auto ending = launcher_->ending(name);
        if (ending) reason = "what was to start its agent has ended with " + *ending;
        if (!ending && seconds_since_boot() > *awaited.until)
          reason = "no agent has come from there";
      }
      if (reason.empty()) {
        ++each;
        continue;
      }
      reactor_.happened().emplace_back(NodeLost{static_cast<int>(awaited.place),
                                                "node " + name + " does not come back: " + reason});
      each = awaited_.erase(each);
    }
  }

  /// What is to become of nodes that are jobs of their own.
  void carry_out_orders() {
    for (JobLauncher::Order& order : jobs_->take_orders()) {
      const auto found = std::find_if(nodes_.begin(), nodes_.end(), [&](const auto& node) {
        return node->connection && node->resources.name == order.node;
      });
      if (found == nodes_.end()) continue;
      Node& node = **found;
      if (order.what == JobOrder::leave) {
        node.dismissed = std::move(order.reason);
        node.connection->say(Leave{});
        node.connection->flush();
        continue;
      }
      reactor_.happened().emplace_back(NodeEnding{static_cast<int>(found - nodes_.begin()),
                                                  std::move(order.reason),
                                                  order.what == JobOrder::hurry});
      reactor_.wake();
    }
  }

  void look_at_lost(Node& node) {
    if (node.launches.empty()) return;
    if (!is_over(node)) return;
    for (const LaunchId launch : std::exchange(node.launches, {})) {
      places_.erase(launch);
      reactor_.happened().emplace_back(Lost{launch, node.why_lost});
      forget_port(launch);
    }
  }

  /// What ran on a node that is lost has ended, or must have by its agent's lease.
  bool is_over(const Node& node) const {
    const bool was_seen_to_end = node.has_ended || is_agent_dead(options_.directory, node.proof) ||
                                 (launcher_ && launcher_->has_ended_there(node.resources.name));
    return was_seen_to_end ||
           seconds_since_boot() >= node.heard_at + options_.lease_s + options_.after_lease_s;
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
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      Node& node = *nodes_[i];
      if (!node.connection) {
        look_at_lost(node);
        continue;
      }
      if (has_slept) node.heard_at = now;
      if (now > node.heard_at + options_.lease_s) {
        lose(i, "nothing was heard of it for " +
                    std::to_string(static_cast<long>(options_.lease_s)) + " s");
        continue;
      }
      if (!renews) continue;
      node.connection->say(Renewed{node.renewal});
      node.connection->flush();
    }
    if (!is_leaving_) look_at_awaited();
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

  bool any_talks() const {
    return std::any_of(nodes_.begin(), nodes_.end(),
                       [](const auto& node) { return node->connection != nullptr; });
  }

  /// At the end.
  template <class Holds>
  void wait_while(const Holds& holds, Seconds until, const std::function<bool()>& is_given_up) {
    while (holds() && seconds_since_boot() < until && !is_given_up()) {
      reactor_.context().run_one_for(tick_period);
    }
  }

  /// Which may not answer. What it has not ended by then is said, and stays in the list.
  void wait_for_slurm(JobLauncher& jobs, Seconds until, const std::function<bool()>& is_given_up) {
    try {
      const auto is_running = [&] { return jobs.is_running(); };
      wait_while(is_running, seconds_since_boot() + worth_telling_s, is_given_up);
      if (is_running()) {
        const std::string awaited = "waiting until " + jobs.awaited_at_end();
        const auto doing = reactor_.be_busy_with(awaited.c_str());
        options_.notice(awaited + ", at most " +
                        std::to_string(std::lround(until - seconds_since_boot())) + " s");
        wait_while(is_running, until, is_given_up);
      }
      launcher_->look();
      jobs.tell_what_is_left();
    } catch (const Error& error) {
      options_.notice(error.what());
    }
  }

  void flush() override {
    for (const auto& node : nodes_) {
      if (node->connection) node->connection->flush();
    }
  }

  void begin_batch() override {
    for (const auto& node : nodes_) {
      if (node->connection) node->connection->begin_batch();
    }
  }

  AsioReactor& reactor_;
  const ClusterOptions options_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  asio::steady_timer next_tick_;
  std::unique_ptr<AgentLauncher> launcher_;   ///< none: nothing has been started
  JobLauncher* jobs_ = nullptr;               ///< the same; null: it is another one
  std::map<std::string, Awaited> awaited_;    ///< by name
  std::vector<std::unique_ptr<Node>> nodes_;  ///< as Allocation numbers them
  std::unordered_map<LaunchId, std::size_t> places_;
  std::unordered_map<LaunchId, std::uint16_t> ports_;  ///< of ranks 0, where theirs meet
  /// By rank 0: what is launched on other nodes once its port is known.
  std::map<LaunchId, std::vector<std::pair<LaunchId, LaunchSpec>>> waiting_for_port_;
  std::unordered_map<const Connection*, std::size_t> by_connection_;
  std::map<std::string, std::string> refused_;  ///< by node, why; before the start
  std::string unnamed_;                         ///< the same, of one that nobody knows
  std::vector<std::string> agents_left_;        ///< by earlier drivers: their files
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

std::string address_towards(const std::vector<std::string>& hosts) {
  asio::io_context context;
  asio::ip::udp::resolver resolver(context);
  for (const std::string& host : hosts) {
    // "user@host", as ssh has it.
    const std::string name = host.substr(host.find('@') == host.npos ? 0 : host.find('@') + 1);
    boost::system::error_code error;
    const auto found = resolver.resolve(name, "9", error);
    if (error || found.empty()) continue;
    asio::ip::udp::socket socket(context);
    const auto endpoint = found.begin()->endpoint();
    (void)socket.open(endpoint.protocol(), error);
    if (!error) (void)socket.connect(endpoint, error);  // sends nothing
    if (error) continue;
    const auto local = socket.local_endpoint(error);
    if (!error) return local.address().to_string();
  }
  return "127.0.0.1";
}

}  // namespace tune
