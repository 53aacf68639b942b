// A circuit breaker for launches: when trial after trial fails, it opens and holds launches up,
// tries one now and then (half open), and gives up after a while. So a fault of the machine costs
// no trial.
// Pure: reads no clock, times are arguments.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/model/failure_rules.h"
#include "tuner/model/trial.h"

namespace tune {

/// States: closed (launches are allowed), open (none are), probing (half open: one was launched,
/// and its outcome decides), given up. Times are steady.
///
/// Failures that a config explains do not count, once other configs have worked: those with
/// Blame::config, and those of a kind that came and went before while other trials went on.
/// Otherwise a searcher that explores where configs fail would hold up the search.
class CircuitBreaker {
 public:
  /// If so many different trials fail before the first result of all, the program cannot run.
  static constexpr std::size_t most_failures_before_any_result = 5;
  /// The same where configs explain the failures: the first configs may well all be too large.
  static constexpr std::size_t most_explained_before_any_result = 20;
  /// After so many streaks of one kind of failure, with results of others between, it is the
  /// configs' fault.
  static constexpr int least_returns = 2;
  /// Pauses between tries: 1 s, 2 s, 4 s ...
  static constexpr Seconds first_pause_s = 1;
  static constexpr Seconds longest_pause_s = 120;
  static constexpr int most_pauses = 10;
  static constexpr int most_pauses_before_any_result = 3;
  /// A probe that lives so long, and twice as long as the attempts that failed, counts as working.
  static constexpr Seconds shortest_life_s = 10;

  /// `max_failures_in_a_row`: opens after so many different trials have failed without a result
  /// between; -1: never. `has_results`: some trial has reported a result, perhaps in an earlier
  /// session.
  CircuitBreaker(int max_failures_in_a_row, bool has_results)
      : limit_(max_failures_in_a_row), has_results_(has_results) {}

  /// Whether one more may be launched.
  bool allows_launch(Seconds now);
  void on_launch(TrialId trial, Seconds now);
  /// The machine could not start a process, for a reason that is not the trial's.
  void on_launch_failed(TrialId trial, const std::string& reason, Seconds now);
  /// An attempt that was begun at `began_at` has failed.
  void on_failure(TrialId trial, const std::string& reason, Blame blame, Seconds began_at,
                  Seconds now);
  /// The next failure is of a trial whose result could not be accepted (make_result has thrown).
  void on_unfit_result() { is_unfit_ = !has_results_; }
  /// A result of an attempt begun at `began_at`. Does not count if that was before the failing
  /// ones: an old process may run well on a machine that can start no new one.
  void on_result(Seconds began_at);
  /// The trial's attempt ended in another way, which says nothing about the machine.
  void on_end(TrialId trial);

  /// What these have failed by is known, and was neither theirs nor the machine's that the driver
  /// is on.
  void forgive(const std::set<TrialId>& trials);

  /// What it waits for before it allows the next launch, as a phrase; empty: for nothing.
  std::string waits_for(Seconds now) const;

  /// Steady time at which its answer may change without another call.
  Seconds deadline() const;

  /// Sentences for the user since the last call.
  std::vector<std::string> take_notices();
  /// Trials that failed by what turned out to be the machine's fault: each gets one more try.
  std::set<TrialId> take_blameless();
  /// Why the run is to end; nothing while there is hope.
  const std::optional<std::string>& given_up() const { return given_up_; }

 private:
  void open(const std::string& reason, Seconds now);
  void close();
  void end_streak();
  void give_up(const std::string& reason);
  std::string streak_text() const;

  const int limit_;
  bool has_results_;
  std::set<TrialId> streak_;            ///< that have failed in a row
  std::set<std::string> streak_kinds_;  ///< of their failures, but for those of the machine
  /// Of failures, by kind: how many streaks with one have ended while launches went on.
  std::map<std::string, int> returns_;
  std::set<TrialId> explained_;  ///< that have failed by their configs, before any result
  std::set<TrialId> forgiven_;   ///< that have had one more try
  std::set<TrialId> blameless_;
  bool is_one_reason_ = true;
  bool is_unfit_ = false;  ///< the first result of all
  /// Of the streak, and of what configs explain before any result.
  TrialId first_trial_{0}, last_trial_{0};
  std::string first_reason_;
  std::string last_reason_;      ///< also why the machine could not start a process
  Seconds streak_began_at_ = 0;  ///< the first attempt of the streak
  Seconds longest_life_s_ = 0;
  bool is_open_ = false;  ///< or probing
  int pauses_ = 0;
  Seconds until_ = 0;  ///< of the pause
  std::optional<TrialId> probe_;
  Seconds probed_at_ = 0;
  std::optional<std::string> given_up_;
  std::vector<std::string> notices_;
};

}  // namespace tune
