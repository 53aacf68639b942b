// A connection to the driver, an executor behind it, and the lease that ends both. When its driver
// dies it keeps what it runs for the next one, until the lease is over.
#include "tuner/cluster/agent.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <deque>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/cluster/connection.h"
#include "tuner/cluster/lease_watchdog.h"
#include "tuner/disk/liveness.h"
#include "tuner/execution/kept_launch.h"
#include "tuner/execution/local/detect_resources.h"
#include "tuner/execution/local/process_executor.h"
#include "tuner/process/orphans.h"
#include "tuner/process/system_clock.h"

namespace tune {

namespace {

namespace asio = boost::asio;

/// From the first packet to the driver's answer.
constexpr Seconds answer_patience_s = 20;
/// How often the lease is looked at.
constexpr Seconds look_s = 1;
/// The same while it has no driver, and how often it looks for another.
constexpr Seconds search_s = 0.1;
/// Programs that say more than the driver takes wait.
constexpr std::size_t most_unsent_bytes = std::size_t{8} << 20;
/// That the driver has not answered.
constexpr std::size_t most_renewals = 1'000;
/// For the end of what was killed, and for the last words.
constexpr Seconds end_patience_s = 5;
constexpr Seconds farewell_s = 2;

class Agent final : private Connection::Owner {
 public:
  Agent(AsioReactor& reactor, const AgentOptions& options)
      : reactor_(reactor),
        options_(options),
        meeting_(read_meeting(options.directory)),
        proof_(options.directory) {}

  ~Agent() {
    if (connection_) connection_->close();
  }

  AgentEnd run() {
    outlive_launcher();
    connect();
    deadline_ = seconds_since_boot() + answer_patience_s;
    while (!end_) turn();
    end_launches();
    say_farewell();
    return *end_;
  }

 private:
  Connection::Owner& owner() { return *this; }

  void connect() {
    boost::system::error_code error;
    const auto address = asio::ip::make_address(meeting_.address, error);
    if (error) throw user_error("the driver's address is none: " + meeting_.address);
    // Of an earlier connection nothing is under way: it is closed.
    tls_.emplace(TlsSide::agent, meeting_.secret);
    socket_.emplace(reactor_.context());
    is_connecting_ = true;
    socket_->async_connect({address, meeting_.port}, [this](boost::system::error_code failed) {
      is_connecting_ = false;
      if (failed && executor_) return;  // it looks again
      if (failed) return finish(AgentEnd::Kind::refused, cannot_reach(failed.message()));
      connection_ =
          std::make_shared<Connection>(std::move(*socket_), *tls_, TlsSide::agent, owner());
      connection_->id = {meeting_.session, 0};
      connection_->start();
    });
  }

  /// The next driver has another key and another port. One that lives, and has lost this agent,
  /// says so.
  void look_for_driver() {
    if (end_ || !executor_ || has_joined_) return;
    if (clock_->steady() < searched_at_ + search_s) return;
    searched_at_ = clock_->steady();
    try {
      const Meeting found = read_meeting(options_.directory);
      if (connection_ || is_connecting_) {
        // A host that is down does not answer, and would be waited for for minutes.
        if (found.session == meeting_.session) return;
        if (connection_) std::exchange(connection_, nullptr)->close();
        if (is_connecting_) socket_->close();
        return;
      }
      meeting_ = found;
      connect();
    } catch (const Error&) {
      // There is none yet, or the file system does not answer: the lease has an end.
    }
  }

  std::string cannot_reach(const std::string& why) const {
    return "host " + host_name() + " cannot reach the driver at " + meeting_.address + " port " +
           std::to_string(meeting_.port) + ": " + why;
  }

  void turn() {
    look_for_driver();
    if (connection_ && connection_->unsent_bytes() > most_unsent_bytes) {
      // What it runs has said its share, and says no more until the driver has heard it.
      reactor_.context().run_one_for(std::chrono::milliseconds(100));
      return look_at_lease();
    }
    wakeups_.clear();
    reactor_.wait(clock_->steady() + (executor_ && !has_joined_ ? search_s : look_s), wakeups_);
    for (Wakeup& wakeup : wakeups_) {
      std::visit([this](auto& what) { on(what); }, wakeup);
    }
    if (connection_) {
      connection_->begin_batch();
      connection_->flush();
    }
    look_at_lease();
  }

  template <class Event>
  void on(Event& event) {
    if constexpr (std::is_constructible_v<LaunchEvent, Event&&>) {
      if (ends_launch(event)) launches_.erase(event.launch);
      // How it ends what it runs is nothing that a trial did.
      if (end_) return;
      kept_.note(event);
      if (has_joined_) connection_->say(Happened{std::move(event)});
    }
  }
  template <class Event>
  static bool ends_launch(const Event&) {
    return std::is_same_v<Event, Exited> || std::is_same_v<Event, LaunchFailed>;
  }
  void on(Interrupted& interrupted) {
    const std::string name = "SIG" + std::string(sigabbrev_np(interrupted.signal));
    if (options_.is_warned_by_signal && has_joined_) {
      connection_->say(Warned{"node " + options_.node + " received " + name + " of Slurm"});
      return;
    }
    finish(AgentEnd::Kind::left, "the agent received " + name);
  }

  void on_open(Connection& connection) override {
    joined_at_ = seconds_since_boot();
    const DetectedResources found = detect_resources();
    connection.say(Join{.version = options_.version,
                        .node = {options_.node, found.totals(), found.gpus},
                        .file = proof_.file(),
                        .proof = proof_.text(),
                        .is_back = executor_.has_value()});
  }

  void on_frame(Connection&, const Frame& frame) override {
    // Of what has waited while this machine was frozen nothing is true any more.
    look_at_lease();
    if (end_) return;
    Message message = parse_message(frame.message);
    std::visit([this](auto& what) { hear(what); }, message);
    reactor_.wake();
  }

  void on_end(Connection&, const std::string& reason) override {
    if (executor_) {
      // It may have died: the next one goes on with what runs here.
      connection_.reset();
      has_joined_ = false;
      reactor_.wake();
    } else {
      finish(AgentEnd::Kind::refused,
             "the driver at " + meeting_.address + " port " + std::to_string(meeting_.port) +
                 " does not let the agent of host " + host_name() + " in: " + reason);
    }
  }

  void hear(const Welcome& welcome) {
    if (has_joined_) throw WireError("a second welcome");
    const bool is_back = executor_.has_value();
    if (!is_back) executor_.emplace(reactor_);
    has_joined_ = true;
    said_ = 0;
    said_at_ = {joined_at_};
    lease_s_ = welcome.lease_s;
    extend_lease();
    connection_->id.attempt = welcome.attempt;
    connection_->expect_large();
    if (!is_back) return;
    // What happens from now on is said behind it.
    for (KeptLaunch& each : kept_.all(seconds_since_boot())) connection_->say(std::move(each));
    connection_->say(HandedOver{});
  }
  void hear(const TurnedAway& away) {
    finish(executor_ ? AgentEnd::Kind::lost : AgentEnd::Kind::refused, away.reason);
  }
  void hear(Launch& launch) {
    Executor& executor = joined();
    if (!launches_.insert(launch.launch).second) throw WireError("a launch for the second time");
    mark(launch.spec);
    kept_.launch(launch.launch, launch.spec);
    executor.launch(launch.launch, std::move(launch.spec));
  }
  void hear(const Told& told) {
    Executor& executor = joined();
    try {
      const protocol::Command command = protocol::parse_command(told.line);
      kept_.send(told.launch, command, seconds_since_boot());
      executor.send(told.launch, command);
    } catch (const std::invalid_argument& error) {
      // One trial's, as where there is no wire.
      connection_->say(
          Happened{Faulted{told.launch, std::string("cannot tell it: ") + error.what()}});
    }
  }
  void hear(const Signalled& signalled) {
    Executor& executor = joined();
    kept_.signal(signalled.launch);
    executor.signal(signalled.launch, signalled.signal);
  }
  void hear(const Renewed& renewed) {
    joined();
    const std::uint64_t first = said_ - (said_at_.size() - 1);
    if (renewed.number < first || renewed.number > said_) throw WireError("a renewal of nothing");
    said_at_.erase(said_at_.begin(),
                   said_at_.begin() + static_cast<std::ptrdiff_t>(renewed.number - first));
    extend_lease();
    if (said_at_.size() > most_renewals) return;
    said_at_.push_back(seconds_since_boot());
    connection_->say(Renewal{++said_});
  }
  void hear(const Leave&) { finish(AgentEnd::Kind::released, ""); }
  template <class Other>
  void hear(const Other&) {
    throw WireError("an agent's message, from the driver");
  }

  Executor& joined() {
    if (!has_joined_) throw WireError("a message before the welcome");
    return *executor_;
  }

  void extend_lease() {
    deadline_ = said_at_.front() + lease_s_;
    watchdog_.set_deadline(deadline_);
  }

  void look_at_lease() {
    if (end_ || seconds_since_boot() < deadline_) return;
    if (executor_) {
      finish(AgentEnd::Kind::lost, "nothing was heard of the driver for " +
                                       std::to_string(static_cast<long>(lease_s_)) +
                                       " s: what ran on host " + host_name() + " was ended");
    } else {
      finish(AgentEnd::Kind::refused, cannot_reach("no answer"));
    }
  }

  /// What started it ends with the driver, and it does not.
  static void outlive_launcher() { (void)::prctl(PR_SET_PDEATHSIG, 0); }

  /// It is this process that launches, and by whose end it is an orphan: not a driver's, after
  /// which it may go on.
  static void mark(LaunchSpec& spec) {
    const std::string name = protocol::env_session + std::string("=");
    for (std::string& variable : spec.environment) {
      if (!variable.starts_with(name)) continue;
      auto session = parse_session_mark(std::string_view(variable).substr(name.size()));
      if (!session) continue;
      session->driver = this_identity();
      variable = name + to_text(*session);
    }
  }

  void finish(AgentEnd::Kind kind, std::string reason) {
    if (!end_) end_ = AgentEnd{kind, std::move(reason)};
    reactor_.wake();
  }

  /// What ran here has ended before the driver is told so: it starts it elsewhere then. What does
  /// not die is stuck in the kernel, and has to be left to itself.
  void end_launches() {
    watchdog_.set_deadline(seconds_since_boot() + end_patience_s + farewell_s);
    for (const LaunchId launch : launches_) executor_->signal(launch, SIGKILL);
    wait_while(end_patience_s, [this] { return !launches_.empty(); });
  }

  void say_farewell() {
    if (!connection_ || connection_->is_closed() || !has_joined_ || !launches_.empty()) return;
    connection_->say(Left{end_->reason});
    connection_->flush();
    // The driver closes the connection once it has heard that.
    wait_while(farewell_s, [this] {
      return connection_ && connection_->has_unsent() && !connection_->is_closed();
    });
  }

  template <class Condition>
  void wait_while(Seconds patience_s, const Condition& holds) {
    const Seconds until = clock_->steady() + patience_s;
    while (holds() && clock_->steady() < until) {
      wakeups_.clear();
      reactor_.wait(until, wakeups_);
      for (Wakeup& wakeup : wakeups_) {
        std::visit([this](auto& what) { on(what); }, wakeup);
      }
    }
  }

  AsioReactor& reactor_;
  const AgentOptions& options_;
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  Meeting meeting_;
  std::optional<Tls> tls_;
  const Proof proof_;
  std::optional<asio::ip::tcp::socket> socket_;
  std::shared_ptr<Connection> connection_;
  LeaseWatchdog watchdog_;  ///< forks, so before the executor's threads
  std::optional<ProcessExecutor> executor_;
  std::set<LaunchId> launches_;  ///< that have not ended
  KeptLaunches kept_;
  std::vector<Wakeup> wakeups_;
  bool has_joined_ = false;  ///< by the connection that there is
  bool is_connecting_ = false;
  Seconds searched_at_ = 0;  ///< steady
  Seconds joined_at_ = 0;    ///< since boot; its Join was said
  std::uint64_t said_ = 0;   ///< renewals; the Join stands for one with the number 0
  /// When they were said, since boot: the last one that the driver has heard, and all later ones.
  std::deque<Seconds> said_at_;
  Seconds lease_s_ = 0;
  Seconds deadline_ = 0;  ///< since boot; the end of the lease, or of the patience before it
  std::optional<AgentEnd> end_;
};

}  // namespace

AgentEnd run_agent(AsioReactor& reactor, const AgentOptions& options) {
  return Agent(reactor, options).run();
}

}  // namespace tune
