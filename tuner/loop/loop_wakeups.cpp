// Loop: what a process did.
#include <cstring>

#include "tuner/core/error.h"
#include "tuner/loop/loop.h"

namespace tune {

void Loop::on(const Launched& wakeup) {
  TrialProcess& process = *find_process(wakeup.launch);
  process.pid = wakeup.pid;
  process.start_ticks = wakeup.start_ticks;
  process.log_begin = wakeup.stderr_begin;
  Attempt* const attempt = attempt_of(wakeup.launch);
  if (attempt == nullptr) return;
  attempt->log_begin = process.log_begin;
  ledger_.commit(ProcessStarted{attempt->trial, attempt->number, wakeup.pid, wakeup.start_ticks});
}

void Loop::on(const LaunchFailed& wakeup) {
  Attempt* const attempt = attempt_of(wakeup.launch);
  set_deadline(*find_process(wakeup.launch), never_s);
  processes_.erase(wakeup.launch);
  if (attempt == nullptr) return;
  attempt->process.reset();
  end(*attempt, Outcome::failed, wakeup.reason);
}

void Loop::on(const Greeted& wakeup) {
  Attempt* const attempt = attempt_of(wakeup.launch);
  if (attempt == nullptr || attempt->ending) return;
  TrialProcess& process = *find_process(wakeup.launch);
  if (wakeup.hello.reset_refused) {
    refused_reset(process, *attempt);
    return;
  }
  if (attempt->phase != Attempt::Phase::starting) {
    end(*attempt, Outcome::failed, "it said hello twice");
    return;
  }
  process.is_function = wakeup.hello.api == protocol::Api::function_api;
  process.can_reset = wakeup.hello.can_reset;
  const CheckpointConfig& config = spec_.checkpoint_config;
  if (process.is_function && (config.checkpoint_frequency > 0 || config.checkpoint_at_end)) {
    throw user_error(
        "checkpoint_frequency and checkpoint_at_end need a trainable with save and load hooks; "
        "this one is a function, which saves by giving a directory to report(): remove both from "
        "checkpoint_config");
  }
  if (!attempt->said_start) say_start(*attempt, false);
  step(*attempt);
}

/// The process cannot take over another trial after all: it leaves, a fresh one is started.
void Loop::refused_reset(TrialProcess& process, Attempt& attempt) {
  process.can_reset = false;
  process.trial.reset();
  attempt.said_start = false;
  leave(process, TrialProcess::Leaving::asked);
  launch(attempt);
}

void Loop::on(Reported& wakeup) {
  Attempt* const attempt = attempt_of(wakeup.launch);
  if (attempt == nullptr || attempt->ending) return;
  if (attempt->phase != Attempt::Phase::training) {
    end(*attempt, Outcome::failed, "it reported a result without having been told to step");
    return;
  }
  TrialProcess& process = *find_process(wakeup.launch);
  set_deadline(process, never_s);
  if (!wakeup.metrics) {
    if (wakeup.done) {
      end(*attempt, Outcome::completed, "");
    } else {
      end(*attempt, Outcome::failed, "it reported neither metrics nor that it is done");
    }
    return;
  }
  Result result;
  try {
    result = make_result(*attempt, wakeup);
  } catch (const std::invalid_argument& bad_result) {
    end(*attempt, Outcome::failed, bad_result.what());
    return;
  }
  take_in(*attempt, std::move(result), std::move(wakeup.checkpoint));
}

void Loop::on(const SaveAnswered& wakeup) {
  Attempt* const attempt = attempt_of(wakeup.launch);
  if (attempt == nullptr) return;
  if (attempt->phase != Attempt::Phase::saving) {
    if (!attempt->ending) end(*attempt, Outcome::failed, "it said saved without having been asked");
    return;
  }
  set_deadline(*find_process(wakeup.launch), never_s);
  Save& save = attempt->save;
  save.checkpoint.save_s = ledger_.steady() - attempt->told_at;
  if (wakeup.error) {
    attempt->save_failed = true;
    saver_.fail(save, *wakeup.error);
  } else {
    commit_save(*attempt, save);
  }
  save.directory.clear();
  carry_out(*attempt);
}

void Loop::on(const Faulted& wakeup) {
  Attempt* const attempt = attempt_of(wakeup.launch);
  if (attempt != nullptr) {
    end(*attempt, Outcome::failed, wakeup.reason);
  } else if (TrialProcess* const process = find_process(wakeup.launch)) {
    leave(*process, TrialProcess::Leaving::terminated);
  }
}

/// Mostly the process is about to exit, and its exit says more.
void Loop::on(const Disconnected& wakeup) {
  TrialProcess& process = *find_process(wakeup.launch);
  process.disconnected = true;
  if (process.leaving == TrialProcess::Leaving::no) {
    set_deadline(process, ledger_.steady() + spec_.stop_grace_s);
  }
}

void Loop::on(const Exited& wakeup) {
  TrialProcess& process = *find_process(wakeup.launch);
  Attempt* const attempt = attempt_of(wakeup.launch);
  set_deadline(process, never_s);
  if (process.idle) {
    std::erase(idle_, process.id);
    resources_.release(process.allocation);
  }
  processes_.erase(wakeup.launch);
  if (attempt == nullptr) return;
  attempt->process.reset();
  if (attempt->ending) {
    try_to_close(*attempt);
  } else {
    judge_exit(*attempt, wakeup);
  }
}

void Loop::on(const Interrupted& wakeup) {
  if (winding_ == Winding::interrupted) {
    end_by_force();
  } else {
    interrupt(strsignal(wakeup.signal));
  }
}

void Loop::on_deadline(TrialProcess& process) {
  using Leaving = TrialProcess::Leaving;
  if (process.leaving != Leaving::no) {
    leave(process, process.leaving == Leaving::asked ? Leaving::terminated : Leaving::killed);
    return;
  }
  Attempt* const attempt = attempt_of(process.id);
  if (attempt == nullptr) {
    leave(process, Leaving::terminated);
    return;
  }
  const auto seconds = [](Seconds s) { return std::to_string(static_cast<long>(s)) + " s"; };
  if (attempt->stop_asked) {
    leave(process, Leaving::terminated);
    end(*attempt, Outcome::completed, *attempt->stop_asked);
    return;
  }
  std::string reason;
  if (process.disconnected) {
    reason = "it closed its connection and lived on";
  } else if (attempt->phase == Attempt::Phase::starting) {
    reason = "it did not say hello within " + seconds(spec_.launch_timeout_s) +
             " (launch_timeout_s): does it speak the protocol?";
  } else {
    reason =
        "it said nothing for " + seconds(spec_.trial_timeout_s.value_or(0)) + " (trial_timeout_s)";
  }
  end(*attempt, Outcome::failed, reason);
}

}  // namespace tune
