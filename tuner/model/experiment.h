// The experiment as the fold of its events (event sourcing): `apply` is the only way to change it.
// Pure: reads no clock and no file.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tuner/base/interned_text.h"
#include "tuner/model/event.h"
#include "tuner/model/lifetimes.h"
#include "tuner/model/trial.h"

namespace tune {

/// What saving checkpoints has cost.
struct SaveStatistics {
  std::uint64_t committed = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0;  ///< ever written
  double save_s = 0;        ///< sums; in the trainable
  double commit_s = 0;      ///< beside training
  double max_save_s = 0;
  double max_commit_s = 0;
  std::map<int, std::uint64_t> slowest;  ///< of several ranks: how often each answered last
};

/// A trial has summaries of this many metrics, those that it reported first. So a program that
/// invents new names all the time cannot fill the memory; its results hold all of them.
constexpr std::size_t most_summaries = 10'000;

/// The attempt of a trial that runs.
struct RunningAttempt {
  Seconds since = 0;        ///< Unix time; 0: not known
  Seconds last_result = 0;  ///< Unix time; 0: none yet in this attempt
};

/// Transparent hash: looks a string_view up in a set of strings.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};

/// Can be moved, not copied: names of metrics and shared parts of texts are interned, and trials
/// point at them.
class Experiment {
 public:
  Experiment() = default;
  Experiment(Experiment&&) = default;
  Experiment& operator=(Experiment&&) = default;

  /// Takes in the next event; its number must be `last_event() + 1`. Cost does not grow with the
  /// number of trials. An event that contradicts the state (an unknown trial, a result of a trial
  /// that does not run) throws std::invalid_argument: the journal was not written by us.
  void apply(const Event& event);

  const Trials& trials() const { return trials_; }
  const Trial& trial(TrialId id) const;

  /// Trials that wait, first come first served. A retried trial goes to the end.
  const std::set<std::pair<std::uint64_t, TrialId>>& pending() const { return pending_; }
  const std::set<std::pair<std::uint64_t, TrialId>>& paused() const { return paused_; }
  const std::set<TrialId>& running() const { return running_; }

  /// The longest backoff of a failed trial. A later `not_before` was recorded before the clock was
  /// set back, and counts no more.
  static constexpr Seconds longest_backoff_s = 60;

  /// Whether a waiting trial may run at `now`: nobody holds it, its backoff is over, and its donor
  /// has something to go on from, or never will.
  bool may_start(TrialId id, Seconds now) const;
  /// Why the trial cannot carry out `exploit` now; nothing if it can. A running trial can only with
  /// its next result. A waiting trial may be its own donor: it goes on with another config.
  std::optional<std::string> objection(TrialId id, const Exploit& exploit) const;
  /// The checkpoint that an attempt of the trial starts from: the donor's after an exploit, else
  /// the trial's newest since its last cloning, else the one with which it became a clone. For an
  /// ended trial: the one from which it would be taken up again. The pointer is null if there is
  /// none.
  std::pair<TrialId, const Checkpoint*> restore_point(TrialId id) const;
  /// Whether a clone is to start from this checkpoint.
  bool is_donated(TrialId donor, int index) const;
  /// Whether a clone waits for the trial to have a checkpoint.
  bool is_waited_for(TrialId donor) const;

  std::size_t count(TrialState state) const;
  std::size_t count(TrialEnd end) const;
  std::uint64_t last_event() const { return last_event_; }
  std::uint64_t results() const { return results_; }

  /// Why the whole experiment is ending; empty if it is not.
  const std::string& stop_reason() const { return stop_reason_; }
  /// The experiment is ending, and running trials are TERMINATED with their next result, not kept.
  bool stop_ends_trials() const { return !stop_reason_.empty() && !stop_keeps_; }

  /// Unix time of the first session, and running time of all sessions up to `now` (the last event
  /// if the driver of the last session is gone).
  Seconds started() const { return started_; }
  Seconds running_s(Seconds now) const;
  /// Running time of all sessions but the one under way.
  Seconds earlier_sessions_s() const { return earlier_sessions_s_; }
  /// Unix time of the last event.
  Seconds last_time() const { return last_time_; }
  int sessions() const { return sessions_; }
  /// Where the last session's driver ran, or runs.
  const std::string& host() const { return host_; }
  /// How the last session ended ("finished", "interrupted", ...); empty while a session is under
  /// way, and after a driver died.
  const std::string& session_end() const { return session_end_; }
  /// `session_end` as a value; nothing where that is empty.
  std::optional<SessionEnd> session_ended() const { return session_ended_; }

  /// What was changed of the spec while the driver of this (or the last) session ran: an object,
  /// top-level fields by name. The next session starts with these changes.
  const Json& spec_changes() const { return spec_changes_; }

  /// What the driver of the last session ran, as a JSON object (tuner/provenance.h); empty: not
  /// known.
  const std::string& ran() const { return ran_; }

  /// Whether its program, which saves by itself, does so before it prints a result or after, as the
  /// newest checkpoint of which that was known says; by Checkpoint::kind.
  const std::map<std::string, SavedWhen>& save_orders() const { return save_orders_; }

  /// How many trials were added by hand.
  std::size_t added_by_hand() const { return added_by_hand_; }

  /// The processes that the journal knows of and has not seen end, by trial.
  const std::map<TrialId, ProcessStarted>& processes() const { return processes_; }

  /// The attempts of all trials that run, by trial.
  const std::map<TrialId, RunningAttempt>& attempts() const { return attempts_; }
  /// How long the trials that have ended had run, those of older programs left out.
  const Lifetimes& lifetimes() const { return lifetimes_; }

  /// For readers of an experiment: computes the trial's summaries anew from the results that
  /// `each_result` hands over in their order. For `Trial::summaries_in_doubt`.
  using UseResult = std::function<void(const Metrics&)>;
  void summarise_anew(TrialId id, const std::function<void(const UseResult&)>& each_result);

  /// What saving checkpoints has cost so far, those that are deleted included.
  const SaveStatistics& saves() const { return saves_; }
  /// What keeping the state has cost in the sessions that have ended; for a session whose driver
  /// died, what the last snapshot knew.
  StateCost cost() const;
  /// As of its last snapshot, of a session that has no end in the record.
  const StateCost& session_cost() const { return session_cost_; }

  /// The whole state as text; two experiments are equal if and only if these are.
  std::string save() const;

  // The same in pieces, for a snapshot. On an empty experiment, first each trial is loaded, in any
  // order (the last line of a trial counts), then the totals; std::invalid_argument if that was
  // not written by us.
  /// Appends the trial as one line without a newline.
  void append_trial(std::string& out, TrialId id) const;
  void load_trial(std::string_view text);
  /// `session`: what keeping the state has cost in this session.
  Json save_totals(const StateCost& session) const;
  void load_totals(const Json& totals);

 private:
  Trial& find(TrialId id);
  void set_state(Trial& trial, TrialState state, Seconds time);
  /// Makes the trial wait, PENDING or PAUSED; a held trial is PAUSED in any case.
  void set_waiting(Trial& trial, TrialState state, Seconds time);
  void note_end(Trial& trial, const ResultReported& event) const;
  void close_attempt(Trial& trial, Seconds time);
  void start_from(Trial& trial, TrialId owner, const Checkpoint* checkpoint, Seconds time);
  // summaries.cpp
  void add(Trial& trial, const Metrics& metrics);
  void set_mark(Trial& trial, std::int64_t iteration);
  void thin_marks(Trial& trial) const;
  void forget_summaries(Trial& trial);
  void rewind_summaries(Trial& trial, TrialId owner, const Checkpoint* checkpoint);
  static void drop_recent(std::vector<MetricSummary>& summaries, std::vector<RecentValues>& recent);
  /// The same name, kept here.
  const std::string& kept_name(std::string_view name);
  std::size_t position_of(const Trial& trial, std::string_view metric, std::size_t hint);
  /// Puts the trial into the queue or the count of its state; `place`: its key in a queue.
  void take_its_place(const Trial& trial, std::uint64_t place);
  void on(const SessionStarted& event, Seconds time);
  void on(const TrialAdded& event, Seconds time);
  void on(const AttemptStarted& event, Seconds time);
  void on(const ProcessStarted& event, Seconds time);
  void on(const ResultReported& event, Seconds time);
  void on(const CheckpointCommitted& event, Seconds time);
  void note_order(const Checkpoint& checkpoint);
  void on(const CheckpointFailed& event, Seconds time);
  void on(const CheckpointsDropped& event, Seconds time);
  void on(const CheckpointDamaged& event, Seconds time);
  void on(const AttemptEnded& event, Seconds time);
  void on(const StopRequested& event, Seconds time);
  void on(const TrialStopRequested& event, Seconds time);
  void on(const CallbackSaved&, Seconds) {}    // the callback's own business
  void on(const SuggestionAsked&, Seconds) {}  // the searcher's
  void on(const ClockStepped& event, Seconds time);
  void on(const SpecChanged& event, Seconds time);
  void on(const TrialHeld& event, Seconds time);
  void on(const SessionEnded& event, Seconds time);
  void on(const TrialRequeued& event, Seconds time);
  void on(const TrialExploited& event, Seconds time);

  // lineage.cpp
  void exploit(Trial& trial, const Exploit& exploit, Seconds time);
  void add_cloning(Trial& trial, TrialId donor, InternedJson config, Seconds time);
  bool note_start(Trial& trial, TrialId owner, const Checkpoint* checkpoint, Seconds time);
  std::optional<DonorCheckpoint> beginning_of(const Trial& trial) const;
  void renew_donor(Trial& trial);
  void set_donor(Trial& trial, std::optional<DonorCheckpoint> donor);

  Trials trials_;
  /// Of metrics, and of hosts.
  std::unordered_set<std::string, TextHash, std::equal_to<>> names_;
  /// Of running trials with many metrics: where in its summaries each is, once that was asked for.
  std::map<TrialId, std::unordered_map<std::string_view, std::size_t>> positions_;
  JsonInterner shapes_;
  std::set<std::pair<std::uint64_t, TrialId>> pending_;
  std::set<std::pair<std::uint64_t, TrialId>> paused_;
  std::set<TrialId> running_;
  std::map<TrialId, std::uint64_t> queued_;  ///< the key in pending_ or paused_
  std::map<TrialId, ProcessStarted> processes_;
  std::map<TrialId, RunningAttempt> attempts_;
  Lifetimes lifetimes_;
  /// By donor: the checkpoints that clones are to be restored from, an index for each clone.
  std::map<TrialId, std::multiset<int>> donated_;
  std::array<std::size_t, std::size(trial_ends)> ended_{};  ///< how many trials, by TrialEnd
  std::size_t added_by_hand_ = 0;
  std::uint64_t last_event_ = 0;
  std::uint64_t results_ = 0;
  std::string stop_reason_;
  bool stop_keeps_ = false;
  Seconds started_ = 0;
  Seconds session_started_ = 0;
  Seconds earlier_sessions_s_ = 0;
  Seconds last_time_ = 0;
  int sessions_ = 0;
  std::string host_;
  std::string session_end_;
  std::optional<SessionEnd> session_ended_;
  std::string ran_;
  std::map<std::string, SavedWhen> save_orders_;
  Json spec_changes_ = Json::object();
  SaveStatistics saves_;
  StateCost cost_;
  StateCost session_cost_;  ///< of a session that may have died since
};

}  // namespace tune
