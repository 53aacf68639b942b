// Which trial runs next: retries whose pause is over, what the scheduler wants, what the searcher
// suggests; or, in a session of named trials, one of those.
// Whether there is room for one more trial is its caller's question.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/run/commit/event_committer.h"

namespace tune {

/// Which trial is chosen may be recorded on the way (a new one, a question to the searcher).
class NextTrial {
 public:
  /// `start_checkpoint`: what new trials start from, or empty. `only`: only these run, and no new
  /// ones are added; empty: all run. `on_added` is called when a new trial is recorded: the
  /// scheduler may change its config or stop it. The other arguments outlive this object.
  NextTrial(EventCommitter& committer, Policies& policies, std::string start_checkpoint,
            std::set<TrialId> only, std::function<void()> on_added);

  struct Choice {
    TrialId trial{};
    bool by_searcher = false;  ///< which lets a waiting one go on: to be recorded with its start
  };
  /// Nothing: no trial may start now. `anything_runs`: some trial runs, whose end may let others
  /// start.
  std::optional<Choice> choose(bool anything_runs);
  /// Records the next new trial. `by_hand`: no searcher has suggested it.
  void add(Suggestion suggestion, bool by_hand);
  /// Asks a searcher that takes its time for what may be wanted later.
  void look_ahead();
  /// Call it before a turn's first `choose`.
  void forget_last_look();
  /// The trial must not run before that Unix time.
  void delay(TrialId trial, Seconds not_before) { delayed_.insert({not_before, trial}); }

  /// No trial is left to start, now or later.
  bool nothing_left() const { return nothing_left_; }
  /// Unix time at which a trial that waits may run.
  Seconds retry_at() const { return retry_at_; }
  bool runs_named_trials() const { return !only_.empty(); }
  /// So many trials would be chosen, one after the other; where nobody knows how many there will
  /// be, very many.
  std::size_t waiting() const;
  /// What the last `choose` waits for, if it has chosen none, as a phrase; empty: for nothing.
  std::string waits_for() const;
  /// At the end of a run that nobody has stopped: sentences about what waits in vain.
  std::vector<std::string> what_waits() const;

 private:
  /// Of the trials that wait, the held ones.
  std::vector<TrialId> held() const;
  const Trial& trial(TrialId id) const { return committer_.experiment().trial(id); }
  std::optional<Choice> ask_scheduler(Seconds now, bool more) const;
  std::optional<Choice> choose_named(Seconds now, bool anything_runs);
  bool can_go_on(TrialId trial, Seconds now) const;
  bool is_waiting(TrialId trial) const;
  void wait_for_retries(Seconds now);
  void ask_searcher(TrialId next, bool needed);

  EventCommitter& committer_;
  Policies& policies_;
  const std::string start_checkpoint_;
  const std::set<TrialId> only_;
  const std::function<void()> on_added_;
  bool nothing_left_ = false;
  bool searcher_waits_ = false;   ///< it had nothing when it was last asked
  bool searcher_is_dry_ = false;  ///< the same, or it will have nothing any more
  bool searcher_thinks_ = false;  ///< it had not answered yet
  /// Unix times before which trials that have failed must not run; some may have been started or
  /// stopped since.
  std::set<std::pair<Seconds, TrialId>> delayed_;
  Seconds retry_at_;
};

}  // namespace tune
