// The event loop: ask, commit, act. It orders work and does none: policies decide, the ledger
// remembers, the saver keeps checkpoints, the executor has the processes.
// Knows no concrete policy, callback or executor.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tuner/exec/executor.h"
#include "tuner/loop/attempt.h"
#include "tuner/loop/callback_list.h"
#include "tuner/loop/disk_guard.h"
#include "tuner/loop/ledger.h"
#include "tuner/loop/loop_end.h"
#include "tuner/loop/saver.h"
#include "tuner/loop/snapshots.h"
#include "tuner/spec/spec.h"

namespace tune {

struct LoopOptions {
  std::filesystem::path experiment_dir;  ///< absolute
  std::string session_mark;              ///< TUNE_SESSION of what is launched
  Resources resources;                   ///< totals
  std::vector<std::string> gpu_names;    ///< what CUDA_VISIBLE_DEVICES calls device i
  Seconds interrupt_grace_s = 30;        ///< for last saves after an interrupt
  std::set<TrialId> only = {};           ///< only these run, and none are added; empty: all
  DiskGuard* disk = nullptr;             ///< outlives the loop; null: launches wait for no disk
  Seconds tick_s = never_s;  ///< a turn at least so often, for callbacks that show the time
};

class Loop {
 public:
  /// All parts outlive the loop.
  Loop(const ExperimentSpec& spec, LoopOptions options, Ledger& ledger, Policies& policies,
       Executor& executor, Workers& pool, Saver& saver, Snapshots& snapshots,
       CallbackList& callbacks);

  /// Runs until nothing is left to do. JournalFailed if the journal cannot be written: the
  /// processes have then been told to end. Error for a spec that does not fit the trainable, and
  /// for a scheduler that asks for what is not possible.
  LoopEnd run();

 private:
  // loop.cpp: the order of a turn.
  LoopEnd drive();
  void abandon();
  void turn();
  void act();
  void after_write(std::function<void()> act);
  void fill();
  bool is_finished() const;
  Seconds next_deadline() const;
  void forgive(Seconds overslept_s);
  void check_stop_all();
  void request_stop(const std::string& reason);
  void interrupt(const std::string& reason);
  void end_by_force();
  void finish(const LoopEnd& end);

  // loop_launch.cpp: from a chosen trial to its first step.
  bool start_next();
  Resources resources_of(TrialId trial) const;
  void carry_out_orders();
  void require_possible(TrialId trial, const Exploit& exploit) const;
  std::optional<TrialId> ask_whom_to_start(Seconds now, bool more) const;
  void after_exploit(TrialId clone, const std::optional<DonorCheckpoint>& before);
  std::optional<TrialId> choose_trial();
  void wait_for_retries(Seconds now);
  void say_what_is_left();
  void ask_searcher(TrialId next, bool needed);
  std::optional<TrialId> choose_named(Seconds now);
  void start_attempt(TrialId trial, Allocation allocation, std::optional<LaunchId> idle);
  void prepared(TrialId trial, int number, std::optional<LaunchId> idle, Saver::Source source,
                const std::string& error);
  void launch(Attempt& attempt);
  void say_start(Attempt& attempt, bool reset);
  LaunchSpec launch_spec(const Attempt& attempt) const;

  // loop_wakeups.cpp: what a process did.
  void on(const Launched& wakeup);
  void on(const LaunchFailed& wakeup);
  void on(const Greeted& wakeup);
  void refused_reset(TrialProcess& process, Attempt& attempt);
  void on(Reported& wakeup);
  void on(const SaveAnswered& wakeup);
  void on(const Faulted& wakeup);
  void on(const Disconnected& wakeup);
  void on(const Exited& wakeup);
  void on(const Interrupted& wakeup);
  void on(const ControlAsked& wakeup);
  void on_deadline(TrialProcess& process);

  // loop_control.cpp: what somebody asks of the driver by hand.
  ControlAnswer obey(const ControlRequest& request);
  void answer_on_leaving();
  void answer(ControlId id, ControlAnswer answer);
  ControlAnswer stop_by_hand();
  ControlAnswer stop_by_hand(TrialId trial);
  ControlAnswer pause_by_hand();
  ControlAnswer save_by_hand(std::optional<TrialId> only);

  // loop_results.cpp: a result and what follows from it.
  Result make_result(const Attempt& attempt, Reported& reported) const;
  Triggers triggers(const Attempt& attempt, const Result& result, const Decision& decision) const;
  void take_in(Attempt& attempt, Result result, std::optional<std::string> handed_over);
  void begin_save(Attempt& attempt);
  void take_over(Attempt& attempt, std::string reported);
  void commit_save(Attempt& attempt, Save save);
  void carry_out(Attempt& attempt);
  void step(Attempt& attempt);

  // loop_endings.cpp: how attempts and processes end.
  void end(Attempt& attempt, Outcome outcome, const std::string& reason);
  void look_into_failure(Attempt& attempt);
  void stop_trial(TrialId trial, const std::string& reason);
  void judge_exit(Attempt& attempt, const Exited& exit);
  bool will_retry(const Trial& trial) const;
  void after_failure(TrialId trial);
  void raise_failure(const std::string& reason);
  void try_to_close(Attempt& attempt);
  void close(Attempt& attempt);
  void tell_end(TrialId trial, const AttemptEnded& ended);
  void leave(TrialProcess& process, TrialProcess::Leaving how);
  void stop_idle_processes();

  Attempt* find_attempt(TrialId trial);
  Attempt* attempt_of(LaunchId launch);
  TrialProcess* find_process(LaunchId launch);
  void set_deadline(TrialProcess& process, Seconds deadline);
  void send(LaunchId launch, protocol::Command command);
  void signal(LaunchId launch, int signal);
  void tell(const char* hook_name, std::function<void(Callback&)> hook);
  const Trial& trial(TrialId id) const { return ledger_.experiment().trial(id); }

  const ExperimentSpec& spec_;
  const std::vector<Constraint> constraints_;
  LoopOptions options_;
  Ledger& ledger_;
  Policies& policies_;
  Executor& executor_;
  Workers& pool_;
  Saver& saver_;
  Snapshots& snapshots_;
  CallbackList& callbacks_;

  const FailureJudge judge_;
  ResourcePool resources_;
  std::map<TrialId, Attempt> attempts_;
  std::unordered_map<LaunchId, TrialProcess> processes_;
  std::vector<LaunchId> idle_;
  std::set<std::pair<Seconds, LaunchId>> deadlines_;
  std::uint64_t last_launch_ = 0;
  bool nothing_left_ = false;    ///< no trial to start, now or later
  bool searcher_waits_ = false;  ///< it had nothing when it was last asked
  /// Unix times before which trials that have failed must not run; some may have been started or
  /// stopped since.
  std::set<std::pair<Seconds, TrialId>> delayed_;
  Seconds retry_at_ = never_s;  ///< Unix time at which a backed-off trial may run

  std::vector<Wakeup> wakeups_;
  Result told_result_;  ///< the copy that callbacks may write to

  // What turns have decided on and do once all that was committed in them is written.
  using Acts = std::vector<std::function<void()>>;
  Acts acts_;                                        ///< of this turn
  std::deque<std::pair<std::uint64_t, Acts>> held_;  ///< by the last event of their turn

  enum class Winding { no, stopping, interrupted } winding_ = Winding::no;
  std::string interrupt_reason_;
  Seconds wind_down_deadline_ = never_s;  ///< steady; then processes are ended by force
  bool raised_ = false;  ///< stopping because of a failure, and fail_fast is "raise"
  int failures_in_a_row_ = 0;
  Seconds woke_at_ = 0;  ///< steady; when the last wait returned
};

}  // namespace tune
