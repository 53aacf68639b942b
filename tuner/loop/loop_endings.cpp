// Loop: how attempts and processes end.
#include <algorithm>
#include <csignal>
#include <cstring>

#include "tuner/loop/loop.h"
#include "tuner/store/log_tail.h"
#include "tuner/store/paths.h"

namespace tune {

/// Decides how the attempt ends and gets its process out of the way. May erase the attempt.
void Loop::end(Attempt& attempt, Outcome outcome, const std::string& reason) {
  if (attempt.ending) return;
  const bool was_starting = attempt.phase == Attempt::Phase::starting;
  attempt.ending = Ending{outcome, reason};
  attempt.phase = Attempt::Phase::ending;
  TrialProcess* const process = attempt.process ? find_process(*attempt.process) : nullptr;
  if (process != nullptr) {
    attempt.gives_back_process = spec_.reuse_processes && process->can_reset &&
                                 outcome != Outcome::failed && outcome != Outcome::interrupted &&
                                 winding_ == Winding::no &&
                                 process->leaving == TrialProcess::Leaving::no;
    if (!attempt.gives_back_process) {
      const bool in_order = outcome != Outcome::failed && !was_starting;
      leave(*process, in_order ? TrialProcess::Leaving::asked : TrialProcess::Leaving::terminated);
    }
  }
  try_to_close(attempt);
}

/// Ends one trial that has not reported just now: at once, or with its next result.
void Loop::stop_trial(TrialId id, const std::string& reason) {
  Attempt* const attempt = find_attempt(id);
  const auto donor = trial(id).donor;
  ledger_.commit(TrialStopRequested{id, reason});
  if (attempt == nullptr) {
    saver_.apply_retention(id);
    saver_.release(id, donor);
    tell("on_trial_complete",
         [this, id](Callback& callback) { callback.on_trial_complete(trial(id)); });
    return;
  }
  attempt->stop_asked = reason;
  if (!attempt->has_result) {
    // In the middle of its work: nothing that another trial could take over.
    if (attempt->process) leave(*find_process(*attempt->process), TrialProcess::Leaving::asked);
    end(*attempt, Outcome::completed, reason);
  } else if (attempt->phase == Attempt::Phase::waiting) {
    carry_out(*attempt);
  } else if (attempt->process && !attempt->ending) {
    TrialProcess& process = *find_process(*attempt->process);
    set_deadline(process, std::min(process.deadline, ledger_.steady() + spec_.stop_grace_s));
  }
}

void Loop::judge_exit(Attempt& attempt, const Exited& exit) {
  if (exit.signal != 0) {
    attempt.failure.signal = exit.signal;
    end(attempt, Outcome::failed,
        "it was killed by signal " + std::to_string(exit.signal) + " (" + strsignal(exit.signal) +
            ")");
  } else if (exit.exit_code != 0) {
    attempt.failure.exit_code = exit.exit_code;
    end(attempt, Outcome::failed, "it exited with code " + std::to_string(exit.exit_code));
  } else if (attempt.has_result) {
    end(attempt, Outcome::completed, "");
  } else {
    end(attempt, Outcome::failed,
        attempt.said_start ? "it exited with code 0 before it reported a result"
                           : "it exited with code 0 before it said hello: does it speak the "
                             "protocol?");
  }
}

/// Records the end once its process is out of the way and its checkpoints are committed.
void Loop::try_to_close(Attempt& attempt) {
  const bool process_is_away = !attempt.process || attempt.gives_back_process;
  if (!attempt.ending || attempt.pending_work > 0 || !process_is_away) return;
  if (attempt.ending->outcome == Outcome::failed && !attempt.ending->looked_into) {
    look_into_failure(attempt);
  } else {
    close(attempt);
  }
}

/// What the program itself said last is mostly what the user wants to know, and decides whether it
/// is worth another try.
void Loop::look_into_failure(Attempt& attempt) {
  struct Insight {
    std::string last_line;
    std::optional<std::string> no_retry;
  };
  // It may have failed before it had a log.
  const auto log = attempt.log.empty() ? launch_spec(attempt).stderr_path : attempt.log;
  FailureFacts facts = std::move(attempt.failure);
  facts.said = attempt.ending->reason;
  ++attempt.pending_work;
  pool_.post(
      Lane::prompt,
      [this, log, begin = attempt.log_begin, facts = std::move(facts)]() mutable {
        const std::string tail = log_tail(log, begin);
        facts.said = tail + "\n" + facts.said;
        return Insight{last_line(tail), judge_.objection(facts)};
      },
      [this, id = attempt.trial, log](Insight insight) {
        Attempt& failed = *find_attempt(id);
        --failed.pending_work;
        Ending& ending = *failed.ending;
        ending.looked_into = true;
        ending.no_retry = std::move(insight.no_retry);
        // A trainable's own message may bring a trace below its first line.
        const auto at = std::min(ending.reason.find('\n'), ending.reason.size());
        const bool says_more =
            !insight.last_line.empty() &&
            insight.last_line.find(ending.reason.substr(0, at)) == std::string::npos;
        ending.reason.insert(
            at, (says_more ? "; the last line of its stderr: " + insight.last_line : "") +
                    "; see " + log.string());
        try_to_close(failed);
      });
}

void Loop::close(Attempt& attempt) {
  const TrialId id = attempt.trial;
  AttemptEnded ended{id, attempt.number, attempt.ending->outcome, attempt.ending->reason};
  if (attempt.stop_asked && ended.outcome == Outcome::paused) ended.outcome = Outcome::completed;
  const bool may_retry =
      ended.outcome == Outcome::failed && !attempt.stop_asked && will_retry(trial(id));
  if (may_retry && attempt.ending->no_retry) {
    const auto at = std::min(ended.reason.find('\n'), ended.reason.size());
    ended.reason.insert(at, "; not retried: " + *attempt.ending->no_retry);
  } else if (may_retry) {
    // 1, 2, 4 ... 60 s: what is wrong with a machine is rarely over at once.
    const int doublings = std::min(trial(id).failures, 6);
    ended.retry = true;
    ended.not_before = ledger_.now() + std::min(60.0, static_cast<double>(1 << doublings));
  }
  if (attempt.gives_back_process) {
    TrialProcess& process = *find_process(*attempt.process);
    process.trial.reset();
    process.idle = true;
    process.allocation = std::move(attempt.allocation);
    idle_.push_back(process.id);
    set_deadline(process, never_s);
  } else {
    resources_.release(attempt.allocation);
  }
  // Its process is gone, so nobody writes there any more.
  if (!attempt.save.directory.empty()) {
    saver_.discard({id, attempt.save.checkpoint.index}, attempt.number);
  }
  const auto [owner, restored] = attempt.source.checkpoint;
  const auto donor = trial(id).donor;
  attempts_.erase(id);
  ledger_.commit(ended);
  if (ended.retry) delayed_.insert({ended.not_before, id});
  if (restored != 0) saver_.unpin(owner, restored);
  saver_.apply_retention(id);
  saver_.release(id, donor);
  tell_end(id, ended);
  if (ended.outcome == Outcome::failed) after_failure(id);
  if (ended.outcome == Outcome::completed) failures_in_a_row_ = 0;
}

bool Loop::will_retry(const Trial& failed) const {
  const FailureConfig& config = spec_.failure_config;
  // After an interrupt it is the resume that tries again.
  if (winding_ == Winding::stopping || config.fail_fast != FailFast::no) return false;
  return config.max_failures < 0 || failed.failures < config.max_failures;
}

void Loop::tell_end(TrialId id, const AttemptEnded& ended) {
  if (ended.outcome == Outcome::failed) {
    if (ended.retry) {
      tell("on_trial_recover", [this, id](Callback& c) { c.on_trial_recover(trial(id)); });
    } else {
      tell("on_trial_error", [this, id](Callback& c) { c.on_trial_error(trial(id)); });
    }
  } else if (trial(id).state == TrialState::terminated) {
    tell("on_trial_complete", [this, id](Callback& c) { c.on_trial_complete(trial(id)); });
  }
}

void Loop::after_failure(TrialId id) {
  if (spec_.failure_config.fail_fast != FailFast::no) {
    const std::string reason = to_string(id) + " failed (fail_fast): " + trial(id).error;
    const bool raises = spec_.failure_config.fail_fast == FailFast::raise;
    raises ? raise_failure(reason) : request_stop(reason);
  }
  // An endless search over a program that cannot run would never end.
  constexpr int hopeless = 20;
  if (++failures_in_a_row_ >= hopeless && spec_.num_samples < 0) {
    request_stop(std::to_string(hopeless) +
                 " attempts in a row have failed, the last: " + trial(id).error);
  }
}

/// Ends everything at once. The others are not at fault and can be resumed.
void Loop::raise_failure(const std::string& reason) {
  if (winding_ != Winding::no) return;
  ledger_.commit(StopRequested{reason});
  winding_ = Winding::stopping;
  raised_ = true;
  end_by_force();
}

/// Asks a process to leave, or makes it. Each step is taken further when its grace is over.
void Loop::leave(TrialProcess& process, TrialProcess::Leaving how) {
  if (how <= process.leaving) return;
  process.leaving = how;
  if (process.idle) {
    process.idle = false;
    std::erase(idle_, process.id);
    resources_.release(process.allocation);
  }
  switch (how) {
    case TrialProcess::Leaving::no:
      break;
    case TrialProcess::Leaving::asked:
      send(process.id, protocol::Stop{});
      break;
    case TrialProcess::Leaving::terminated:
      signal(process.id, SIGTERM);
      break;
    case TrialProcess::Leaving::killed:
      signal(process.id, SIGKILL);
      break;
  }
  const bool last = how == TrialProcess::Leaving::killed;
  set_deadline(process, last ? never_s : ledger_.steady() + spec_.stop_grace_s);
}

void Loop::stop_idle_processes() {
  while (!idle_.empty()) leave(*find_process(idle_.back()), TrialProcess::Leaving::asked);
}

}  // namespace tune
