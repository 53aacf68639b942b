// The fold: one `on` for each type of event, each of which checks that the event can follow on the
// state before.
#include "tuner/model/experiment.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/model/own_checkpoint.h"

namespace tune {

namespace {

[[noreturn]] void contradiction(const std::string& sentence) {
  throw std::invalid_argument(sentence);
}

/// A search may keep very many trials that have ended: what only a running one needs goes.
void make_small(Trial& trial) {
  trial.checkpoints.shrink_to_fit();
  trial.lineage.shrink_to_fit();
  trial.why.shrink_to_fit();
}

/// The driver's view of the trial goes back to `checkpoint`, or to the start.
void rewind(Trial& trial, const Checkpoint* checkpoint) {
  trial.iteration = checkpoint != nullptr ? checkpoint->iteration : 0;
  trial.time_total_s = checkpoint != nullptr ? checkpoint->time_total_s : 0;
  trial.timesteps_total = checkpoint != nullptr ? checkpoint->timesteps_total : std::nullopt;
  trial.episodes_total = checkpoint != nullptr ? checkpoint->episodes_total : std::nullopt;
  trial.restored_iteration = trial.iteration;
  trial.last_guess = std::min(trial.last_guess, trial.iteration);
  if (trial.last_guess < trial.first_guess) trial.first_guess = trial.last_guess = 0;
  trial.restored_time_s = trial.time_total_s;
  trial.restored_guess = false;
}

void require_running(const Trial& trial, int attempt, const char* what) {
  if (trial.state == TrialState::running && trial.attempt == attempt) return;
  contradiction(std::string(what) + " of attempt " + std::to_string(attempt) + " of " +
                to_string(trial.id) + ", which is " + to_string(trial.state) + " at attempt " +
                std::to_string(trial.attempt));
}

}  // namespace

void Experiment::apply(const Event& event) {
  if (event.number != last_event_ + 1) {
    contradiction("record " + std::to_string(event.number) + " follows record " +
                  std::to_string(last_event_));
  }
  std::visit([&](const auto& body) { on(body, event.time); }, event.body);
  last_event_ = event.number;
  last_time_ = event.time;
}

const Trial& Experiment::trial(TrialId id) const {
  ensure(index_of(id) < trials_.size(), "a trial that is asked for exists");
  return trials_[index_of(id)];
}

Trial& Experiment::find(TrialId id) {
  if (index_of(id) >= trials_.size()) contradiction("unknown " + to_string(id));
  return trials_[index_of(id)];
}

std::size_t Experiment::count(TrialState state) const {
  switch (state) {
    case TrialState::pending:
      return pending_.size();
    case TrialState::running:
      return running_.size();
    case TrialState::paused:
      return paused_.size();
    case TrialState::terminated:
      return count(TrialEnd::completed) + count(TrialEnd::pruned) + count(TrialEnd::stopped);
    case TrialState::error:
      return count(TrialEnd::failed);
  }
  return 0;
}

std::size_t Experiment::count(TrialEnd end) const { return ended_[static_cast<std::size_t>(end)]; }

StateCost Experiment::cost() const {
  StateCost sum = cost_;
  return sum += session_cost_;
}

Seconds Experiment::running_s(Seconds now) const {
  const bool in_session = session_started_ != 0;
  return earlier_sessions_s_ + (in_session ? std::max(0.0, now - session_started_) : 0);
}

void Experiment::set_state(Trial& trial, TrialState state, Seconds time) {
  const auto queued = queued_.find(trial.id);
  if (queued != queued_.end()) {
    auto& queue = trial.state == TrialState::pending ? pending_ : paused_;
    queue.erase({queued->second, trial.id});
    queued_.erase(queued);
  }
  running_.erase(trial.id);
  trial.state = state;
  if (state != TrialState::running) shapes_.make_compact(trial.last_metrics);
  if (is_final(state)) {
    lifetimes_.add(trial.occupied_s);
    trial.held.reset();
    trial.ended = time;
    set_donor(trial, std::nullopt);
    drop_recent(trial.summaries, trial.recent);
    make_small(trial);
    positions_.erase(trial.id);
  }
  if (state != TrialState::running) thin_marks(trial);
  take_its_place(trial, last_event_ + 1);
}

void Experiment::set_waiting(Trial& trial, TrialState state, Seconds time) {
  if (trial.held) trial.held = state;
  set_state(trial, trial.held ? TrialState::paused : state, time);
}

void Experiment::take_its_place(const Trial& trial, std::uint64_t place) {
  switch (trial.state) {
    case TrialState::pending:
      pending_.insert({place, trial.id});
      queued_[trial.id] = place;
      break;
    case TrialState::paused:
      paused_.insert({place, trial.id});
      queued_[trial.id] = place;
      break;
    case TrialState::running:
      running_.insert(trial.id);
      break;
    case TrialState::terminated:
    case TrialState::error:
      ++ended_[static_cast<std::size_t>(*trial.end())];
      break;
  }
}

void Experiment::on(const SessionStarted& event, Seconds time) {
  host_ = event.host;
  ran_ = event.ran;
  // A session that has no end of its own died at about its last record, and its trials with it.
  for (auto& [id, attempt] : attempts_) {
    if (attempt.since != 0) find(id).occupied_s += std::max(0.0, last_time_ - attempt.since);
    attempt.since = time;
  }
  cost_ = cost();
  session_cost_ = {};
  earlier_sessions_s_ = running_s(last_time_);
  session_started_ = time;
  if (started_ == 0) started_ = time;
  ++sessions_;
  // Whatever made an earlier session end does not bind this one.
  stop_reason_.clear();
  stop_keeps_ = false;
  session_end_.clear();
  session_ended_.reset();
  // Whoever starts a session has taken them into the spec that it runs under.
  spec_changes_ = Json::object();
}

void Experiment::on(const SpecChanged& event, Seconds) {
  const Json fields = Json::parse(event.fields, nullptr, false);
  if (!fields.is_object()) contradiction("the changed fields of a spec are no object");
  spec_changes_.update(fields);
}

void Experiment::on(const TrialHeld& event, Seconds time) {
  Trial& trial = find(event.trial);
  if (is_final(trial.state) || trial.held.has_value() != event.released) {
    contradiction(to_string(trial.id) + " is " + (event.released ? "released" : "held") +
                  ", but is " + (trial.held ? "held, " : "") + to_string(trial.state));
  }
  const bool waits = trial.state != TrialState::running;
  if (event.released) {
    const TrialState without = *std::exchange(trial.held, std::nullopt);
    if (waits) set_state(trial, without, time);
  } else {
    trial.held = trial.state;
    if (waits) set_state(trial, TrialState::paused, time);
  }
}

void Experiment::on(const TrialAdded& event, Seconds time) {
  if (index_of(event.trial) != trials_.size()) {
    contradiction(to_string(event.trial) + " is added as number " + std::to_string(trials_.size()));
  }
  Trial trial;
  trial.id = event.trial;
  trial.config = event.config;
  shapes_.make_compact(trial.config);
  trial.tag = event.tag;
  trial.start_checkpoint = event.start_checkpoint;
  trial.by_hand = event.by_hand;
  added_by_hand_ += event.by_hand ? 1 : 0;
  trials_.push_back(std::move(trial));
  set_state(trials_.back(), TrialState::pending, time);
}

void Experiment::on(const AttemptStarted& event, Seconds time) {
  Trial& trial = find(event.trial);
  if (trial.state != TrialState::pending && trial.state != TrialState::paused) {
    contradiction("an attempt of " + to_string(trial.id) + ", which is " + to_string(trial.state));
  }
  if (trial.held) contradiction("an attempt of " + to_string(trial.id) + ", which is held");
  const Trial& owner = event.donor ? find(*event.donor) : trial;
  const Checkpoint* const checkpoint =
      event.checkpoint == 0 ? nullptr : owner.checkpoint(event.checkpoint);
  if (event.checkpoint != 0 && checkpoint == nullptr) {
    contradiction("an attempt from checkpoint " + std::to_string(event.checkpoint) + " that " +
                  to_string(owner.id) + " does not have");
  }
  if (event.donor) renew_donor(trial);  // an older program has not, as it took the trial up again
  if (event.donor && !trial.donor) {
    contradiction(to_string(trial.id) + " starts from a checkpoint of " + to_string(*event.donor) +
                  " and is no clone of it");
  }
  set_state(trial, TrialState::running, time);
  trial.attempt = event.attempt;
  attempts_[trial.id] = {.since = time};
  start_from(trial, owner.id, checkpoint, time);
  trial.saves_itself = event.saves_itself;
  trial.stopping = trial.last_save_due = trial.pausing = false;
  if (trial.ended_by == EndedBy::nobody) trial.why.clear();
  trial.not_before = 0;
  if (event.donor) {
    set_donor(trial, DonorCheckpoint{*event.donor, event.checkpoint, trial.donor->attempt});
  }
  if (trial.started == 0) trial.started = time;
  trial.host = kept_name(event.node.empty() ? host_ : event.node);
  trial.gpus = event.devices.empty() ? numbers_of(event.gpus) : event.devices;
}

void Experiment::close_attempt(Trial& trial, Seconds time) {
  const auto found = attempts_.find(trial.id);
  if (found == attempts_.end()) return;
  if (found->second.since != 0) trial.occupied_s += std::max(0.0, time - found->second.since);
  attempts_.erase(found);
}

/// The trial goes back to the checkpoint, or to the start.
void Experiment::start_from(Trial& trial, TrialId owner, const Checkpoint* checkpoint,
                            Seconds time) {
  const bool begins_anew = note_start(trial, owner, checkpoint, time);
  if (begins_anew) trial.counted_iteration = checkpoint != nullptr ? checkpoint->iteration : 0;
  rewind_summaries(trial, owner, checkpoint);
  const bool is_guess = checkpoint != nullptr && goes_on_from_guess(*checkpoint, find(owner));
  if (checkpoint != nullptr && is_ahead_of(*checkpoint, owner, trial)) {
    // It is given the results in between as if it had just come to them.
    trial.restored_guess = trial.is_at_guess();
    trial.restored_iteration = trial.iteration;
    trial.restored_time_s = trial.time_total_s;
  } else {
    rewind(trial, checkpoint);
    trial.restored_guess = is_guess;
  }
}

void Experiment::on(const ProcessStarted& event, Seconds) {
  require_running(find(event.trial), event.attempt, "a process");
  processes_[event.trial] = event;
}

void Experiment::on(const ResultReported& event, Seconds time) {
  Trial& trial = find(event.trial);
  require_running(trial, event.attempt, "a result");
  const Result& result = event.result;
  if (result.training_iteration <= trial.iteration) {
    contradiction("iteration " + std::to_string(result.training_iteration) + " of " +
                  to_string(trial.id) + " after iteration " + std::to_string(trial.iteration));
  }
  attempts_[trial.id].last_result = time;
  trial.iteration = result.training_iteration;
  trial.restored_guess = false;
  if (result.iteration_is_guess) {
    if (trial.first_guess == 0) trial.first_guess = trial.iteration;
    trial.last_guess = trial.iteration;
  }
  trial.time_total_s = result.time_total_s;
  trial.timesteps_total = result.timesteps_total;
  trial.episodes_total = result.episodes_total;
  trial.last_metrics = result.metrics.text;
  trial.counted_iteration = std::max(trial.counted_iteration, trial.iteration);
  add(trial, result.metrics);
  if (event.decision.checkpoint || trial.saves_itself) set_mark(trial, trial.iteration);
  // A wish to stop it, too, outlasts the result, and is not delayed for a save.
  const bool ends = event.decision.action == Action::stop;
  trial.last_save_due = ends && event.decision.checkpoint && !trial.stopping;
  if (ends && !trial.stopping) note_end(trial, event);
  const bool is_judged = trial.ended_by == EndedBy::rule || trial.ended_by == EndedBy::scheduler;
  if (trial.last_save_due && is_judged) {
    trial.end_iteration = trial.iteration;
  } else if (!ends && trial.iteration >= trial.end_iteration) {
    trial.end_iteration = 0;  // a changed rule lets it go on
  }
  trial.stopping = trial.stopping || ends;
  trial.stopped_by_rule = event.decision.by_rule;
  trial.pausing = event.decision.action == Action::pause;
  const bool is_on_its_way = trial.end_iteration != 0;  // where it ends, and why, is known
  if (!trial.stopping && !is_on_its_way) {
    trial.why = trial.pausing ? event.decision.why.words() : "";
  }
  if (event.decision.resources) trial.resources = *event.decision.resources;
  if (event.decision.exploit) exploit(trial, *event.decision.exploit, time);
  ++results_;
}

void Experiment::note_end(Trial& trial, const ResultReported& event) const {
  const Decision& decision = event.decision;
  if (event.result.done) {
    trial.ended_by = EndedBy::done;
    trial.why.clear();
  } else if (stop_ends_trials()) {
    trial.ended_by = EndedBy::run;
    trial.why = stop_reason_;
  } else {
    trial.ended_by = decision.by_rule ? EndedBy::rule : EndedBy::scheduler;
    trial.at_max = decision.at_max && !decision.by_rule;
    // One that comes once more to where it was to end, has the reason that it had.
    if (trial.end_iteration != trial.iteration) trial.why = decision.why.words();
  }
}

/// A program that gives each save a name of its own has no order that could be known.
void Experiment::note_order(const Checkpoint& checkpoint) {
  constexpr std::size_t most_kinds = 16;
  if (!checkpoint.order) return;
  const bool is_known = save_orders_.contains(checkpoint.kind);
  if (is_known || save_orders_.size() < most_kinds) {
    save_orders_[checkpoint.kind] = *checkpoint.order;
  }
}

void Experiment::on(const CheckpointCommitted& event, Seconds) {
  Trial& trial = find(event.trial);
  if (trial.checkpoint(event.checkpoint.index) != nullptr) {
    contradiction("checkpoint " + std::to_string(event.checkpoint.index) + " of " +
                  to_string(trial.id) + " is committed twice");
  }
  auto& checkpoints = trial.checkpoints;
  const auto after = std::find_if(checkpoints.begin(), checkpoints.end(), [&](const auto& other) {
    return other.index > event.checkpoint.index;
  });
  checkpoints.insert(after, event.checkpoint);
  note_order(event.checkpoint);
  trial.saves = std::max(trial.saves, event.checkpoint.index);
  trial.failed_saves_in_a_row = 0;
  if (event.checkpoint.iteration >= trial.iteration) {
    trial.last_save_due = false;
    // Nobody had decided on it with the result.
    const bool is_marked = !trial.marks.empty() && trial.marks.back().iteration == trial.iteration;
    if (!is_marked && trial.iteration > 0) set_mark(trial, trial.iteration);
  }
  thin_marks(trial);
  // One that was on its way when the trial became a clone is of what it was before.
  const bool counts = trial.donor && trial.attempt > trial.donor->attempt;
  if (counts && is_of_present(trial, event.checkpoint)) set_donor(trial, std::nullopt);
  ++saves_.committed;
  saves_.bytes += event.checkpoint.bytes;
  saves_.save_s += event.checkpoint.save_s;
  saves_.commit_s += event.checkpoint.commit_s;
  saves_.max_save_s = std::max(saves_.max_save_s, event.checkpoint.save_s);
  saves_.max_commit_s = std::max(saves_.max_commit_s, event.checkpoint.commit_s);
  if (event.checkpoint.slowest_rank) ++saves_.slowest[*event.checkpoint.slowest_rank];
}

void Experiment::on(const CheckpointFailed& event, Seconds) {
  Trial& trial = find(event.trial);
  trial.saves = std::max(trial.saves, event.index);
  ++trial.failed_saves;
  trial.save_error = event.reason;
  ++trial.failed_saves_in_a_row;
  trial.last_save_due = false;
  ++saves_.failed;
}

void Experiment::on(const CheckpointsDropped& event, Seconds) {
  Trial& trial = find(event.trial);
  for (const int index : event.indices) {
    if (std::erase_if(trial.checkpoints, [&](const auto& c) { return c.index == index; }) != 1) {
      contradiction("checkpoint " + std::to_string(index) + ", which " + to_string(trial.id) +
                    " does not have, is dropped");
    }
  }
  if (is_final(trial.state)) trial.checkpoints.shrink_to_fit();
  thin_marks(trial);
}

void Experiment::on(const CheckpointDamaged& event, Seconds time) {
  Trial& trial = find(event.trial);
  std::erase_if(trial.checkpoints, [&](const auto& c) { return c.index == event.index; });
  // It was to be restored from it, and is from the one before instead.
  Trial& restored = event.clone ? find(*event.clone) : trial;
  const bool just_started =
      restored.state == TrialState::running && restored.iteration == restored.restored_iteration;
  const bool has_begun_as_clone =
      !restored.lineage.empty() && restored.lineage.back().attempt == restored.attempt;
  // A clone that has not trained as one goes on from what it has itself, and begins with that.
  if (just_started && has_begun_as_clone) restored.lineage.back().started = 0;
  renew_donor(trial);
  if (!just_started) return;
  const auto [owner, checkpoint] = restore_point(restored.id);
  start_from(restored, owner, checkpoint, time);
  if (owner == restored.id) {
    set_donor(restored, std::nullopt);
  } else {
    set_donor(restored, DonorCheckpoint{owner, checkpoint->index, restored.donor->attempt});
  }
}

void Experiment::on(const AttemptEnded& event, Seconds time) {
  Trial& trial = find(event.trial);
  require_running(trial, event.attempt, "the end");
  processes_.erase(event.trial);
  close_attempt(trial, time);
  switch (event.outcome) {
    case Outcome::completed:
      trial.error = {};
      if (!trial.stopping) {
        trial.ended_by = event.by;
        // A copy that had nothing to train has no result of its own to show.
        const bool is_donors = trial.donor && trial.iteration == trial.restored_iteration;
        trial.why = is_donors ? event.reason : "";
      }
      set_state(trial, TrialState::terminated, time);
      break;
    case Outcome::paused:
      set_waiting(trial, TrialState::paused, time);
      break;
    case Outcome::exploiting:
      set_waiting(trial, TrialState::pending, time);
      break;
    case Outcome::interrupted: {
      const bool is_over = trial.stopping && !trial.last_save_due;
      // It has got as far as it was to get: whether it goes on is the scheduler's to say.
      const Checkpoint* const latest = trial.latest_checkpoint();
      const bool is_paused =
          trial.pausing && latest != nullptr && latest->iteration >= trial.iteration;
      if (is_over) {
        set_state(trial, TrialState::terminated, time);
      } else {
        set_waiting(trial, is_paused ? TrialState::paused : TrialState::pending, time);
      }
      break;
    }
    case Outcome::failed:
      trial.error = event.reason;
      ++trial.failures;
      trial.not_before = event.not_before;
      if (!event.retry) {
        trial.ended_by = EndedBy::failure;
        trial.why = event.reason.substr(0, event.reason.find('\n'));
      }
      if (event.retry) {
        set_waiting(trial, TrialState::pending, time);
      } else {
        set_state(trial, TrialState::error, time);
      }
      break;
  }
}

void Experiment::on(const StopRequested& event, Seconds) {
  stop_reason_ = event.reason;
  stop_keeps_ = event.keeps;
}

void Experiment::on(const ClockStepped& event, Seconds) {
  if (session_started_ != 0) session_started_ += event.by_s;
}

void Experiment::on(const TrialStopRequested& event, Seconds time) {
  Trial& trial = find(event.trial);
  trial.ended_by = event.by;
  trial.at_max = false;
  trial.why = event.reason;
  if (trial.state == TrialState::running) {
    trial.stopping = true;
  } else if (!is_final(trial.state)) {
    set_state(trial, TrialState::terminated, time);
  } else {
    contradiction("a stop of " + to_string(trial.id) + ", which is " + to_string(trial.state));
  }
}

void Experiment::on(const SessionEnded& event, Seconds time) {
  cost_ += event.cost;
  session_cost_ = {};
  earlier_sessions_s_ = running_s(time);
  session_started_ = 0;
  session_end_ = event.reason;
  session_ended_ = event.how;
}

void Experiment::on(const TrialRequeued& event, Seconds time) {
  Trial& trial = find(event.trial);
  if (!is_final(trial.state)) {
    contradiction(to_string(trial.id) + " is queued again, but is " + to_string(trial.state));
  }
  --ended_[static_cast<std::size_t>(*trial.end())];
  lifetimes_.remove(trial.occupied_s);
  trial.ended = 0;
  trial.failures = 0;
  trial.not_before = 0;
  trial.stopping = trial.last_save_due = false;
  trial.stopped_by_rule = false;
  trial.end_iteration = 0;
  trial.ended_by = EndedBy::nobody;
  trial.at_max = false;
  trial.why.clear();
  if (event.from_scratch) {
    // Clones that were made of it before are no copies of what it will be.
    if (!trial.lineage.empty()) {
      add_cloning(trial, trial.id, trial.config, time);
      // At once: whose copy it was is nothing to go back to.
      note_start(trial, trial.id, nullptr, time);
      trial.lineage.back().attempt = trial.attempt + 1;
    }
    rewind(trial, nullptr);
    trial.occupied_s = 0;
    trial.error = {};
    trial.resources = {};
    trial.counted_iteration = 0;
    set_donor(trial, std::nullopt);
    forget_summaries(trial);
    trial.checkpoints.clear();
  }
  set_state(trial, TrialState::pending, time);
  renew_donor(trial);
}

}  // namespace tune
