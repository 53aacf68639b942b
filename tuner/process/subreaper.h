// The driver as a child subreaper (prctl(2)): it adopts what trials leave behind when their own
// parents end, ends that, and reaps it. Knows launches, not what a trial is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "tuner/process/process_spec.h"

namespace tune {

/// Names the launches that a process comes from, the outermost driver's first; inherited by
/// whatever is started.
inline constexpr const char* launch_variable = "TUNE_LAUNCH";
/// Before a number, instead of a launch's number: a fork server (fork_servers.h), what its modules
/// have started, and its forks until they become a launch's process.
inline constexpr const char* server_launch = "server";

/// The processes that launches are forked from: those that are there. Any thread.
class LivingServers {
 public:
  std::uint64_t add();  ///< the number of a new one
  void remove(std::uint64_t number);
  bool has(std::uint64_t number) const;

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> living_;
  std::uint64_t last_ = 0;
};
/// The end of such a word in the place of a launch's number: a program that runs beside launches
/// (helper_process.h), which is ended by who has started it.
inline constexpr const char* side_launch = "side";
/// A word of that kind that is nobody else's on this machine.
std::string side_word();
/// What `launch_variable` is for who is launched by this name: outer drivers' names stand before.
std::string mark_of(const std::string& word);

/// Ends what a launch has left behind, wherever it went (`setsid`, a daemon), and reaps the dead.
/// A process belongs to a launch if it is in its group, or if the environment that it was started
/// with says so (`TUNE_LAUNCH`). What a process that launches are forked from has left behind is
/// ended likewise once that is gone. The program that the executor is in may have children of its
/// own: these are neither signalled nor reaped. What has died before it was ever looked at is
/// reaped if it is in another group or session than the driver, and left to the program otherwise.
/// One thread.
class Subreaper {
 public:
  /// Children that are there now are the program's own.
  Subreaper();

  /// The variable by which whatever a launch starts is known again. It names the launches of outer
  /// drivers too, if this one is itself a trial.
  std::string variable(LaunchId launch) const;

  /// The launch is asked for; its processes are let live from now on. `is_forked`: perhaps by
  /// somebody else, so that it is a child that this process has not started itself.
  void expect(LaunchId launch, bool is_forked = false);
  /// It runs as the leader of a group.
  void began(LaunchId launch, pid_t leader);
  /// Its leader is dead (not yet reaped) or was never started: what it left behind is to be ended,
  /// too.
  void ended(LaunchId launch);
  /// Nothing of it is left, and its leader is reaped: the number may be another's from now on.
  void forget(LaunchId launch);

  /// Signals and reaps; to be called when children may have died. The cost is that of the children,
  /// not of all processes.
  void look();

  /// How many processes it has left that still run, of those that are this one's children by now.
  /// Its leader is dead, and not yet reaped.
  std::size_t running_of(LaunchId launch) const;

  enum class Left {
    nothing,
    others,  ///< processes that this one may not signal (another user's): they go their own way
    some,    ///< it was sent SIGKILL, and is not gone yet
  };
  /// What the last `look` has found alive outside of what `Process::clear` waits for, and inside.
  Left left_of(LaunchId launch) const;
  /// The same, of servers that are gone.
  bool is_left_of_servers() const { return is_left_of_servers_; }

  LivingServers& servers() { return servers_; }

 private:
  struct Known {
    pid_t leader = 0;        ///< 0: being launched
    bool is_forked = false;  ///< and not there yet
    bool ended = false;
    Left left = Left::nothing;
  };
  struct Owner {
    enum class Kind {
      unknown,
      mute,     ///< cannot be asked just now, and may have children yet
      program,  ///< the program's own child
      launch,   ///< a trial's
      server,   ///< of what trials are forked from, or about to be a trial's
      nobody,   ///< a trial's or a side program's, whichever: nothing but to be reaped
    } kind = Kind::unknown;
    LaunchId launch{};
    std::uint64_t server = 0;
  };

  bool look_once();
  Owner owner_of(pid_t pid, bool is_dead) const;
  void settle_fork(Known& launch);
  void end_if_left(pid_t pid, std::uint64_t server);
  void end_if_over(pid_t pid, LaunchId launch);

  std::string prefix_;  ///< what is this executor's among all of the machine
  pid_t session_;       ///< the driver's
  std::unordered_map<LaunchId, Known> launches_;
  std::unordered_map<pid_t, LaunchId> leaders_;
  std::size_t awaited_forks_ = 0;
  LivingServers servers_;
  bool is_left_of_servers_ = false;
  std::unordered_map<pid_t, Owner> seen_;  ///< alive, by an earlier look
};

}  // namespace tune
