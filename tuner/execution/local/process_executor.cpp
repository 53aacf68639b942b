// Puts the launcher, the children and the watch of checkpoints on the reactor.
// Knows launches, not what a trial is.
#include "tuner/execution/local/process_executor.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <iterator>
#include <optional>
#include <thread>
#include <unordered_map>

#include "tuner/base/error.h"
#include "tuner/execution/local/child.h"
#include "tuner/process/launcher.h"
#include "tuner/process/memory_use.h"
#include "tuner/process/process_wide.h"
#include "tuner/process/reserved_port.h"
#include "tuner/process/watchdog.h"

namespace tune {
namespace {

namespace asio = boost::asio;

constexpr std::size_t block_bytes = 64 * 1024;
constexpr std::chrono::milliseconds look_period{250};

// At the end of the executor.
constexpr std::chrono::seconds last_patience{5};
constexpr std::chrono::milliseconds last_pause{50};

}  // namespace

class ProcessExecutor::Impl final : private AsioReactor::Client {
 public:
  explicit Impl(AsioReactor& reactor)
      : watchdog_(reactor.watchdog()), shared_(reactor), next_look_(shared_.context) {
    look_now_and_then();
    shared_.block.resize(block_bytes + MessageParser::padding_bytes);
    shared_.gone = [this](LaunchId launch) {
      look_at_port(launch);
      look_at_memory(launch);
      forget(launch);
    };
    launcher_ =
        std::make_unique<Launcher>(process_wide_.descriptors_before(), shared_.adopted.servers(),
                                   [this](LaunchId launch, LaunchOutcome outcome) {
                                     post_outcome(launch, std::move(outcome));
                                   });
    reactor.serve(*this);
  }

  ~Impl() {
    const ActivityTracker::Activity doing(activities(),
                                          "processes that were killed are waited for");
    for (const auto& [launch, state] : launches_) {
      if (state.child) state.child->close();
    }
    launcher_.reset();
    for (const auto& [launch, state] : launches_) shared_.adopted.ended(launch);
    wait_for_ends();
    watch_.reset();
  }

  void look_for_checkpoints() {
    if (watch_) return;
    const auto on_news = [this](LaunchId launch, std::vector<SavedFiles> found,
                                CheckpointWatch::News news) {
      asio::post(shared_.context, [this, launch, news, found = std::move(found)]() mutable {
        const auto state = launches_.find(launch);
        if (state == launches_.end() || !state->second.child) return;
        const auto child = state->second.child;  // its end may be what it hears
        child->find(std::move(found), news);
      });
    };
    watch_.emplace(on_news);
    shared_.watch = &*watch_;
  }

  void launch(LaunchId launch, LaunchSpec spec) {
    const auto [state, is_new] = launches_.try_emplace(launch);
    ensure(is_new, "a launch id is used once");
    state->second.launching.emplace(activities(), "a program is being started");
    state->second.memory_kills_before = out_of_memory_kills();
    if (spec.plain) {
      spec.knows_socket = false;
      state->second.plain = std::make_unique<PlainSession>(launch, *spec.plain, habits_,
                                                           spec.stdout_path, spec.stderr_path);
      if (spec.plain->checkpoints) {
        state->second.watched = {.what = std::move(*spec.plain->checkpoints),
                                 .stdout_path = spec.stdout_path,
                                 .stderr_path = spec.stderr_path,
                                 .begin = {},
                                 .group = 0,
                                 .logs = state->second.plain->logs()};
      }
    }
    const bool is_forked = spec.preload && !spec.preload->modules.empty();
    shared_.adopted.expect(launch, is_forked);
    state->second.may_preload = spec.preload && !is_forked;
    spec.own_environment.push_back(shared_.adopted.variable(launch));
    try {
      if (spec.rank) add_port(state->second, spec);
    } catch (const Error& error) {
      return on_launch_failed(launch, NotLaunched{error.what()});
    }
    launcher_->launch(launch, std::move(spec));
  }

  void send(LaunchId launch, const protocol::Command& command) {
    const auto it = launches_.find(launch);
    if (it == launches_.end()) return;
    auto& state = it->second;
    if (state.child && state.child->is_plain()) return state.child->handle(command);
    if (state.plain) {
      if (std::holds_alternative<protocol::Stop>(command)) state.early_signals.push_back(SIGTERM);
      return;
    }
    try {
      const std::string line = protocol::format(command);
      if (state.child) {
        state.child->queue(line);
      } else {
        state.early_lines.append(line);
      }
    } catch (const std::exception& error) {
      shared_.happened.emplace_back(
          Faulted{launch, std::string("cannot tell it: ") + error.what()});
      return;
    }
    if (state.child && !std::exchange(state.to_flush, true)) to_flush_.push_back(launch);
  }

  void signal(LaunchId launch, int signal) {
    const auto it = launches_.find(launch);
    if (it == launches_.end()) return;
    if (it->second.child) {
      it->second.child->flush();
      it->second.child->signal(signal);
    } else {
      it->second.early_signals.push_back(signal);
    }
  }

 private:
  struct LaunchState {
    std::shared_ptr<Child> child;  ///< none while the launcher has it
    std::optional<ActivityTracker::Activity> launching;
    std::unique_ptr<PlainSession> plain;  ///< until it runs
    /// The same: where a plain program saves.
    std::optional<CheckpointWatch::Watched> watched;
    std::string early_lines;         ///< sent before it ran
    std::vector<int> early_signals;  ///< the same
    std::uint64_t memory_kills_before = 0;
    bool may_preload = false;  ///< see Preload
    bool to_flush = false;     ///< it is in to_flush_
    bool is_ranked = false;
    pid_t leader = 0;  ///< once it runs
    std::uint64_t start_ticks = 0;
    std::optional<ReservedPort> port;  ///< of the first of several
  };

  /// Where the ranks of a trial meet. The socket is held, and not listened on, so that no other
  /// trial gets the same number, while the program may bind it as well (SO_REUSEADDR).
  void add_port(LaunchState& state, LaunchSpec& spec) {
    state.is_ranked = true;
    constexpr std::string_view variable = "MASTER_PORT=";
    const auto is_it = [&](const std::string& text) { return text.starts_with(variable); };
    if (std::any_of(spec.environment.begin(), spec.environment.end(), is_it)) return;
    if (std::any_of(spec.own_environment.begin(), spec.own_environment.end(), is_it)) return;
    const LaunchState* first = &state;
    if (spec.rank->first) {
      const auto found = launches_.find(*spec.rank->first);
      if (found == launches_.end() || !found->second.port) {
        throw machine_error("its rank 0 was gone before it could be started");
      }
      first = &found->second;
    } else {
      state.port = reserve_port();
    }
    spec.own_environment.push_back(std::string(variable) + std::to_string(first->port->number));
  }

  /// Of one that has exited, all of which is gone: who listens at its port then is a stranger.
  void look_at_port(LaunchId launch) {
    const auto found = launches_.find(launch);
    if (found == launches_.end() || !found->second.port || !is_taken(*found->second.port)) return;
    auto* const exited = std::get_if<Exited>(&shared_.happened.back());
    if (exited == nullptr) return;
    exited->obstacle = "port " + std::to_string(found->second.port->number) +
                       ", where its ranks were to meet, is another program's";
  }

  /// Of one that has exited. Whom the kernel has killed it does not say, and a program whose helper
  /// was killed exits with any code.
  void look_at_memory(LaunchId launch) {
    auto* const exited = std::get_if<Exited>(&shared_.happened.back());
    const auto found = launches_.find(launch);
    if (exited == nullptr || found == launches_.end()) return;
    if (exited->signal == 0 && exited->exit_code == 0) return;
    const std::uint64_t kills = out_of_memory_kills();
    exited->memory_kills = kills - std::min(kills, found->second.memory_kills_before);
  }

  ActivityTracker* activities() const {
    return watchdog_ != nullptr ? &watchdog_->activities() : nullptr;
  }

  void post_outcome(LaunchId launch, LaunchOutcome outcome) {
    const auto* const started = std::get_if<Spawned>(&outcome);
    if (watchdog_ != nullptr && started != nullptr) {
      watchdog_->groups().add(started->process.pid(), started->start_ticks);
    }
    asio::post(shared_.context, [this, launch, outcome = std::move(outcome)]() mutable {
      if (auto* spawned = std::get_if<Spawned>(&outcome)) {
        on_spawned(launch, std::move(*spawned));
      } else {
        on_launch_failed(launch, std::move(std::get<NotLaunched>(outcome)));
      }
    });
  }

  void on_spawned(LaunchId launch, Spawned spawned) {
    auto& state = launches_.at(launch);
    state.launching.reset();
    state.leader = spawned.process.pid();
    state.start_ticks = spawned.start_ticks;
    std::string remark = std::move(spawned.remark);
    try {
      if (state.plain) state.plain->begin(spawned.stdout_begin, spawned.stderr_begin);
      Child::Plain plain{.session = std::move(state.plain)};
      if (auto watched = std::exchange(state.watched, std::nullopt)) {
        plain.save_signal = watched->what.save_signal;
        plain.checkpoint_exit_code = watched->what.exit_code;
        plain.saves = true;
        plain.root = watched->what.root;
        plain.pattern = watched->what.pattern;
        watched->begin = {spawned.stdout_begin, spawned.stderr_begin};
        watched->group = spawned.process.pid();
        look_for_checkpoints();
        watch_->begin(launch, *std::move(watched));
      }
      state.child = std::make_shared<Child>(shared_, launch, std::move(spawned), std::move(plain));
    } catch (const std::exception& error) {
      return on_launch_failed(
          launch, NotLaunched{std::string("cannot watch the process: ") + error.what()});
    }
    const auto child = state.child;
    shared_.adopted.began(launch, child->pid());
    child->start(state.port ? state.port->number : std::uint16_t{0});
    if (state.may_preload) child->look_at_start();
    if (state.is_ranked) child->announce_end();
    if (!remark.empty()) {
      shared_.happened.emplace_back(
          LaunchAdvisory{launch, LaunchAdvisory::What::cold, std::move(remark)});
    }
    child->queue(std::exchange(state.early_lines, {}));
    child->flush();
    for (const int signal : std::exchange(state.early_signals, {})) child->signal(signal);
  }

  void forget(LaunchId launch) {
    const auto it = launches_.find(launch);
    if (it == launches_.end()) return;
    if (watchdog_ != nullptr) {
      watchdog_->groups().remove(it->second.leader, it->second.start_ticks);
    }
    launches_.erase(it);
  }

  void on_launch_failed(LaunchId launch, NotLaunched outcome) {
    forget(launch);
    shared_.adopted.forget(launch);
    shared_.happened.emplace_back(
        LaunchFailed{launch, std::move(outcome.reason), outcome.is_trials_fault});
  }

  /// For what dies while its launch lives. Not at each SIGCHLD: a handler would have every child's
  /// end interrupt calls of the program's other threads.
  void look_now_and_then() {
    next_look_.expires_after(look_period);
    next_look_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      if (!launches_.empty()) Child::settle_soon(shared_);
      look_now_and_then();
    });
  }

  /// Until all that was killed is gone; not for ever, since what is stuck in the kernel does not
  /// end.
  void wait_for_ends() {
    const auto until = std::chrono::steady_clock::now() + last_patience;
    for (auto pause = std::chrono::milliseconds(1);; pause = std::min(2 * pause, last_pause)) {
      bool all_gone = true;
      for (const auto& [launch, state] : launches_) {
        all_gone = (!state.child || state.child->is_gone()) && all_gone;
      }
      shared_.adopted.look();
      for (const auto& [launch, state] : launches_) {
        all_gone = all_gone && shared_.adopted.left_of(launch) != Subreaper::Left::some;
      }
      all_gone = all_gone && !shared_.adopted.is_left_of_servers();
      if (all_gone || std::chrono::steady_clock::now() >= until) break;
      std::this_thread::sleep_for(pause);
    }
    for (const auto& [launch, state] : launches_) {
      if (state.child) state.child->let_go();
    }
  }

  void flush() override {
    for (const LaunchId launch : to_flush_) {
      const auto it = launches_.find(launch);
      if (it == launches_.end()) continue;
      it->second.to_flush = false;
      it->second.child->flush();
    }
    to_flush_.clear();
  }

  void begin_batch() override {
    ++shared_.batch;
    for (const auto& child : std::exchange(shared_.paused, {})) child->resume();
  }

  Watchdog* const watchdog_;
  ProcessWide process_wide_;
  ChildrenShared shared_;
  asio::steady_timer next_look_;
  std::unordered_map<LaunchId, LaunchState> launches_;
  std::vector<LaunchId> to_flush_;
  PlainHabits habits_;                    ///< the launches are of one program
  std::optional<CheckpointWatch> watch_;  ///< its thread uses the others
  std::unique_ptr<Launcher> launcher_;    ///< the same
};

ProcessExecutor::ProcessExecutor(AsioReactor& reactor) try
    : impl_(std::make_unique<Impl>(reactor)) {
} catch (const Error&) {
  throw;
} catch (const std::exception& error) {
  throw machine_error(std::string("cannot start processes: ") + error.what());
}
ProcessExecutor::~ProcessExecutor() = default;

void ProcessExecutor::launch(LaunchId launch, LaunchSpec spec) {
  impl_->launch(launch, std::move(spec));
}
void ProcessExecutor::send(LaunchId launch, const protocol::Command& command) {
  impl_->send(launch, command);
}
void ProcessExecutor::signal(LaunchId launch, int signal) { impl_->signal(launch, signal); }

}  // namespace tune
