// Decides when a snapshot is due, prepares trials' lines a few a turn, and writes and publishes
// them on a thread.
#include "tuner/run/commit/snapshots.h"

#include <algorithm>
#include <ctime>
#include <limits>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

namespace {

/// So many trials a turn are made into text as they end: a turn stays short, and a snapshot finds
/// little left to do.
constexpr std::size_t trials_per_turn = 64;

/// Lines do not wait for the next snapshot in memory beyond that.
constexpr std::size_t waiting_bytes = 1 << 20;

constexpr int most_doublings = 6;

/// Of this thread.
double processor_s() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

void take_snapshot(const Experiment& experiment, const Policies& policies, ExperimentStore& store,
                   CallbackList& callbacks, const Json& spec, TrialChanges& changes) {
  SnapshotParts parts;
  changes.take_all([&](TrialId trial) {
    parts.trials.add(trial, [&](std::string& out) { experiment.append_trial(out, trial); });
  });
  parts.event = experiment.last_event();
  // No session has begun: what this costs is recorded with the end of the one that follows.
  parts.state =
      take_state(experiment, policies.states(), callbacks, experiment.session_cost()).make(spec);
  parts.generation = store.start_generation(store.make_next_journal());
  store.write();
  store.sync();
  store.finish_generation();
  for (const auto& flush_durable : callbacks.flush_durable()) flush_durable({});
  store.publish(parts);
}

void change_spec(const Experiment& experiment, UnderSpec before, UnderSpec after,
                 ExperimentStore& store, CallbackList& callbacks, TrialChanges& changes,
                 bool has_snapshot) {
  const auto snapshot_under = [&](const UnderSpec& in_force) {
    take_snapshot(experiment, in_force.policies, store, callbacks, in_force.spec, changes);
  };
  if (!has_snapshot) snapshot_under(before);
  after.policies.load(encode_numbers(before.policies.save()));
  store.write_spec(after.spec);
  snapshot_under(after);
}

/// Of something done beside the loop.
struct Snapshots::Outcome {
  SnapshotParts parts;  ///< that have to be written once more
  std::uint64_t bytes = 0;
  Seconds took_s = 0;
  double cpu_s = 0;
  std::string error;

  template <class Work>
  static Outcome of(const EventCommitter& committer, SnapshotParts parts, const Work& work) {
    Outcome outcome;
    const Seconds started = committer.steady();
    const double cpu_before = processor_s();
    try {
      outcome.bytes = work(parts);
    } catch (const std::exception& error) {
      outcome.error = error.what();
      outcome.parts = std::move(parts);
    }
    outcome.took_s = committer.steady() - started;
    outcome.cpu_s = processor_s() - cpu_before;
    return outcome;
  }
};

Snapshots::Snapshots(EventCommitter& committer, Policies& policies, ExperimentStore& store,
                     Workers& workers, CallbackList& callbacks, Json spec,
                     std::optional<Seconds> period_s)
    : committer_(committer),
      policies_(policies),
      store_(store),
      workers_(workers),
      callbacks_(callbacks),
      spec_(std::move(spec)),
      period_s_(period_s),
      due_(committer.steady() + period_s.value_or(shortest_period_s)),
      last_event_(committer.experiment().last_event()) {}

bool Snapshots::is_wanted() const {
  return !stop_.stop_requested() && committer_.experiment().last_event() != last_event_;
}

Seconds Snapshots::deadline() const {
  return step_ == Step::idle && is_wanted() ? due_ : std::numeric_limits<Seconds>::infinity();
}

void Snapshots::turn() {
  if (stop_.stop_requested()) return;
  const Seconds started = committer_.steady();
  committer_.changes().take_ended(trials_per_turn, [this](TrialId trial) { add_trial(trial); });
  if (step_ == Step::idle && is_wanted() && due_ <= started) {
    prepare();
  } else if (step_ == Step::prepared && !is_handing_over_ && committer_.is_between_writes()) {
    // Between two writes, so that each event is in one journal.
    take();
  }
  if (lines_.bytes() >= waiting_bytes && step_ != Step::publishing && may_hand_over_) {
    hand_lines_over();
  }
  const Seconds took = committer_.steady() - started;
  store_.cost().snapshot_s += took;
  loop_s_ += took;
}

void Snapshots::add_trial(TrialId trial) {
  lines_.add(trial, [&](std::string& out) { committer_.experiment().append_trial(out, trial); });
}

void Snapshots::hand_lines_over() {
  if (is_handing_over_) return;
  is_handing_over_ = true;
  SnapshotParts parts;
  parts.trials = std::exchange(lines_, {});
  workers_.post(
      Lane::snapshots,
      [this, parts = std::move(parts)]() mutable {
        return Outcome::of(committer_, std::move(parts), [this](const SnapshotParts& given) {
          return store_.add_trials(given.trials);
        });
      },
      [this](Outcome outcome) {
        is_handing_over_ = false;
        may_hand_over_ = outcome.error.empty();
        take_note(outcome);
      });
}

void Snapshots::take_note(Outcome& outcome) {
  StateCost& cost = store_.cost();
  cost.publish_s += outcome.took_s;
  cost.publish_cpu_s += outcome.cpu_s;
  cost.snapshot_bytes += outcome.bytes;
  if (outcome.error.empty()) return;
  outcome.parts.trials.add(std::exchange(lines_, {}));
  lines_ = std::move(outcome.parts.trials);
}

void Snapshots::prepare() {
  struct Prepared {
    std::unique_ptr<Journal> journal;
    std::string error;
  };
  step_ = Step::preparing;
  started_ = committer_.steady();
  loop_s_ = 0;
  workers_.post(
      Lane::snapshots,
      [this]() -> Prepared {
        try {
          return {store_.make_next_journal(), ""};
        } catch (const Error& error) {
          return {nullptr, error.what()};
        }
      },
      [this](Prepared prepared) {
        if (prepared.journal == nullptr) {
          fail(prepared.error);
          return;
        }
        next_ = std::move(prepared.journal);
        step_ = Step::prepared;
      });
}

void Snapshots::take() {
  step_ = Step::publishing;
  committer_.changes().take_all([this](TrialId trial) { add_trial(trial); });
  parts_.event = last_event_ = committer_.experiment().last_event();
  parts_.trials = std::exchange(lines_, {});
  state_ =
      take_state(committer_.experiment(), policies_.states_of_others(), callbacks_, store_.cost());
  taken_under_ = spec_;
  taken_under_.update(committer_.experiment().spec_changes());
  flushes_ = callbacks_.flush_durable();
  parts_.generation = store_.start_generation(std::move(next_));
  is_durable_ = is_state_there_ = false;
  policies_.searcher.save([this](Json searcher) {
    state_.policies.searcher = std::move(searcher);
    is_state_there_ = true;
    publish();
  });
  committer_.when_durable([this] {
    store_.finish_generation();
    is_durable_ = true;
    publish();
  });
}

void Snapshots::publish() {
  // Needs both: the events before it on disk, or it would be ahead of the journal; and the state of
  // the searcher, which comes later if that is at work on a thread.
  if (!is_durable_ || !is_state_there_) return;
  workers_.post(
      Lane::snapshots,
      [this, parts = std::move(parts_), state = std::move(state_), spec = std::move(taken_under_),
       flushes = std::move(flushes_), stop = stop_.get_token()]() mutable {
        return Outcome::of(committer_, std::move(parts), [&](SnapshotParts& given) {
          // First: once the snapshot is in force, the results in these files are not replayed any
          // more.
          for (const auto& flush_durable : flushes) flush_durable(stop);
          given.state = state.make(spec);
          return store_.publish(given);
        });
      },
      [this](Outcome outcome) { finish(outcome); });
}

void Snapshots::finish(Outcome& outcome) {
  take_note(outcome);
  if (!outcome.error.empty()) {
    fail(outcome.error);
    return;
  }
  ++store_.cost().snapshots;
  failures_ = 0;
  may_hand_over_ = true;
  step_ = Step::idle;
  due_ = period_s_ ? started_ + *period_s_
                   : committer_.steady() +
                         std::max(shortest_period_s, cost_factor * (loop_s_ + outcome.took_s));
}

void Snapshots::fail(const std::string& error) {
  if (stop_.stop_requested()) return;
  step_ = Step::idle;
  // Each try leaves one more journal in the chain: what is wrong with a disk may last for days.
  due_ = committer_.steady() +
         period_s_.value_or(shortest_period_s) * (1 << std::min(failures_, most_doublings));
  last_event_ = 0;  // the state is not in a snapshot yet, even if nothing more happens
  if (failures_++ > 0) return;
  callbacks_.notice("no snapshot could be taken, the journal goes on alone: " + error);
}

}  // namespace tune
