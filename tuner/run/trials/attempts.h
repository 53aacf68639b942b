// The attempts that are under way, from a chosen trial to the record of its end: what their
// worker groups come to, results, saves, exploits, endings. For each result stopper, scheduler,
// searcher and callbacks are asked, the record is committed, then follows what was decided.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/execution/node_supply.h"
#include "tuner/run/checkpoints/checkpoint_manager.h"
#include "tuner/run/commit/after_commit.h"
#include "tuner/run/commit/callback_list.h"
#include "tuner/run/commit/event_committer.h"
#include "tuner/run/commit/next_trial.h"
#include "tuner/run/commit/workers.h"
#include "tuner/run/trials/adoption.h"
#include "tuner/run/trials/attempt.h"
#include "tuner/run/trials/circuit_breaker.h"
#include "tuner/run/trials/hangs.h"
#include "tuner/run/trials/launch.h"
#include "tuner/run/trials/node_health.h"
#include "tuner/run/trials/run_advice.h"
#include "tuner/run/trials/shutdown.h"
#include "tuner/run/trials/warm_pool.h"
#include "tuner/run/workers/worker_groups.h"
#include "tuner/spec/spec.h"

namespace tune {

class Attempts {
 public:
  /// The parts of a run that attempts work with. All outlive them.
  struct Parts {
    const ExperimentSpec& spec;
    const LaunchContext& launch;
    EventCommitter& committer;
    Policies& policies;
    Workers& workers;
    CheckpointManager& checkpoint_manager;
    CallbackList& callbacks;
    AfterWrite& after_write;
    CircuitBreaker& circuit_breaker;
    NextTrial& next;  ///< is told which trials wait for a retry
    const ShutdownState& shutdown;
    const MemoryMeter& memory;
    const ProcessLook& look;
  };

  Attempts(Parts parts, Executor& executor, ResourcePool resources);

  /// Room for one more attempt: idle processes with their resources, or the resources of a new one.
  /// An unused slot is given back.
  struct Slot {
    WorkerGroup* idle = nullptr;
    std::optional<Allocation> allocation;
    explicit operator bool() const { return idle != nullptr || allocation.has_value(); }
  };
  Slot find_slot();
  std::optional<Allocation> acquire(const Resources& wanted);
  void give_back(const Slot& slot);
  /// What has to end before there is a slot, as a phrase.
  std::string place_awaited() const;
  /// False: the trial needs other resources than the slot has, and they are not free now.
  bool start(const NextTrial::Choice& chosen, Slot slot);

  /// Trials that go on in processes of an earlier driver's; before any other is started.
  void adopt(const AdoptionPlan& plan);

  // What happened to nodes.
  void add_node(const Resources& totals) {
    resources_.add_node(totals);
    node_health_.add_node();
  }
  /// Where trials fit nothing that is left, nodes that were left out get them again.
  void lose_node(int node);
  /// Nothing more starts on that node, and what runs there ends with its next checkpoint, to go on
  /// elsewhere; without time for that, at once.
  void vacate(int node, bool has_no_time);
  /// By node: what runs there, and which ones have been vacated.
  NodeDemand node_use() const;
  bool has_node() const { return resources_.has_node(); }
  /// Why a trial can be placed no more, as a sentence; empty: it can.
  std::string why_nothing_fits() const;
  /// Nodes that get no trials since they fail there, each with the last error.
  std::vector<std::string> left_out() const;

  // What happened to processes.
  template <class Wakeup>
  requires requires(Wakeup& wakeup) { wakeup.launch; }
  void on(Wakeup& wakeup) {
    WorkerGroup* const speaking = worker_groups_.of(wakeup.launch);
    if (speaking != nullptr) follow(*speaking, speaking->on_wakeup(wakeup));
  }
  void on(CheckpointFound& wakeup);
  void on(LaunchAdvisory& wakeup);
  /// Handles worker groups whose deadline has passed.
  void look_at_deadlines();

  /// A waiting trial goes on as a copy of another one. Error if that is not possible.
  void exploit(TrialId trial, Exploit exploit);
  /// Ends one trial that has not reported just now: at once, or with its next result.
  void stop(TrialId trial, const std::string& reason, EndedBy by);
  /// The trial was recorded as held: it is saved with its next result, and its processes leave.
  void pause(TrialId trial);
  /// The trial, which has an attempt, is saved at its next result.
  void ask_save(TrialId trial) { must_find(trial).save_asked = true; }
  /// The run winds down: attempts that have nothing to save end now, the others with their next
  /// answer.
  void let_go();
  /// Ends all attempts without waiting for their next results; a resume continues from their last
  /// checkpoints.
  void end_all(WorkerGroup::StopLevel stop_level);
  /// Ends the idle processes.
  void dismiss_idle();
  void extend_deadlines(Seconds seconds) {
    worker_groups_.extend_deadlines(seconds);
    forgiven_at_ = committer_.steady();
  }
  /// Sentences about steps under way that take far longer than others did.
  std::vector<TrialHang> hangs() const;
  /// Nothing more is recorded: see WorkerGroups.
  void abandon(Reactor& reactor) { worker_groups_.abandon(reactor, spec_.stop_grace_s); }

  /// Why the run is to end, since a trial has failed; empty if it is not.
  std::string take_failure() { return std::exchange(failure_, {}); }
  bool any_lives() const { return worker_groups_.any_lives(); }
  Seconds deadline() const {
    return std::min(
        {worker_groups_.deadline(), shutdown_due(), logs_due(), kept_due(), hangs_due()});
  }
  const std::map<TrialId, Attempt>& all() const { return attempts_; }

 private:
  // attempt_starts.cpp
  const Resources& resources_of(TrialId trial) const;
  bool resume_warm(const NextTrial::Choice& chosen, const Resources& wanted, Slot& slot);
  void require_possible(TrialId trial, const Exploit& exploit) const;
  void after_exploit(TrialId clone, const std::optional<DonorCheckpoint>& before);
  void begin(const NextTrial::Choice& chosen, WorkerGroup& worker_group, bool is_warm = false);
  void prepared(TrialId trial, int number, CheckpointManager::Source source,
                const std::string& error);

  // attempt_adoption.cpp
  void adopt(const Adoption& adoption);
  void decide_again(Attempt& attempt, const Adoption& adoption);
  void describe_save(Attempt& attempt) const;

  // attempt_results.cpp
  void follow(WorkerGroup& worker_group, WorkerGroup::WorkerEvent heard);
  void on(Attempt&, const std::monostate&) {}
  void on(Attempt& attempt, const WorkerGroup::Started& started);
  void on(Attempt& attempt, const WorkerGroup::Ready&);
  void on(Attempt& attempt, const WorkerGroup::Replaced&);
  void on(Attempt& attempt, WorkerGroup::Stepped& stepped);
  void on(Attempt& attempt, const WorkerGroup::Failed& failed);
  void on(Attempt& attempt, const WorkerGroup::Overdue& overdue);
  void on(Attempt& attempt, const WorkerGroup::Gone& gone);
  void on(Attempt& attempt, const WorkerGroup::Stayed&) { try_to_close(attempt); }
  Triggers triggers(const Attempt& attempt, const Result& result, const Decision& decision) const;
  void on_returned(Attempt& attempt, bool can_save);
  bool tell_result(const Trial& before, const Result& result);
  void process_result(Attempt& attempt, Result&& result, std::vector<std::string> handed_over);
  void set_out(Attempt& attempt);
  void carry_out(Attempt& attempt);
  void step(Attempt& attempt);

  // attempt_saves.cpp
  void begin_save(Attempt& attempt);
  void on(Attempt& attempt, const WorkerGroup::Saved& saved);
  void adopt_checkpoint(Attempt& attempt, std::vector<std::string> reported);
  void commit_save(Attempt& attempt, Save save);

  // attempt_plain.cpp
  void on(Attempt& attempt, const WorkerGroup::AtEnd&);
  bool has_left_to_go_on(const Attempt& attempt, const WorkerGroup::Gone& gone) const;
  bool has_nothing_to_train(const Attempt& attempt) const;
  std::string nothing_left(const Attempt& attempt) const;
  void note_for_checkpoints(Attempt& attempt);
  void note_restored(Attempt& attempt) const;
  static void note_found(Attempt& attempt, CheckpointFound found);
  void copy_found(Attempt& attempt);
  Save save_of(const Attempt& attempt, std::int64_t iteration) const;
  Save save_ahead(const Attempt& attempt, std::vector<PrintedResult> ahead) const;
  bool goes_on_later(const Attempt& attempt) const;

  // attempt_endings.cpp
  void end(Attempt& attempt, Outcome outcome, const std::string& reason);
  void end(Attempt& attempt, Ending ending, AttemptEvent by = AttemptEvent::leave);
  void try_to_close(Attempt& attempt);
  void look_into_failure(Attempt& attempt);
  void blame_disk(Attempt& attempt);
  void close(Attempt& attempt);
  void note_earlier(PlainReading& reading, const Attempt& attempt) const;
  void look_for_stall(Attempt& attempt);
  void look_for_lost_nodes(Attempt& attempt);
  void look_for_short_jobs(const Attempt& attempt);
  std::optional<int> only_node(const Attempt& attempt) const;
  const std::string& name_of(int node) const {
    return launch_.nodes.at(static_cast<std::size_t>(node));
  }
  void judge_node(int node, TrialId trial, const std::string& reason, Blame blame,
                  Seconds began_at);
  void dismiss_idle_on(int node);
  void leave_node(Attempt& attempt, bool has_no_time);
  void look_at_awaiting();
  void look_at_logs();
  void limit_logs(const std::vector<TrialId>& trials);
  Seconds logs_due() const;
  Seconds shutdown_due() const;
  void put_away(WorkerGroup& worker_group);
  void tell_end(TrialId trial, const AttemptEnded& ended);

  // attempt_pauses.cpp
  bool may_keep(const Attempt& attempt, Outcome outcome) const;
  void keep(TrialId trial, WorkerGroup& worker_group);
  bool has_restore_point(TrialId trial, const WarmPool::Kept& kept) const;
  void give_up(TrialId trial);
  void give_up_surplus();
  void look_at_kept();
  Seconds kept_due() const;

  // attempt_hangs.cpp
  void note_step(Attempt& attempt);
  std::optional<Seconds> usual_step_s(const Attempt& attempt) const;
  Seconds due_of(const Attempt& attempt) const;
  void look_for_hangs();
  void check_hang(Attempt& attempt, const ProcessesSeen& seen);
  std::string sentence_of(const Attempt& attempt) const;  ///< of its hang
  Seconds hangs_due() const;

  int workers() const { return spec_.workers ? spec_.workers->count : 1; }
  Attempt* find(TrialId trial);
  /// Of a job's answer: its attempt is there (Attempt::pending_work).
  Attempt& must_find(TrialId trial);
  void tell(const char* hook_name, std::function<void(Callback&)> hook);
  const Trial& trial(TrialId id) const { return committer_.experiment().trial(id); }

  const ExperimentSpec& spec_;
  const LaunchContext& launch_;
  EventCommitter& committer_;
  Policies& policies_;
  Workers& workers_;
  CheckpointManager& checkpoint_manager_;
  CallbackList& callbacks_;
  AfterWrite& after_write_;
  CircuitBreaker& circuit_breaker_;
  NextTrial& next_;
  const ShutdownState& shutdown_;
  const MemoryMeter& memory_;
  const ProcessLook& look_;

  const std::vector<Constraint> constraints_;
  /// Learnt by earlier drivers: what this one learns, the executor knows itself.
  const std::map<std::string, SavedWhen> save_orders_;
  const FailureJudge judge_;
  ResourcePool resources_;
  NodeHealth node_health_;
  WorkerGroups worker_groups_;
  std::map<TrialId, Attempt> attempts_;
  std::vector<WorkerGroup*> idle_;
  WarmPool kept_;
  Seconds kept_looked_at_ = 0;  ///< steady
  bool is_measuring_ = false;
  RecentTimes first_steps_;         ///< of all trials: each attempt's first
  RecentTimes steps_;               ///< the others
  Seconds hangs_looked_for_ = 0;    ///< steady; when that is due next
  Seconds forgiven_at_ = 0;         ///< steady; before it nobody's silence counts
  int lookers_ = 0;                 ///< jobs that look at processes
  std::deque<TrialId> awaiting_;    ///< a shutdown; in the order of Attempt::awaits_until
  Result told_result_;              ///< the copy that callbacks may write to
  std::string failure_;             ///< see take_failure
  Seconds logs_looked_at_ = 0;      ///< steady
  int log_lookers_ = 0;             ///< jobs that limit logs
  bool cannot_limit_logs_ = false;  ///< the file system
  const CheckpointManager::Needs needs_;
  /// How far a trial had come when it was paused, and how often it came no further.
  struct Stall {
    std::int64_t reached = -1;
    std::size_t clonings = 0;
    int times = 0;
  };
  std::map<TrialId, Stall> stalls_;  ///< of those that are paused now, or have been
  bool has_named_stall_ = false;
  std::map<TrialId, int> lost_in_a_row_;  ///< attempts that ended with their node, without a result
  /// How often the end of its node's job has ended a trial's attempt without a new checkpoint.
  struct ShortJobs {
    int saved = 0;  ///< its newest checkpoint then
    int times = 0;
    Seconds longest_s = 0;  ///< that one of these lasted
  };
  std::map<TrialId, ShortJobs> short_jobs_;
  std::set<int> vacated_;  ///< nodes
  RunAdvice advice_;
};

}  // namespace tune
