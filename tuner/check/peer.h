// One process of a trainable, used synchronously: each command waits for its answer, with a time
// limit. (The driver's own executor is asynchronous, and its deadlines are the worker group's.)
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tuner/execution/local/message_parser.h"
#include "tuner/execution/reactor.h"
#include "tuner/process/process_wide.h"
#include "tuner/process/spawn.h"
#include "tuner/process/subreaper.h"

namespace tune {

/// What a trainable did wrong, as a sentence that begins with "it".
class Trouble : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Starts peers. Its changes to process-wide settings are undone by the destructor.
class PeerLauncher {
 public:
  PeerLauncher() : spawner_(process_wide_.descriptors_before()) {}
  /// Error (machine) if the program cannot be started.
  std::pair<LaunchId, Spawned> launch(LaunchSpec spec);
  /// Ends all processes that the launch left behind, also daemons; waits for that, but not for
  /// ever.
  void end(LaunchId launch, Process& process);

 private:
  ProcessWide process_wide_;
  Spawner spawner_;
  Subreaper adopted_;
  std::uint64_t launches_ = 0;
};

/// Killed, with all that it has started, by the destructor.
class Peer {
 public:
  /// `launcher` outlives it.
  Peer(PeerLauncher& launcher, const LaunchSpec& spec)
      : Peer(launcher, launcher.launch(spec), spec.stderr_path) {}
  ~Peer() { launcher_.end(launch_, process_); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// Trouble if it does not take it within `limit_s`.
  void send(const protocol::Command& command, Seconds limit_s);

  /// What is waited for next, for the sentence of a Trouble: "its hello".
  void expect(std::string what) { expected_ = std::move(what); }

  /// Its next message. Trouble if it sends none within `limit_s`, or something that is no message,
  /// or an error, or if it ends.
  Wakeup next_wakeup(Seconds limit_s);
  /// The same, of this kind; `wanted` is what that is called: "a result".
  template <class Kind>
  Kind hear_a(const char* wanted, Seconds limit_s) {
    const Wakeup heard = next_wakeup(limit_s);
    if (const auto* const kind = std::get_if<Kind>(&heard)) return *kind;
    throw unexpected(heard, wanted);
  }

  /// The kind of message that it says within `seconds`, though nothing is asked of it; nothing if
  /// it is quiet.
  std::optional<std::string> breaks_silence(Seconds seconds);

  /// How it ended; nothing if it still runs after `seconds`.
  std::optional<ExitStatus> end_within(Seconds seconds);

  void hang_up() { socket_ = {}; }
  /// With SIGKILL; returns when it is dead.
  void kill();
  pid_t pid() const { return process_.pid(); }

 private:
  Peer(PeerLauncher& launcher, std::pair<LaunchId, Spawned> launched, std::filesystem::path log)
      : launcher_(launcher),
        launch_(launched.first),
        log_(std::move(log)),
        process_(std::move(launched.second.process)),
        socket_(std::move(launched.second.socket)) {}
  static Trouble unexpected(const Wakeup& heard, const char* wanted);
  /// True if a whole line is in `unread_`.
  bool read_line(Seconds until);
  std::string last_words() const;

  PeerLauncher& launcher_;
  LaunchId launch_;
  std::filesystem::path log_;
  Process process_;
  FileDescriptor socket_;
  std::string unread_;
  std::string expected_;
  MessageParser parser_;
};

/// "it exited with code 1", "it was killed by signal 9".
std::string text_of(const ExitStatus& status);

}  // namespace tune
