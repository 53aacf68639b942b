#include "tuner/loop/loop.h"

#include <csignal>
#include <exception>

#include "tuner/core/error.h"

namespace tune {

namespace {

/// A driver that wakes so much later than it wanted to was stopped, or its machine was.
constexpr Seconds oversleep_s = 5;

}  // namespace

Loop::Loop(const ExperimentSpec& spec, LoopOptions options, Ledger& ledger, Policies& policies,
           Executor& executor, Workers& pool, Saver& saver, Snapshots& snapshots,
           CallbackList& callbacks)
    : spec_(spec),
      constraints_(constraints_of(spec)),
      options_(std::move(options)),
      ledger_(ledger),
      policies_(policies),
      executor_(executor),
      pool_(pool),
      saver_(saver),
      snapshots_(snapshots),
      callbacks_(callbacks),
      judge_(spec.failure_config.retry_on, spec.failure_config.never_retry_on),
      resources_(options_.resources) {
  for (const auto& [place, id] : ledger_.experiment().pending()) {
    const Seconds not_before = trial(id).not_before;
    if (not_before > 0) delayed_.insert({not_before, id});
  }
}

LoopEnd Loop::run() {
  try {
    return drive();
  } catch (const Error& error) {
    if (!ledger_.has_failed()) {
      abandon();
      throw;
    }
    callbacks_.notice("the journal cannot be written, all trials are ended");
    abandon();
    throw JournalFailed(std::string(error.what()) +
                        "; the run was ended, because nothing of it could be remembered any more; "
                        "what was recorded before is kept");
  } catch (const std::exception& error) {  // a plugin's policy knows no Error
    abandon();
    throw machine_error(std::string("a policy, or the driver itself, failed: ") + error.what() +
                        "; the run was ended, and what was recorded before is kept");
  }
}

/// Nothing that was decided since the last write is acted on, and nothing that trials say now is
/// recorded. They are asked to end, so that a program that saves something by itself can.
void Loop::abandon() {
  std::erase_if(processes_, [](const auto& entry) { return !entry.second.is_launched; });
  for (const auto& [id, process] : processes_) executor_.signal(id, SIGTERM);
  const Seconds deadline = ledger_.steady() + spec_.stop_grace_s;
  bool hurries = false;
  while (!processes_.empty() && !hurries && ledger_.steady() < deadline) {
    wakeups_.clear();
    executor_.wait(deadline, wakeups_);
    for (const auto& wakeup : wakeups_) {
      if (const auto* const exited = std::get_if<Exited>(&wakeup)) {
        processes_.erase(exited->launch);
      } else if (const auto* const failed = std::get_if<LaunchFailed>(&wakeup)) {
        processes_.erase(failed->launch);
      } else if (std::holds_alternative<Interrupted>(wakeup)) {
        hurries = true;
      }
    }
  }
  for (const auto& [id, process] : processes_) executor_.signal(id, SIGKILL);
}

LoopEnd Loop::drive() {
  woke_at_ = ledger_.steady();
  check_stop_all();
  fill();
  act();
  while (!is_finished()) turn();
  LoopEnd end;
  if (winding_ == Winding::no) say_what_is_left();
  if (winding_ == Winding::interrupted) {
    end = {LoopEnd::Kind::interrupted, interrupt_reason_};
  } else if (winding_ == Winding::stopping) {
    end = {raised_ ? LoopEnd::Kind::raised : LoopEnd::Kind::stopped,
           ledger_.experiment().stop_reason()};
  }
  finish(end);
  return end;
}

void Loop::turn() {
  wakeups_.clear();
  const Seconds wanted = next_deadline();
  executor_.wait(wanted, wakeups_);
  const Seconds now_awake = ledger_.steady();
  const bool overslept = now_awake - std::max(wanted, woke_at_) > oversleep_s;
  // When it fell asleep is not known: soon after it was last seen awake, in a trial's favour.
  if (overslept) forgive(now_awake - woke_at_);
  woke_at_ = now_awake;
  callbacks_.call("on_step_begin",
                  [this](Callback& callback) { callback.on_step_begin(ledger_.experiment()); });
  for (auto& wakeup : wakeups_) {
    std::visit([this](auto& what) { on(what); }, wakeup);
  }
  pool_.run_completions();
  const Seconds now = ledger_.steady();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    TrialProcess& process = *find_process(deadlines_.begin()->second);
    set_deadline(process, never_s);
    on_deadline(process);
  }
  if (wind_down_deadline_ <= now) end_by_force();
  check_stop_all();
  fill();
  act();
  callbacks_.call("on_step_end",
                  [this](Callback& callback) { callback.on_step_end(ledger_.experiment()); });
}

/// Ends the turn: what was committed is written, then what follows from it is done; if a thread has
/// to write, in a later turn.
void Loop::act() {
  ledger_.write();
  snapshots_.turn();
  ledger_.sync_if_due();
  const auto do_all = [](Acts& acts) {
    for (const auto& act : acts) act();  // none of them adds to the list
    acts.clear();
  };
  for (; !held_.empty() && held_.front().first <= ledger_.written(); held_.pop_front()) {
    do_all(held_.front().second);
  }
  const std::uint64_t last_event = ledger_.experiment().last_event();
  if (held_.empty() && last_event == ledger_.written()) {
    do_all(acts_);
  } else if (!acts_.empty()) {
    held_.emplace_back(last_event, std::exchange(acts_, {}));
  }
  callbacks_.deliver();
}

/// Everything that the world outside sees of a decision goes through here.
void Loop::after_write(std::function<void()> act) { acts_.push_back(std::move(act)); }

bool Loop::is_finished() const {
  return attempts_.empty() && processes_.empty() && (nothing_left_ || winding_ != Winding::no) &&
         (pool_.outstanding() == 0 || winding_ == Winding::interrupted);
}

Seconds Loop::next_deadline() const {
  const Seconds steady = ledger_.steady();
  Seconds deadline = std::min(
      {ledger_.deadline(), snapshots_.deadline(), wind_down_deadline_, steady + options_.tick_s});
  if (!deadlines_.empty()) deadline = std::min(deadline, deadlines_.begin()->first);
  if (winding_ != Winding::no) return deadline;
  if (options_.disk != nullptr) deadline = std::min(deadline, options_.disk->deadline());
  if (retry_at_ != never_s) deadline = std::min(deadline, steady + retry_at_ - ledger_.now());
  if (spec_.time_budget_s) {
    const Seconds left = *spec_.time_budget_s - ledger_.experiment().running_s(ledger_.now());
    deadline = std::min(deadline, steady + left);
  }
  return deadline;
}

/// Time in which this process did not run is nobody's silence: the trials may have been stopped
/// with it (a frozen container, a suspended job).
void Loop::forgive(Seconds overslept_s) {
  callbacks_.notice("this driver did not run for " +
                    std::to_string(static_cast<long>(overslept_s)) +
                    " s; that is not counted against its trials");
  wind_down_deadline_ += overslept_s;
  for (auto& [id, process] : processes_) {
    if (process.deadline != never_s) set_deadline(process, process.deadline + overslept_s);
  }
}

void Loop::fill() {
  nothing_left_ = false;
  retry_at_ = never_s;
  if (winding_ == Winding::no) carry_out_orders();
  while (winding_ == Winding::no && start_next()) {
  }
  if (winding_ == Winding::no && options_.only.empty()) {
    ask_searcher(TrialId(static_cast<std::uint32_t>(ledger_.experiment().trials().size())), false);
  }
  if (nothing_left_ || winding_ != Winding::no) stop_idle_processes();
}

void Loop::check_stop_all() {
  if (winding_ != Winding::no || policies_.stopper == nullptr) return;
  const Seconds running = ledger_.experiment().running_s(ledger_.now());
  if (const auto reason = policies_.stopper->should_stop_all(running)) request_stop(*reason);
}

void Loop::request_stop(const std::string& reason) {
  if (winding_ != Winding::no) return;
  ledger_.commit(StopRequested{reason});
  callbacks_.notice("the experiment is ending: " + reason);
  winding_ = Winding::stopping;
  wind_down_deadline_ = ledger_.steady() + spec_.stop_grace_s;
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    Attempt& attempt = (at++)->second;  // ending one may erase it
    if (!attempt.has_result) {
      end(attempt, Outcome::interrupted, reason);
    } else if (attempt.phase == Attempt::Phase::waiting) {
      carry_out(attempt);
    }
  }
}

void Loop::interrupt(const std::string& reason) {
  interrupt_reason_ = reason;
  winding_ = Winding::interrupted;
  wind_down_deadline_ = ledger_.steady() + options_.interrupt_grace_s;
  if (!attempts_.empty()) {
    callbacks_.notice(
        reason + ": " + std::to_string(attempts_.size()) +
        " running trials are asked for a last save; an interrupt from now on leaves at once");
  }
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    Attempt& attempt = (at++)->second;  // ending one may erase it
    const bool has_nothing_to_save =
        !attempt.has_result && attempt.phase != Attempt::Phase::training;
    if (has_nothing_to_save) {
      end(attempt, Outcome::interrupted, "interrupted");
    } else if (attempt.phase == Attempt::Phase::waiting) {
      carry_out(attempt);
    }
  }
}

void Loop::end_by_force() {
  wind_down_deadline_ = never_s;
  const bool stopping = winding_ == Winding::stopping && !raised_;
  for (auto at = attempts_.begin(); at != attempts_.end();) {
    Attempt& attempt = (at++)->second;  // ending one may erase it
    end(attempt, stopping ? Outcome::completed : Outcome::interrupted,
        stopping  ? ledger_.experiment().stop_reason()
        : raised_ ? "another trial has failed (fail_fast)"
                  : "interrupted");
  }
  for (auto& [id, process] : processes_) leave(process, TrialProcess::Leaving::killed);
}

void Loop::finish(const LoopEnd& end) {
  snapshots_.stop();
  for (const auto& [name, state] : callbacks_.save()) {
    ledger_.commit(CallbackSaved{name, encode_numbers(state).dump()});
  }
  // With named trials only, others may have waited.
  const std::string done = options_.only.empty() ? "finished" : "the named trials are finished";
  ledger_.commit(SessionEnded{end.kind == LoopEnd::Kind::finished ? done : end.reason,
                              snapshots_.session_cost()});
  ledger_.when_durable([] {});
  // Deletions that have waited for the sync are done by the workers. An interrupt leaves them, and
  // what a searcher is thinking about, to the next resume.
  const bool waits = winding_ != Winding::interrupted;
  for (act(); !ledger_.is_settled() || (waits && pool_.outstanding() > 0); act()) {
    wakeups_.clear();
    executor_.wait(ledger_.deadline(), wakeups_);
    answer_on_leaving();
    pool_.run_completions();
  }
  callbacks_.call("on_experiment_end",
                  [this](Callback& callback) { callback.on_experiment_end(ledger_.experiment()); });
  callbacks_.deliver();
}

Attempt* Loop::find_attempt(TrialId trial) {
  const auto found = attempts_.find(trial);
  return found == attempts_.end() ? nullptr : &found->second;
}

TrialProcess* Loop::find_process(LaunchId launch) {
  const auto found = processes_.find(launch);
  return found == processes_.end() ? nullptr : &found->second;
}

Attempt* Loop::attempt_of(LaunchId launch) {
  const TrialProcess* const process = find_process(launch);
  return process != nullptr && process->trial ? find_attempt(*process->trial) : nullptr;
}

void Loop::set_deadline(TrialProcess& process, Seconds deadline) {
  if (process.deadline == deadline) return;
  if (process.deadline != never_s) deadlines_.erase({process.deadline, process.id});
  process.deadline = deadline;
  if (deadline != never_s) deadlines_.insert({deadline, process.id});
}

void Loop::send(LaunchId launch, protocol::Command command) {
  after_write([this, launch, command = std::move(command)] { executor_.send(launch, command); });
}

void Loop::signal(LaunchId launch, int signal) {
  after_write([this, launch, signal] { executor_.signal(launch, signal); });
}

void Loop::tell(const char* hook_name, std::function<void(Callback&)> hook) {
  after_write([this, hook_name, hook = std::move(hook)] { callbacks_.call(hook_name, hook); });
}

}  // namespace tune
