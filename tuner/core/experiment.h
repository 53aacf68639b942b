// The experiment as the fold of its events: `apply` is the only way to change it.
// Knows no policy, process or file.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/core/event.h"
#include "tuner/core/trial.h"

namespace tune {

class Experiment {
 public:
  /// Takes in the next event; its number must be `last_event() + 1`. Cost does not grow with the
  /// number of trials. An event that contradicts the state (an unknown trial, a result of a trial
  /// that does not run) throws std::invalid_argument: the journal was not written by us.
  void apply(const Event& event);

  const std::vector<Trial>& trials() const { return trials_; }
  const Trial& trial(TrialId id) const;

  /// Trials that wait, first come first served. A retried trial goes to the end.
  const std::set<std::pair<std::uint64_t, TrialId>>& pending() const { return pending_; }
  const std::set<std::pair<std::uint64_t, TrialId>>& paused() const { return paused_; }
  const std::set<TrialId>& running() const { return running_; }

  std::size_t count(TrialState state) const;
  std::uint64_t last_event() const { return last_event_; }
  std::uint64_t results() const { return results_; }

  /// Why the whole experiment is ending; empty if it is not.
  const std::string& stop_reason() const { return stop_reason_; }

  /// Unix time of the first session, and running time of all sessions up to `now` (the last event
  /// if the driver of the last session is gone).
  Seconds started() const { return started_; }
  Seconds running_s(Seconds now) const;
  /// Unix time of the last event.
  Seconds last_time() const { return last_time_; }
  int sessions() const { return sessions_; }
  /// Where the last session's driver ran, or runs.
  const std::string& host() const { return host_; }
  /// How the last session ended ("finished", "interrupted", ...); empty while one is under way, and
  /// after one whose driver died.
  const std::string& session_end() const { return session_end_; }

  /// The processes that the journal knows of and has not seen end, by trial.
  const std::map<TrialId, ProcessStarted>& processes() const { return processes_; }

  /// The whole state; two experiments are equal if and only if these are.
  Json save() const;

 private:
  Trial& find(TrialId id);
  void set_state(Trial& trial, TrialState state, Seconds time);
  void on(const SessionStarted& event, Seconds time);
  void on(const TrialAdded& event, Seconds time);
  void on(const AttemptStarted& event, Seconds time);
  void on(const ProcessStarted& event, Seconds time);
  void on(const ResultReported& event, Seconds time);
  void on(const CheckpointCommitted& event, Seconds time);
  void on(const CheckpointFailed& event, Seconds time);
  void on(const CheckpointsDropped& event, Seconds time);
  void on(const CheckpointDamaged& event, Seconds time);
  void on(const AttemptEnded& event, Seconds time);
  void on(const StopRequested& event, Seconds time);
  void on(const TrialStopRequested& event, Seconds time);
  void on(const CallbackSaved&, Seconds) {}  // the callback's own business
  void on(const SessionEnded& event, Seconds time);
  void on(const TrialRequeued& event, Seconds time);

  std::vector<Trial> trials_;
  std::set<std::pair<std::uint64_t, TrialId>> pending_;
  std::set<std::pair<std::uint64_t, TrialId>> paused_;
  std::set<TrialId> running_;
  std::map<TrialId, std::uint64_t> queued_;  ///< the key in pending_ or paused_
  std::map<TrialId, ProcessStarted> processes_;
  std::size_t terminated_ = 0;
  std::size_t errors_ = 0;
  std::uint64_t last_event_ = 0;
  std::uint64_t results_ = 0;
  std::string stop_reason_;
  Seconds started_ = 0;
  Seconds session_started_ = 0;
  Seconds earlier_sessions_s_ = 0;
  Seconds last_time_ = 0;
  int sessions_ = 0;
  std::string host_;
  std::string session_end_;
};

}  // namespace tune
