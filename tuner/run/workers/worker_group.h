// The worker processes of one attempt, as one: one process, or one a rank. It owns them, what they
// hold of the machine, and the state machine that they are in: which message is due, how long each
// may take, and how they are stopped (request, SIGTERM, SIGKILL). docs/protocol.md has its table.
// It sees no policy and no record; what it does to processes goes through a Transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tuner/checkpoints/checkpoint_storage.h"
#include "tuner/execution/executor.h"
#include "tuner/model/resources.h"
#include "tuner/model/trial.h"
#include "tuner/run/workers/failure_attribution.h"
#include "tuner/run/workers/rank_set.h"

namespace tune {

/// How long its processes may take.
struct Timeouts {
  Seconds launch_s = 60;                 ///< until they say hello
  std::optional<Seconds> answer_s = {};  ///< to a step or a save; nothing: for ever
  /// From being asked to leave to SIGTERM, from that to SIGKILL, and with the connection closed.
  Seconds leave_s = 10;
  /// After SIGKILL: then they are given up, as a process that waits in the kernel cannot be ended.
  Seconds kill_s = 60;
};

class WorkerGroup {
 public:
  enum class State {
    none,       ///< no process: not launched yet, or all gone
    launching,  ///< launched, and not all have said hello
    replacing,  ///< a reset failed: on their way out, others are launched in their place
    ready,      ///< nothing is asked of them
    stepping,   ///< told to train until the next result
    saving,     ///< told to save
    offered,    ///< told to stop, unless they stay for another attempt
    idle,       ///< kept for another attempt
    leaving,    ///< on their way out; what they say is not heard any more
    lost,       ///< killed, and not gone: nothing more can be done
  };
  /// By what they have been told to end.
  enum class StopLevel { none, request, sigterm, sigkill };

  /// How a group acts on processes. Calls take effect later, in their order.
  class Transport {
   public:
    virtual ~Transport() = default;
    /// A launch of one process of `worker_group`; the id is new.
    virtual LaunchId launch(WorkerGroup& worker_group, LaunchSpec spec) = 0;
    virtual void send(LaunchId launch, protocol::Command command) = 0;
    virtual void signal(LaunchId launch, int signal) = 0;
    /// The process is gone.
    virtual void forget(LaunchId launch) = 0;
    /// Its deadline is another.
    virtual void remind(WorkerGroup& worker_group, Seconds before) = 0;
    virtual Seconds steady() const = 0;
  };

  // Events of the whole group.
  /// A process runs: to be recorded.
  struct Started {
    std::int64_t pid = 0;
    std::uint64_t start_ticks = 0;
  };
  /// All have said hello and know what they are to train.
  struct Ready {};
  /// A reset failed before its first result: the processes leave, and others are launched in their
  /// place.
  struct Replaced {};
  /// All have taken the step; this is what the first has reported, with what the others add.
  struct Stepped {
    Reported reported;
  };
  /// All have answered the save; the first error, if there was one.
  struct Saved {
    std::optional<std::string> error;
    std::vector<RankPart> parts;  ///< by rank; empty where nobody has a rank
  };
  /// One process reported a failure, or sent a message that is not due. None has been asked to
  /// leave.
  struct Failed {
    std::string reason;  ///< a sentence
  };
  /// They took longer than allowed. None has been asked to leave.
  struct Overdue {
    std::string reason;  ///< a sentence
  };
  /// They stay for another attempt: state idle.
  struct Stayed {};
  /// All are gone, or given up: how the one ended whose fault it is.
  using Gone = ProcessesGone;
  /// It was asked to leave, but had run to its end before, with success. State ready: its last
  /// results are still to be read.
  struct AtEnd {};
  using WorkerEvent = std::variant<std::monostate, Started, Ready, Replaced, Stepped, Saved, Failed,
                                   Overdue, Gone, Stayed, AtEnd>;

  /// `transport` outlives it.
  WorkerGroup(Transport& transport, Timeouts timeouts, Allocation allocation)
      : transport_(transport), timeouts_(timeouts), allocation_(std::move(allocation)) {}
  WorkerGroup(const WorkerGroup&) = delete;
  WorkerGroup& operator=(const WorkerGroup&) = delete;

  // What a process did. A message that must not come now is Failed; of processes that are idle it
  // makes them leave, of those that leave it is ignored.
  WorkerEvent on_wakeup(const Launched& wakeup);
  WorkerEvent on_wakeup(const LaunchFailed& wakeup);
  WorkerEvent on_wakeup(const Greeted& wakeup);
  WorkerEvent on_wakeup(const Refused& wakeup);
  WorkerEvent on_wakeup(Reported& wakeup);
  WorkerEvent on_wakeup(const SaveAnswered& wakeup);
  WorkerEvent on_wakeup(const Faulted& wakeup);
  WorkerEvent on_wakeup(const RanToEnd& wakeup);
  WorkerEvent on_wakeup(const Disconnected& wakeup);
  WorkerEvent on_wakeup(const Exited& wakeup);
  WorkerEvent on_wakeup(const Lost& wakeup);
  /// Its deadline is over.
  WorkerEvent on_timeout();

  /// Processes that an earlier driver has launched, by rank.
  struct Adopted {
    struct Process {
      Launched launched;
      LaunchSpec spec;
      protocol::Hello hello;
      bool is_told = true;  ///< what the others were asked for
    };
    std::vector<Process> processes;
    State state = State::ready;  ///< or stepping, saving
    std::int64_t iteration = 0;  ///< of the step or save
    std::string directory;       ///< of the save
    Seconds told_for_s = 0;      ///< so long ago
  };
  /// They go on under this driver, with what they were asked for; who was not told yet is told now.
  /// What they have said since comes as wake-ups. State none.
  void adopt(const Adopted& adopted);
  /// Launches the processes, one for each of `specs`, or resets those that are idle, which are
  /// ready then: each gets `start`. State none, idle, or leaving of processes that were idle: then
  /// others are launched when these are gone.
  void begin(std::vector<LaunchSpec> specs, protocol::Start start);
  // State ready. An answer that names another iteration is Failed.
  void step(std::int64_t iteration);
  void save(const std::filesystem::path& directory, std::int64_t iteration);
  /// Keeps the processes for another attempt. State ready.
  void keep_idle();
  /// Tells them to stop, or to stay for another attempt: then Stayed follows. State ready.
  void offer(protocol::Stay stay);
  /// They go on for another attempt of their own trial, as if nothing had been. State idle.
  void resume();
  /// What they hold is given to others while they wait; `hold` takes it up again. State idle.
  Allocation release_allocation() { return std::exchange(allocation_, {}); }
  void hold(Allocation allocation) { allocation_ = std::move(allocation); }
  /// Tells them to end, by at least this. No attempt that they were to begin follows.
  void leave(StopLevel stop_level);
  /// The deadline is at most `seconds` from now.
  void shorten_deadline(Seconds seconds);
  /// Time in which the driver did not run does not count as silence of a trainable.
  void extend_deadlines(Seconds seconds);

  State state() const { return state_; }
  StopLevel stop_level() const { return stop_level_; }
  bool has_processes() const { return !ranks_.empty(); }
  bool is_function() const { return is_function_; }
  /// After some results at least.
  bool can_save() const { return !is_function_ || can_save_; }
  bool can_save_at_start() const { return can_save_at_start_; }
  bool can_reset() const { return can_reset_; }
  bool can_stay() const { return can_stay_; }
  /// Why they did not, as one of them has said; empty: nobody has.
  const std::string& why_not_stayed() const { return why_not_stayed_; }
  Seconds deadline() const { return deadline_; }  ///< steady
  Seconds told_at() const { return told_at_; }    ///< steady; of the last step or save
  const Allocation& allocation() const { return allocation_; }
  /// The stderr file of the first process, or of the one that the end is attributed to, and where
  /// the attempt begins in it; also after the end.
  const std::filesystem::path& log() const { return failure_.log(); }
  std::uint64_t log_begin() const { return failure_.log_begin(); }
  /// The first process; 0 if it does not run.
  Started first() const;
  /// Of all that run.
  std::vector<std::int64_t> process_groups() const { return ranks_.process_groups(); }
  std::vector<LateRank> all_late() const { return ranks_.all_late(); }
  /// Who of several has not answered what all were asked; empty if nobody or all of one.
  std::string late() const { return ranks_.late(); }

  /// The trial that they train; set by the owner of the group.
  std::optional<TrialId> trial;

 private:
  bool is_spoken_to() const;
  void note_hello(const protocol::Hello& hello);
  WorkerEvent unexpected(const RankProcess& speaker, const std::string& sentence);
  WorkerEvent end_of_step();
  WorkerEvent end_of_save();
  WorkerEvent continue_without(const RankProcess& left);
  /// It was reset to another trial, and has not answered its first command as that trial.
  bool is_being_reset() const {
    return (state_ == State::ready || state_ == State::stepping || state_ == State::saving) &&
           start_.has_value();
  }
  WorkerEvent replace(StopLevel stop_level);
  void withdraw_offer();
  void ask(State state, std::int64_t iteration, const protocol::Command& command);
  void wait_for(State state, Seconds seconds);
  void set_deadline(Seconds deadline);
  void say_start(bool reset);
  void launch();
  void stop_all(StopLevel stop_level);
  WorkerEvent remove(LaunchId id, Gone gone);
  void stop_others(const RankProcess& left);
  WorkerEvent end_of_all(bool was_being_reset);

  Transport& transport_;
  const Timeouts timeouts_;
  Allocation allocation_;
  State state_ = State::none;
  StopLevel stop_level_ = StopLevel::none;
  RankSet ranks_;
  FailureAttribution failure_;
  std::vector<LaunchSpec> specs_;          ///< until they are launched, or reset for good
  std::optional<protocol::Start> start_;   ///< until it is said, and not refused
  std::int64_t asked_ = 0;                 ///< the iteration of the last step or save
  std::optional<std::string> save_error_;  ///< the first one
  bool is_done_ = false;                   ///< by its last result
  bool is_function_ = false;
  bool can_save_ = false;
  bool can_save_at_start_ = false;
  bool can_reset_ = false;
  bool can_stay_ = false;
  std::string why_not_stayed_;
  bool has_greeting_ = false;
  bool was_told_ = false;
  Seconds deadline_ = never_s;
  Seconds told_at_ = 0;
};

const char* to_string(WorkerGroup::State state);

}  // namespace tune
