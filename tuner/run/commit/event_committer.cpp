// Group commit: folds events into memory, writes a turn's events at once, syncs on a thread, and
// runs what waits for durability.
#include "tuner/run/commit/event_committer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

EventCommitter::EventCommitter(Experiment& experiment, Policies& policies, ExperimentStore& store,
                               Workers& workers, const Clock& clock, TrialChanges changes)
    : experiment_(experiment),
      policies_(policies),
      store_(store),
      workers_(workers),
      clock_(clock),
      began_(clock.steady()),
      clock_is_ahead_(clock.now() - clock.steady()),
      synced_(store.written()),
      changes_(std::move(changes)) {}

Seconds EventCommitter::now() const { return std::round(clock_.now() * 1e6) / 1e6; }

Seconds EventCommitter::running_s() const {
  return experiment_.earlier_sessions_s() + clock_.steady() - began_;
}

void EventCommitter::commit(EventBody&& body) {
  note_clock();
  add(std::move(body));
}

/// Before a record that would have a time from another clock than the one before.
void EventCommitter::note_clock() {
  constexpr Seconds unnoticeable_s = 2;  // clocks are trimmed all the time
  const Seconds ahead = clock_.now() - clock_.steady();
  const Seconds by_s = ahead - clock_is_ahead_;
  if (std::abs(by_s) < unnoticeable_s) return;
  clock_is_ahead_ = ahead;
  add(ClockStepped{by_s});
}

void EventCommitter::add(EventBody&& body) {
  // A result's own time is when it was taken in, a little earlier: the record has one time only,
  // and policies are to see the same again in a replay.
  const auto* const reported = std::get_if<ResultReported>(&body);
  const Seconds time = reported != nullptr ? reported->result.timestamp : now();
  Event event{experiment_.last_event() + 1, time, std::move(body)};
  store_.append(event);
  is_applying_ = true;
  experiment_.apply(event);
  is_applying_ = false;
  if (tells_policies_) policies_.learn(experiment_, event);
  changes_.note(event);
  if (!subscribers_.empty()) untold_.push_back(std::move(event));
}

void EventCommitter::interrupt_running(const std::string& reason, const std::set<TrialId>& spared) {
  const auto running = experiment_.running();  // a copy: each record takes one out of it
  for (const TrialId trial : running) {
    if (spared.contains(trial)) continue;
    commit(AttemptEnded{trial, experiment_.trial(trial).attempt, Outcome::interrupted, reason});
  }
}

void EventCommitter::write() {
  if (!error_.empty()) throw machine_error(error_);
  store_.refuse_if_lost();
  if (writing_ || store_.written() == experiment_.last_event()) return;
  // Beside a sync of the same file a write may wait for as long as that does.
  if (syncing_ || disk_is_slow_ || store_.must_renew()) {
    write_beside();
    return;
  }
  const Seconds started = clock_.steady();
  store_.close_batch();
  store_.write_closed();
  const Seconds took = clock_.steady() - started;
  store_.cost().write_s += took;
  finish_write(took);
}

void EventCommitter::write_beside() {
  struct WriteOutcome {
    Seconds took_s = 0;
    std::string error;
  };
  writing_ = true;
  store_.close_batch();
  workers_.post(
      Lane::journal,
      [this] {
        const Seconds started = clock_.steady();
        WriteOutcome outcome;
        try {
          store_.write_closed();
        } catch (const Error& error) {
          outcome.error = error.what();
        }
        outcome.took_s = clock_.steady() - started;
        return outcome;
      },
      [this](const WriteOutcome& outcome) {
        writing_ = false;
        store_.cost().sync_s += outcome.took_s;
        if (error_.empty()) error_ = outcome.error;
        if (error_.empty()) finish_write(outcome.took_s);
      });
}

void EventCommitter::finish_write(Seconds took_s) {
  disk_is_slow_ = took_s > slow_write_s;
  // The window begins with the oldest write that is not on disk.
  if (synced_ == store_.written()) unsynced_since_ = clock_.steady();
  store_.finish_write();
  tell_subscribers();
}

void EventCommitter::tell_subscribers() {
  const auto end = std::find_if(untold_.begin(), untold_.end(), [this](const Event& event) {
    return event.number > store_.written();
  });
  if (end == untold_.begin()) return;
  const std::span<const Event> told(untold_.begin(), end);
  for (const Subscriber& subscriber : subscribers_) subscriber(told);
  untold_.erase(untold_.begin(), end);
}

void EventCommitter::sync_if_due() {
  if (synced_ == store_.written()) return;
  if (!syncing_ && deadline() <= clock_.steady()) start_sync();
}

void EventCommitter::when_durable(std::function<void()> action) {
  if (synced_ == experiment_.last_event() && waiting_.empty()) {
    action();
    return;
  }
  waiting_.push_back({experiment_.last_event(), std::move(action)});
}

Seconds EventCommitter::deadline() const {
  if (syncing_ || synced_ == store_.written()) return std::numeric_limits<Seconds>::infinity();
  // At once if an action waits for it: a checkpoint to be deleted, say.
  return waiting_.empty() ? unsynced_since_ + sync_window_s : 0;
}

bool EventCommitter::is_settled() const {
  return synced_ == experiment_.last_event() && waiting_.empty() && !syncing_;
}

bool EventCommitter::is_between_writes() const {
  return !syncing_ && store_.written() == experiment_.last_event();
}

void EventCommitter::start_sync() {
  struct SyncOutcome {
    double seconds = 0;
    std::string error;
  };
  syncing_ = true;
  // What is written during the sync is not covered by it.
  const std::uint64_t target = store_.written();
  workers_.post(
      Lane::journal,
      [this] {
        const Seconds started = clock_.steady();
        SyncOutcome outcome;
        try {
          store_.sync();
        } catch (const Error& error) {
          outcome.error = error.what();
        }
        outcome.seconds = clock_.steady() - started;
        return outcome;
      },
      [this, target](const SyncOutcome& outcome) {
        syncing_ = false;
        ++store_.cost().syncs;
        store_.cost().sync_s += outcome.seconds;
        if (error_.empty()) error_ = outcome.error;
        if (!error_.empty()) return;
        synced_ = target;
        unsynced_since_ = clock_.steady();
        while (!waiting_.empty() && waiting_.front().event <= synced_) {
          // Taken out first: an action may append another one.
          const auto action = std::move(waiting_.front().action);
          waiting_.pop_front();
          action();
        }
      });
}

void EventCommitter::require_place() {
  try {
    store_.require_place();
  } catch (const Error& error) {
    error_ = error.what();
    throw;
  }
}

}  // namespace tune
