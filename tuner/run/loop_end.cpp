// The end of a run in the record, be it in good order or by a fault.
#include "tuner/run/loop_end.h"

#include <exception>
#include <string>

#include "tuner/run/loop.h"

namespace tune {

SessionEnded Loop::session_ended(const LoopEnd& end) const {
  const StateCost cost = snapshots_.session_cost();
  switch (end.kind) {
    case LoopEnd::Kind::finished:
      // With named trials only, others may have waited.
      if (next_.runs_named_trials()) {
        return {"the named trials are finished", cost, SessionEnd::named_finished};
      }
      return {"finished", cost, SessionEnd::finished};
    case LoopEnd::Kind::stopped:
      return {end.reason, cost, SessionEnd::stopped};
    case LoopEnd::Kind::raised:
      return {end.reason, cost, SessionEnd::raised};
    case LoopEnd::Kind::interrupted:
      return {end.reason, cost, SessionEnd::interrupted};
    case LoopEnd::Kind::given_up:
      return {std::string(given_up_word) + end.reason, cost, SessionEnd::given_up};
  }
  return {};
}

void Loop::finish(const LoopEnd& end) {
  snapshots_.stop();
  for (const auto& [name, state] : callbacks_.save()) {
    committer_.commit(CallbackSaved{name, encode_numbers(state).dump()});
  }
  committer_.commit(session_ended(end));
  committer_.when_durable([] {});
  // Deletions that have waited for the sync are done by the workers. An interrupt leaves them, and
  // what a searcher is thinking about, to the next resume.
  const bool waits = shutdown_.kind != ShutdownState::Kind::interrupted;
  for (act(); !committer_.is_settled() || (waits && workers_.outstanding() > 0); act()) {
    wakeups_.clear();
    reactor_.wait(committer_.deadline(), wakeups_);
    for (const auto& wakeup : wakeups_) {
      const auto* const asked = std::get_if<ControlAsked>(&wakeup);
      if (asked != nullptr) answer(asked->id, ControlHandler::answer_on_leaving(asked->request));
    }
    workers_.run_completions();
  }
  callbacks_.call("on_experiment_end", [this](Callback& callback) {
    callback.on_experiment_end(committer_.experiment());
  });
  callbacks_.deliver();
}

/// Ends the trials' processes, and has the end of the run in the record, if records can still be
/// written: a journal that breaks off is that of a driver that died. There are no last saves, since
/// nobody is left to decide on what trials report until then.
void Loop::end_by_fault(const std::string& reason) {
  attempts_.abandon(reactor_);
  if (!committer_.is_consistent()) return;
  committer_.leave_policies_out();
  snapshots_.stop();
  try {
    committer_.interrupt_running(reason);
    committer_.commit(SessionEnded{reason, snapshots_.session_cost(), SessionEnd::fault});
    committer_.when_durable([] {});
    for (;;) {
      committer_.write();
      committer_.sync_if_due();
      if (committer_.is_settled()) break;
      // What else was under way would act on trials that have ended. Before the wait: whoever was
      // to be woken by it may have been woken long ago.
      if (workers_.run_completions(Lane::journal) > 0) continue;
      wakeups_.clear();
      reactor_.wait(committer_.deadline(), wakeups_);
    }
  } catch (const std::exception& error) {
    callbacks_.notice(std::string("the end of this run could not be recorded: ") + error.what());
    callbacks_.deliver();
  }
}

}  // namespace tune
