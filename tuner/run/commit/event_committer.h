// The one way to change an experiment while it runs: commit an event. Memory follows at once; all
// events of a turn reach the journal in one write, and all writes of a sync window the disk in one
// fsync (group commit). A write that might have to wait for the disk is a thread's; until it is
// done, nothing may be acted on.
#pragma once

#include <deque>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/model/experiment.h"
#include "tuner/run/commit/policies.h"
#include "tuner/run/commit/trial_changes.h"
#include "tuner/run/commit/workers.h"

namespace tune {

class EventCommitter {
 public:
  /// Results may be this long in the kernel's hands alone: what a power loss can cost.
  static constexpr Seconds sync_window_s = 0.2;
  /// A write that took longer has waited for the disk: a thread does the next one.
  static constexpr Seconds slow_write_s = 1e-3;

  /// `changes`: trials that no snapshot has yet as they are.
  EventCommitter(Experiment& experiment, Policies& policies, ExperimentStore& store,
                 Workers& workers, const Clock& clock, TrialChanges changes = {});

  /// Numbers and dates the event, applies it, and tells the policies.
  void commit(EventBody&& body);

  /// For each trial that runs, but for those in `spared`, that its attempt has been interrupted,
  /// and why: its process is gone, and nobody has seen how.
  void interrupt_running(const std::string& reason, const std::set<TrialId>& spared = {});

  /// From now on the policies get no events, since one of them may have failed. A resume replays
  /// the events to fresh policies.
  void leave_policies_out() { tells_policies_ = false; }
  /// Whether memory agrees with the records, so that more may follow; false after an event that
  /// could not be applied.
  bool is_consistent() const { return !is_applying_; }

  /// Hands the turn's events to the kernel, or to a thread that does. Error if the journal cannot
  /// be written, now or since the last call: then nothing that was committed in this turn may be
  /// acted on.
  void write();
  /// The last event that the kernel has: what was committed up to it may be acted on.
  std::uint64_t written() const { return store_.written(); }
  void sync_if_due();

  /// Called on the loop's thread with the events that the kernel has by now: each once, in order,
  /// before anything is acted on. The experiment in memory may be ahead of them.
  using Subscriber = std::function<void(std::span<const Event>)>;
  /// From the next event on. A subscriber may neither throw nor commit.
  void subscribe(Subscriber subscriber) { subscribers_.push_back(std::move(subscriber)); }

  /// Runs `action` on the loop's thread once everything committed so far is on disk.
  void when_durable(std::function<void()> action);

  /// Steady time at which a sync is due.
  Seconds deadline() const;

  /// Nothing waits to be written or synced.
  bool is_settled() const;

  /// The journal could not be written or synced: nothing can be committed any more.
  bool has_failed() const { return !error_.empty() || store_.has_failed(); }

  /// To be called before it is recorded that something is not there, or has failed. Error (machine)
  /// if the experiment itself is not there any more, as somebody has moved or removed it: then
  /// nothing can be committed any more.
  void require_place();

  /// Everything committed is written and no sync is under way: the next journal can replace this
  /// one.
  bool is_between_writes() const;

  /// Trials that have changed since they were last taken out.
  TrialChanges& changes() { return changes_; }

  const Experiment& experiment() const { return experiment_; }
  Seconds now() const;  ///< Unix time in whole microseconds, as records have it
  Seconds steady() const { return clock_.steady(); }  ///< from any thread
  const Clock& clock() const { return clock_; }
  /// Running time of all sessions, this one by its steady time: no clock that is set changes it.
  Seconds running_s() const;

 private:
  void note_clock();
  void add(EventBody&& body);
  void write_beside();
  void finish_write(Seconds took_s);
  void start_sync();
  void tell_subscribers();

  Experiment& experiment_;
  Policies& policies_;
  ExperimentStore& store_;
  Workers& workers_;
  const Clock& clock_;
  const Seconds began_;     ///< steady
  Seconds clock_is_ahead_;  ///< Unix time minus steady time, as records have it

  struct Waiting {
    std::uint64_t event;
    std::function<void()> action;
  };
  std::deque<Waiting> waiting_;  ///< by event, ascending
  std::uint64_t synced_;
  bool syncing_ = false;
  bool writing_ = false;        ///< a thread does
  bool disk_is_slow_ = false;   ///< the last write was
  Seconds unsynced_since_ = 0;  ///< steady; meaningful while something written is not synced
  std::string error_;           ///< of a thread that wrote or synced
  bool tells_policies_ = true;
  bool is_applying_ = false;
  TrialChanges changes_;
  std::vector<Subscriber> subscribers_;
  std::vector<Event> untold_;  ///< events that the kernel has not, if anybody subscribes
};

}  // namespace tune
