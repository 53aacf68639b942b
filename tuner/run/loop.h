// The event loop: ask, commit, act. It keeps the order of a turn, starts what comes next, and
// brings the run to its end; what follows within an attempt is Attempts' business.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/execution/executor.h"
#include "tuner/execution/node_supply.h"
#include "tuner/execution/reactor.h"
#include "tuner/process/interrupts.h"
#include "tuner/run/checkpoints/disk_guard.h"
#include "tuner/run/commit/next_trial.h"
#include "tuner/run/commit/snapshots.h"
#include "tuner/run/control_handler.h"
#include "tuner/run/loop_end.h"
#include "tuner/run/trials/adoption.h"
#include "tuner/run/trials/attempts.h"

namespace tune {

struct LoopOptions {
  LaunchContext launch;
  Resources resources;  ///< totals
  /// Of which `resources` is the sum; empty: all of it is on this machine.
  std::vector<NodeResources> nodes = {};
  NodeSupply* supply = nullptr;    ///< of more nodes; outlives the loop; null: none will come
  Seconds interrupt_grace_s = 30;  ///< for last saves after an interrupt
  std::set<TrialId> only = {};     ///< only these run, and none are added; empty: all
  AdoptionPlan adoption = {};      ///< trials that go on in processes of an earlier driver's
  DiskGuard* disk = nullptr;       ///< outlives the loop; null: launches wait for no disk
  MemoryMeter memory = {};         ///< for processes that wait; without it few do
  ProcessLook look = {};           ///< at processes that say nothing; without it none are noticed
  Seconds tick_s = never_s;        ///< a turn at least so often, for callbacks that show the time
  /// A spec with some of its top-level fields changed, as may be done while a driver runs. Throws
  /// Error (user). Empty: it never changes.
  std::function<ExperimentSpec(const ExperimentSpec& spec, const Json& fields)> change_spec = {};
  /// The config of the trial with that number, of which `given` says some or all. Throws Error
  /// (user). Empty: none is added by hand.
  std::function<Suggestion(const Json& given, TrialId trial)> complete_config = {};
};

class Loop {
 public:
  /// All parts outlive the loop.
  Loop(const ExperimentSpec& spec, LoopOptions options, EventCommitter& committer,
       Policies& policies, Executor& executor, Reactor& reactor, Workers& workers,
       CheckpointManager& checkpoint_manager, Snapshots& snapshots, CallbackList& callbacks);

  /// Runs until nothing is left to do. JournalFailed if the journal cannot be written: the
  /// processes have then been told to end. Error for a spec that does not fit the trainable, and
  /// for a scheduler that asks for what is not possible.
  LoopEnd run();

  // For ControlHandler: what is asked by hand while it runs.

  /// Ends the experiment: what runs is saved with its next result.
  void request_stop(const std::string& reason);
  /// Ends one trial for the user: at once, or with its next result if it runs.
  void stop_trial(TrialId trial, const std::string& reason) {
    attempts_.stop(trial, reason, EndedBy::user);
  }
  /// A trial that runs is saved at its next result.
  void ask_save(TrialId trial) { attempts_.ask_save(trial); }
  /// Has all saved, and leaves.
  void interrupt(const std::string& reason);
  /// Pauses one trial by hand, or lets it go on.
  void hold(TrialId trial);
  void release(TrialId trial);
  /// A trial with this config; what it leaves out is drawn. Error (user): there is none.
  TrialId add(const Json& config);
  /// Changes fields of the spec; answers what that comes to, in a sentence. Error (user): nothing
  /// has changed.
  std::string change(const Json& fields);
  /// Why the loop does not start one more trial, as a phrase; empty: no reason, or there is none.
  std::string waits_for() const;
  /// Steps that take far too long.
  std::vector<TrialHang> hangs() const { return attempts_.hangs(); }
  /// See Attempts::left_out.
  std::vector<std::string> left_out() const { return attempts_.left_out(); }
  /// See CallbackList::last_notices.
  std::vector<std::string> last_notices() const { return callbacks_.last_notices(); }
  const ShutdownState& shutdown() const { return shutdown_; }
  const std::map<TrialId, Attempt>& attempts() const { return attempts_.all(); }
  const Experiment& experiment() const { return committer_.experiment(); }
  const ExperimentSpec& spec() const { return spec_; }
  Seconds steady() const { return committer_.steady(); }

 private:
  LoopEnd drive();
  void turn();
  void begin_step();
  void end_step();
  void act();
  void fill();
  bool start_next();
  void carry_out_orders();
  bool is_finished() const;
  Seconds next_deadline() const;
  void extend_deadlines(Seconds overslept_s);
  void on(const Interrupted& wakeup);
  void on(const ControlAsked& wakeup);
  void on(const NodeJoined& wakeup);
  void on(const NodeLost& wakeup);
  void on(const NodeEnding& wakeup);
  template <class Wakeup>
  requires requires(Wakeup& wakeup) { wakeup.launch; }
  void on(Wakeup& wakeup) { attempts_.on(wakeup); }
  void answer(ControlId id, ControlAnswer answer);
  void look_at_failures();
  std::size_t waiting_trials() const;
  void tell_demand();
  void tell_what_is_awaited();
  void tell_what_hangs();
  void check_stop_all();
  void tell_total();
  void wind_down(ShutdownState shutdown, Seconds grace_s);
  void end_by_force(WorkerGroup::StopLevel stop_level);
  SessionEnded session_ended(const LoopEnd& end) const;
  void finish(const LoopEnd& end);
  void end_by_fault(const std::string& reason);

  ExperimentSpec spec_;  ///< in force; Attempts look at it
  const LoopOptions options_;
  LaunchContext launch_;  ///< of options_, with the nodes that are there by now
  EventCommitter& committer_;
  Policies& policies_;
  Reactor& reactor_;
  Workers& workers_;
  CheckpointManager& checkpoint_manager_;
  Snapshots& snapshots_;
  CallbackList& callbacks_;

  AfterWrite after_write_;
  CircuitBreaker circuit_breaker_;
  ShutdownState shutdown_;
  NextTrial next_;
  Attempts attempts_;
  ControlHandler control_handler_;
  InterruptRule interrupts_;

  std::vector<Wakeup> wakeups_;
  Seconds wind_down_deadline_ = never_s;  ///< steady; then processes are ended by force
  Seconds woke_at_ = 0;                   ///< steady; when the last wait returned
  /// At which step the last try to start a trial stopped.
  enum class Obstacle { failures, slot, choice, disk } obstacle_ = Obstacle::choice;
  Seconds told_demand_at_ = -never_s;             ///< steady
  std::set<int> awaited_nodes_;                   ///< that are lost and may come back
  std::string told_waits_;                        ///< to callbacks
  std::vector<TrialId> told_hangs_;               ///< to callbacks
  std::pair<Obstacle, Seconds> told_waits_of_{};  ///< then; steady
};

}  // namespace tune
