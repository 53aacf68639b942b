// Loop: from a chosen trial to its first step.
#include <algorithm>

#include "tuner/core/error.h"
#include "tuner/loop/loop.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

bool is_of(const Allocation& allocation, Resources wanted) {
  std::erase_if(wanted, [](const auto& entry) { return entry.second <= 0; });
  return allocation.amounts == wanted;
}

Error scheduler_fault(const std::string& what) {
  return user_error("the scheduler asks for what is not possible, " + what +
                    "; the run was ended, and what was recorded before is kept");
}

}  // namespace

/// Starts one more trial; false if there is none, or nothing to run it on.
bool Loop::start_next() {
  const auto limit = spec_.max_concurrent_trials;
  if (limit && attempts_.size() >= static_cast<std::size_t>(*limit)) return false;
  std::optional<Allocation> allocation;
  std::optional<LaunchId> idle;
  if (!idle_.empty()) {
    idle = idle_.back();
    allocation = find_process(*idle)->allocation;
  } else {
    allocation = resources_.acquire(spec_.resources_per_trial);
  }
  if (!allocation) return false;
  const auto trial = choose_trial();
  const bool has_space = options_.disk == nullptr || !trial || options_.disk->allows_launch();
  if (!trial || !has_space) {
    if (!idle) resources_.release(*allocation);
    return false;
  }
  const Resources wanted = resources_of(*trial);
  if (!is_of(*allocation, wanted)) {
    // A process keeps what it was launched with.
    if (idle) {
      leave(*find_process(*idle), TrialProcess::Leaving::asked);
      idle.reset();
    } else {
      resources_.release(*allocation);
    }
    allocation = resources_.acquire(wanted);
    if (!allocation) return false;
  }
  if (idle) {
    idle_.pop_back();
    find_process(*idle)->idle = false;
  }
  start_attempt(*trial, std::move(*allocation), idle);
  return true;
}

/// What the trial's next attempt takes. What there is no longer, after a resume, it does not wait
/// for.
Resources Loop::resources_of(TrialId id) const {
  const Resources& own = trial(id).resources;
  return own.empty() || resources_.impossible(own) ? spec_.resources_per_trial : own;
}

/// What the scheduler wants of trials that have not reported just now.
void Loop::carry_out_orders() {
  while (auto order = policies_.scheduler->order()) {
    const TrialId id = order->trial;
    if (index_of(id) >= ledger_.experiment().trials().size()) {
      throw scheduler_fault("an order for " + to_string(id) + ", which there is not");
    }
    const bool runs = trial(id).state == TrialState::running;
    if (is_final(trial(id).state) || (runs && order->exploit)) break;  // asked again next turn
    if (order->exploit) require_possible(id, *order->exploit);
    if (order->exploit) {
      const auto before = trial(id).donor;
      ledger_.commit(TrialExploited{id, std::move(*order->exploit)});
      after_exploit(id, before);
    } else {
      stop_trial(id, order->reason);
    }
  }
}

void Loop::require_possible(TrialId id, const Exploit& exploit) const {
  const auto reason = ledger_.experiment().objection(id, exploit);
  if (!reason) return;
  throw scheduler_fault("that " + to_string(id) + " goes on as a copy of " +
                        to_string(exploit.donor) + ": " + *reason);
}

std::optional<TrialId> Loop::ask_whom_to_start(Seconds now, bool more) const {
  const Experiment& experiment = ledger_.experiment();
  const auto chosen = policies_.scheduler->choose(experiment, now, more);
  if (!chosen) return std::nullopt;
  const bool is_known = index_of(*chosen) < experiment.trials().size();
  const bool is_waiting = is_known && (trial(*chosen).state == TrialState::pending ||
                                       trial(*chosen).state == TrialState::paused);
  if (is_waiting && experiment.may_start(*chosen, now)) return chosen;
  throw scheduler_fault("the start of " + to_string(*chosen) + ", which " +
                        (!is_known    ? "there is not"
                         : is_waiting ? "has to wait yet"
                                      : std::string("is ") + to_string(trial(*chosen).state)));
}

/// The trial has become a clone; `before` is whose it was to be before that.
void Loop::after_exploit(TrialId id, const std::optional<DonorCheckpoint>& before) {
  // A donor that has no checkpoint of what it is now saves at its next result.
  const auto& source = trial(id).donor;
  Attempt* const donating = source && source->index == 0 ? find_attempt(source->trial) : nullptr;
  if (donating != nullptr) donating->save_asked = true;
  // What it was to be cloned from before this is nobody's any more.
  if (before) saver_.apply_retention(before->trial);
  tell("on_trial_exploit", [this, id, cloning = trial(id).lineage.back()](Callback& callback) {
    callback.on_trial_exploit(trial(id), cloning);
  });
}

std::optional<TrialId> Loop::choose_trial() {
  const Experiment& experiment = ledger_.experiment();
  const Seconds now = ledger_.now();
  if (!options_.only.empty()) return choose_named(now);
  if (const auto chosen = ask_whom_to_start(now, true)) return chosen;
  wait_for_retries(now);
  const TrialId id{static_cast<std::uint32_t>(experiment.trials().size())};
  ask_searcher(id, true);
  auto answer = policies_.searcher.answer(id);
  if (!answer) return std::nullopt;
  if (auto* const suggestion = std::get_if<Suggestion>(&*answer)) {
    ledger_.commit(TrialAdded{id, config_of(id, *suggestion), std::move(suggestion->tag),
                              spec_.resume_from_checkpoint.string()});
    carry_out_orders();  // the scheduler may want another config for it
    return is_final(trial(id).state) ? choose_trial() : id;
  }
  if (const auto chosen = ask_whom_to_start(now, false)) return chosen;
  nothing_left_ = attempts_.empty() && retry_at_ == never_s;
  searcher_waits_ = std::holds_alternative<NothingNow>(*answer);
  return std::nullopt;
}

void Loop::wait_for_retries(Seconds now) {
  for (; !delayed_.empty(); delayed_.erase(delayed_.begin())) {
    const auto [at, id] = *delayed_.begin();
    const bool waits = trial(id).state == TrialState::pending && trial(id).not_before == at;
    if (!waits || at <= now) continue;
    retry_at_ = std::min(retry_at_, at);
    return;
  }
}

/// At the end of a run that nobody has stopped.
void Loop::say_what_is_left() {
  if (!options_.only.empty()) return;  // the others were not to run
  if (searcher_waits_) {
    callbacks_.notice("the searcher waits for results, but no trial is left that could give one");
  }
  const Experiment& experiment = ledger_.experiment();
  const std::size_t waiting = experiment.pending().size() + experiment.paused().size();
  if (waiting > 0) {
    callbacks_.notice(std::to_string(waiting) + (waiting == 1 ? " trial is" : " trials are") +
                      " left waiting: the scheduler would go on only after results of new "
                      "trials, and there are no more");
  }
}

/// If it may take long: its answer comes with a later turn.
void Loop::ask_searcher(TrialId next, bool needed) {
  while (const auto trial = policies_.searcher.to_ask(next, needed)) {
    ledger_.commit(SuggestionAsked{*trial});
  }
}

/// Of the trials that alone are to run in this session: the user has chosen, no policy is asked.
std::optional<TrialId> Loop::choose_named(Seconds now) {
  const Experiment& experiment = ledger_.experiment();
  for (const auto* const queue : {&experiment.pending(), &experiment.paused()}) {
    for (const auto& [place, id] : *queue) {
      if (!options_.only.contains(id)) continue;
      if (experiment.may_start(id, now)) return id;
      retry_at_ = std::min(retry_at_, trial(id).not_before);
    }
  }
  nothing_left_ = attempts_.empty() && retry_at_ == never_s;
  return std::nullopt;
}

void Loop::start_attempt(TrialId id, Allocation allocation, std::optional<LaunchId> idle) {
  const Trial& chosen = trial(id);
  const bool was_started = chosen.attempt > 0;
  const auto [owner, checkpoint] = ledger_.experiment().restore_point(id);
  Attempt attempt;
  attempt.trial = id;
  attempt.number = chosen.attempt + 1;
  attempt.allocation = std::move(allocation);
  attempt.save.trial = id;
  attempt.save.attempt = attempt.number;
  // A clone waits for its checkpoint.
  attempt.save_asked = ledger_.experiment().is_waited_for(id);
  const auto before = chosen.donor;
  ledger_.commit(AttemptStarted{id, attempt.number, checkpoint != nullptr ? checkpoint->index : 0,
                                attempt.allocation.gpus,
                                owner == id ? std::nullopt : std::optional(owner)});
  saver_.release(id, before);
  const int number = attempt.number;
  attempts_.emplace(id, std::move(attempt));
  tell("on_trial_start", [this, id](Callback& callback) { callback.on_trial_start(trial(id)); });
  saver_.prepare(
      id, [this, id, number, idle, was_started](Saver::Source source, const std::string& error) {
        if (was_started) {
          tell("on_trial_restore", [this, id, from = source.checkpoint](Callback& callback) {
            callback.on_trial_restore(trial(id), trial(from.trial).checkpoint(from.index));
          });
        }
        prepared(id, number, idle, source, error);
      });
}

void Loop::prepared(TrialId id, int number, std::optional<LaunchId> idle, Saver::Source source,
                    const std::string& error) {
  Attempt* const attempt = find_attempt(id);
  if (attempt == nullptr || attempt->number != number || attempt->ending) {
    // It was ended meanwhile; the process that it would have had is nobody's.
    const auto [owner, index] = source.checkpoint;
    if (index != 0) saver_.unpin(owner, index);
    if (idle && find_process(*idle) != nullptr)
      leave(*find_process(*idle), TrialProcess::Leaving::asked);
    return;
  }
  attempt->source = std::move(source);
  attempt->phase = Attempt::Phase::starting;
  if (!error.empty()) {
    if (idle && find_process(*idle) != nullptr)
      leave(*find_process(*idle), TrialProcess::Leaving::asked);
    end(*attempt, Outcome::failed, error);
    return;
  }
  TrialProcess* const process = idle ? find_process(*idle) : nullptr;
  if (process == nullptr) {
    launch(*attempt);
    return;
  }
  process->trial = id;
  attempt->process = process->id;
  attempt->log = process->log;
  attempt->log_begin = process->log_begin;
  ledger_.commit(ProcessStarted{id, number, process->pid, process->start_ticks});
  say_start(*attempt, true);
  set_deadline(*process, ledger_.steady() + spec_.launch_timeout_s);
}

void Loop::launch(Attempt& attempt) {
  const LaunchId id{++last_launch_};
  TrialProcess& process = processes_[id];
  process.id = id;
  process.trial = attempt.trial;
  attempt.process = id;
  attempt.phase = Attempt::Phase::starting;
  LaunchSpec spec = launch_spec(attempt);
  process.log = attempt.log = spec.stderr_path;
  after_write([this, id, spec = std::move(spec)]() mutable {
    find_process(id)->is_launched = true;
    executor_.launch(id, std::move(spec));
  });
  set_deadline(process, ledger_.steady() + spec_.launch_timeout_s);
}

LaunchSpec Loop::launch_spec(const Attempt& attempt) const {
  LaunchSpec launch;
  launch.argv = spec_.command;
  const auto own = paths::trial(options_.experiment_dir, attempt.trial);
  launch.directory = attempt.source.work;
  launch.stdout_path = paths::standard_output(own);
  launch.stderr_path = spec_.merge_output ? launch.stdout_path : paths::standard_error(own);
  const auto add = [&launch](const std::string& name, const std::string& value) {
    launch.environment.push_back(name + "=" + value);
  };
  for (const auto& [name, value] : spec_.env) add(name, value);
  add(protocol::env_socket_fd, std::to_string(protocol::socket_fd));
  add(protocol::env_version, std::to_string(protocol::version));
  add(protocol::env_experiment, spec_.name);
  add(protocol::env_experiment_dir, options_.experiment_dir.string());
  add(protocol::env_trial_id, to_string(attempt.trial));
  add(protocol::env_trial_dir, launch.directory.string());
  add(protocol::env_attempt, std::to_string(attempt.number));
  add(protocol::env_session, options_.session_mark);
  add(protocol::env_resources, text_of_resources(attempt.allocation.amounts));
  // Without gpus on the machine the variable stays as the user has it.
  if (!options_.gpu_names.empty()) {
    std::string devices;
    for (const int gpu : attempt.allocation.gpus) {
      if (!devices.empty()) devices += ',';
      devices += options_.gpu_names[static_cast<std::size_t>(gpu)];
    }
    add("CUDA_VISIBLE_DEVICES", devices);
  }
  return launch;
}

void Loop::say_start(Attempt& attempt, bool reset) {
  const Trial& started = trial(attempt.trial);
  protocol::Start start;
  start.reset = reset;
  start.trial_id = to_string(attempt.trial);
  start.trial_dir = attempt.source.work.string();
  if (reset) {
    const LaunchSpec own = launch_spec(attempt);
    start.stdout_log = own.stdout_path.string();
    start.stderr_log = own.stderr_path.string();
  }
  start.config = Json::parse(started.config.text());
  start.iteration = started.iteration;
  if (!attempt.source.directory.empty()) {
    start.checkpoint = attempt.source.directory.string();
  } else if (!started.start_checkpoint.empty()) {
    start.checkpoint = started.start_checkpoint;
  }
  send(*attempt.process, std::move(start));
  attempt.said_start = true;
}

}  // namespace tune
