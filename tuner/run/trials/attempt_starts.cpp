// Attempts: from a chosen trial to its first step, and what clones begin with.
#include <utility>

#include "tuner/model/ancestry.h"
#include "tuner/plain/command_words.h"
#include "tuner/run/trials/attempts.h"
#include "tuner/spec/spec_warnings.h"

namespace tune {

namespace {

bool is_of(const Allocation& allocation, const Resources& wanted) {
  auto held = allocation.amounts.begin();
  for (const auto& entry : wanted) {
    if (entry.second <= 0) continue;  // nobody holds nothing
    if (held == allocation.amounts.end() || *held++ != entry) return false;
  }
  return held == allocation.amounts.end();
}

CheckpointManager::Needs needs_of(const ExperimentSpec& spec) {
  if (!spec.plain) return {};
  const auto has_it = [](const std::string& text) { return has_word(text, config_file_word); };
  CheckpointManager::Needs needs{spec.plain->checkpoints};
  needs.config_file = std::any_of(spec.command.begin(), spec.command.end(), has_it) ||
                      std::any_of(spec.env.begin(), spec.env.end(),
                                  [&](const auto& variable) { return has_it(variable.second); });
  if (needs.checkpoints) {
    const auto& resume = needs.checkpoints->resume;
    needs.config_file = needs.config_file || std::any_of(resume.begin(), resume.end(), has_it);
  }
  return needs;
}

}  // namespace

Attempts::Attempts(Parts parts, Executor& executor, ResourcePool resources)
    : spec_(parts.spec),
      launch_(parts.launch),
      committer_(parts.committer),
      policies_(parts.policies),
      workers_(parts.workers),
      checkpoint_manager_(parts.checkpoint_manager),
      callbacks_(parts.callbacks),
      after_write_(parts.after_write),
      circuit_breaker_(parts.circuit_breaker),
      next_(parts.next),
      shutdown_(parts.shutdown),
      memory_(parts.memory),
      look_(parts.look),
      constraints_(constraints_of(spec_)),
      save_orders_(committer_.experiment().save_orders()),
      judge_(spec_.failure_config.retry_on, spec_.failure_config.never_retry_on),
      resources_(std::move(resources)),
      worker_groups_(executor, after_write_, committer_.clock(),
                     {.launch_s = spec_.launch_timeout_s,
                      .answer_s = spec_.trial_timeout_s,
                      .leave_s = spec_.stop_grace_s}),
      needs_(needs_of(spec_)),
      advice_(spec_, launch_.experiment_dir, committer_, workers_, callbacks_) {}

std::optional<Allocation> Attempts::acquire(const Resources& wanted) {
  return resources_.acquire(wanted, workers(), spec_.placement);
}

Attempts::Slot Attempts::find_slot() {
  const auto limit = spec_.max_concurrent_trials;
  if (limit && attempts_.size() >= static_cast<std::size_t>(*limit)) return {};
  if (!idle_.empty()) return {idle_.back(), std::nullopt};
  return {nullptr, acquire(spec_.resources_per_trial)};
}

std::string Attempts::place_awaited() const {
  const auto limit = spec_.max_concurrent_trials;
  if (limit && attempts_.size() >= static_cast<std::size_t>(*limit)) {
    return "a running trial to end (max_concurrent_trials is " + std::to_string(*limit) + ")";
  }
  return attempts_.empty() ? "resources of processes that have not ended yet"
                           : "resources that running trials have";
}

void Attempts::give_back(const Slot& slot) {
  if (slot.allocation) resources_.release(*slot.allocation);
}

bool Attempts::start(const NextTrial::Choice& chosen, Slot slot) {
  const TrialId id = chosen.trial;
  const Resources& wanted = resources_of(id);
  if (kept_.find(id) != nullptr && resume_warm(chosen, wanted, slot)) return true;
  if (!slot) return false;
  if (!is_of(slot.idle != nullptr ? slot.idle->allocation() : *slot.allocation, wanted)) {
    give_back(slot);
    if (slot.idle != nullptr) {
      // It keeps what it was launched with, until it is gone.
      idle_.pop_back();
      slot.idle->leave(WorkerGroup::StopLevel::request);
    }
    slot = {nullptr, acquire(wanted)};
    if (!slot) return false;
  }
  if (slot.idle != nullptr) idle_.pop_back();
  begin(chosen,
        slot.idle != nullptr ? *slot.idle : worker_groups_.open(std::move(*slot.allocation)));
  return true;
}

/// The trial goes on in the process that waits for it: true. Else `slot` is what it may have
/// instead, if it need not wait for room first.
bool Attempts::resume_warm(const NextTrial::Choice& chosen, const Resources& wanted, Slot& slot) {
  const TrialId id = chosen.trial;
  const WarmPool::Kept kept = *kept_.find(id);
  WorkerGroup& own = *kept.worker_group;
  const bool is_as_it_was = has_restore_point(id, kept);
  if (is_of(kept.held, wanted) && (is_as_it_was || own.can_reset())) {
    give_back(slot);
    if (slot.idle != nullptr) {
      // What it holds is this one's, once it is gone.
      idle_.pop_back();
      slot.idle->leave(WorkerGroup::StopLevel::request);
    }
    if (resources_.acquire_again(kept.held)) {
      kept_.remove(id);
      own.hold(kept.held);
      begin(chosen, own, is_as_it_was);
      return true;
    }
    slot = {nullptr, acquire(wanted)};
    if (!slot) return false;  // it goes on waiting
  }
  give_up(id);
  return false;
}

/// What the trial's next attempt takes. What there is no longer, after a resume, it does not wait
/// for.
const Resources& Attempts::resources_of(TrialId id) const {
  const Resources& own = trial(id).resources;
  return own.empty() || resources_.impossible(own, workers()) ? spec_.resources_per_trial : own;
}

void Attempts::require_possible(TrialId id, const Exploit& exploit) const {
  const auto reason = committer_.experiment().objection(id, exploit);
  if (!reason) return;
  throw scheduler_fault("that " + to_string(id) + " goes on as a copy of " +
                        to_string(exploit.donor) + ": " + *reason);
}

void Attempts::exploit(TrialId id, Exploit exploit) {
  require_possible(id, exploit);
  const auto before = trial(id).donor;
  committer_.commit(TrialExploited{id, std::move(exploit)});
  after_exploit(id, before);
}

/// The trial has become a clone; `before` is whose it was to be before that.
void Attempts::after_exploit(TrialId id, const std::optional<DonorCheckpoint>& before) {
  // A donor that has no checkpoint of what it is now saves at its next result.
  const auto& source = trial(id).donor;
  Attempt* const donating = source && source->index == 0 ? find(source->trial) : nullptr;
  if (donating != nullptr) donating->clone_waits = true;
  // What it was to be cloned from before this is nobody's any more.
  if (before) checkpoint_manager_.apply_retention(before->trial);
  tell("on_trial_exploit", [this, id, cloning = trial(id).lineage.back()](Callback& callback) {
    callback.on_trial_exploit(trial(id), cloning);
  });
}

/// `is_warm`: the process of the worker group has the trial's checkpoint in memory.
void Attempts::begin(const NextTrial::Choice& chosen, WorkerGroup& worker_group, bool is_warm) {
  committer_.require_place();  // else its directory would be made where the experiment was
  const TrialId id = chosen.trial;
  const Trial& waiting = trial(id);
  const bool was_started = waiting.attempt > 0;
  const int number = waiting.attempt + 1;
  const auto [owner, checkpoint] = committer_.experiment().restore_point(id);
  advice_.on_start(waiting, checkpoint);
  const auto before = waiting.donor;
  const Allocation& allocation = worker_group.allocation();
  const std::vector<int> gpus = allocation.gpus();
  const std::string devices = visible_devices(launch_, gpus);
  committer_.commit(AttemptStarted{id, number, checkpoint != nullptr ? checkpoint->index : 0, gpus,
                                   owner == id ? std::nullopt : std::optional(owner),
                                   spec_.plain && spec_.plain->checkpoints.has_value(),
                                   devices == numbers_of(gpus) ? "" : devices, chosen.by_searcher,
                                   launch_.node_names(allocation)});
  checkpoint_manager_.release(id, before);
  worker_group.trial = id;
  Attempt& attempt = attempts_[id];
  attempt.trial = id;
  attempt.number = number;
  attempt.worker_group = &worker_group;
  attempt.began_at = committer_.steady();
  attempt.save.trial = id;
  attempt.save.attempt = number;
  attempt.clone_waits = committer_.experiment().is_waited_for(id);
  circuit_breaker_.on_launch(id, committer_.steady());
  tell("on_trial_start", [this, id](Callback& callback) { callback.on_trial_start(trial(id)); });
  if (is_warm) {
    const auto process = worker_group.first();
    committer_.commit(ProcessStarted{id, number, process.pid, process.start_ticks});
    attempt.is_warm = true;
    attempt.life.apply(AttemptEvent::begin);
    worker_group.resume();
    step(attempt);
    return;
  }
  checkpoint_manager_.prepare(
      id, needs_,
      [this, id, number, was_started](CheckpointManager::Source source, const std::string& error) {
        if (was_started) {
          tell("on_trial_restore", [this, id, from = source.checkpoint](Callback& callback) {
            callback.on_trial_restore(trial(id), trial(from.trial).checkpoint(from.index));
          });
        }
        prepared(id, number, std::move(source), error);
      });
}

void Attempts::prepared(TrialId id, int number, CheckpointManager::Source source,
                        const std::string& error) {
  Attempt* const attempt = find(id);
  if (attempt == nullptr || attempt->number != number || attempt->life.is_ending()) {
    // It was ended meanwhile.
    const auto [owner, index] = source.checkpoint;
    if (index != 0) checkpoint_manager_.unpin(owner, index);
    return;
  }
  attempt->source = std::move(source);
  if (attempt->source.is_unmade) {
    circuit_breaker_.on_launch_failed(id, error, committer_.steady());
    end(*attempt, {.outcome = Outcome::interrupted, .reason = error, .blame = Blame::machine});
    return;
  }
  if (!error.empty()) {
    end(*attempt, Outcome::failed, error);
    return;
  }
  WorkerGroup& worker_group = *attempt->worker_group;
  if (worker_group.state() == WorkerGroup::State::idle) {
    const auto process = worker_group.first();
    committer_.commit(ProcessStarted{id, number, process.pid, process.start_ticks});
  }
  std::vector<LaunchSpec> processes =
      launch_specs(spec_, launch_, id, number, worker_group.allocation(), attempt->source.work);
  protocol::Start start = start_message(launch_, trial(id), worker_group.allocation(),
                                        processes.front(), attempt->source.directory);
  if (spec_.plain) {
    for (LaunchSpec& each : processes) {
      make_plain(each, spec_, trial(id), attempt->source.plain);
    }
    note_earlier(*processes.front().plain, *attempt);
    note_restored(*attempt);
  }
  attempt->life.apply(AttemptEvent::begin);
  worker_group.begin(std::move(processes), std::move(start));
  if (worker_group.state() == WorkerGroup::State::ready) set_out(*attempt);
}

/// What its trial has come to tells which of a program's lines are results, what the search has
/// saved which of them a save has.
void Attempts::note_earlier(PlainReading& reading, const Attempt& attempt) const {
  const TrialId id = attempt.trial;
  const std::string& metric = reading.closing.front();
  const auto [owner, index] = attempt.source.checkpoint;
  if (index != 0 && owner != id) {
    const auto donor = paths::trial(launch_.experiment_dir, owner);
    reading.donor_logs.push_back(paths::standard_output(donor));
    if (!spec_.merge_output) reading.donor_logs.push_back(paths::standard_error(donor));
  }
  const MetricSummary* const summary = trial(id).summary(metric);
  if (summary != nullptr) reading.last = summary->last;
  if (reading.checkpoints) reading.checkpoints->earlier = save_orders_;
  reading.earlier = reported_range(committer_.experiment(), id, metric);
}

}  // namespace tune
