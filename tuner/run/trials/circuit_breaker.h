// A circuit breaker for launches: while nothing that is launched comes to anything, it is open and
// holds launches up, tries one now and then (half open), and gives up after a while. So a fault of
// the machine costs no trial.
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

/// States: closed (all may be launched), open (none), probing (one has been, and shows how things
/// are), given up. Times are steady.
///
/// A failure that its config explains says nothing about the machine, once other configs have
/// worked: one that is known for it (Blame::config), and one of a kind that has come and gone
/// before while other trials went on. A searcher that goes where configs fail must not hold up the
/// search.
class CircuitBreaker {
 public:
  /// So many different trials that fail before the first result of all: the program cannot run.
  static constexpr std::size_t most_failures_before_any_result = 5;
  /// The same where configs explain them: the first ones may well all be too large.
  static constexpr std::size_t most_explained_before_any_result = 20;
  /// So often trials have failed alike with results of others between: it is their configs'.
  static constexpr int least_returns = 2;
  /// Pauses between tries: 1 s, 2 s, 4 s ...
  static constexpr Seconds first_pause_s = 1;
  static constexpr Seconds longest_pause_s = 120;
  static constexpr int most_pauses = 10;
  static constexpr int most_pauses_before_any_result = 3;
  /// Who lives so long, and twice as long as those that have failed, shows that it can.
  static constexpr Seconds shortest_life_s = 10;

  /// `max_failures_in_a_row`: so many different trials that fail, without a result between, are no
  /// accident; -1: however many are one. `has_results`: some trial has reported one, be it in an
  /// earlier session.
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
  /// Of the failure that comes next: its trial has reported what no trial of this search may.
  void on_unfit_result() { is_unfit_ = !has_results_; }
  /// What was begun before those that fail shows nothing by its results.
  void on_result(Seconds began_at);
  /// A trial ended otherwise: it shows nothing.
  void on_end(TrialId trial);

  /// What it waits for before it allows the next launch, as a phrase; empty: for nothing.
  std::string waits_for(Seconds now) const;

  /// When it may think otherwise without being told anything.
  Seconds deadline() const;

  /// Sentences for the user since the last call.
  std::vector<std::string> take_notices();
  /// Trials that have failed while it looked as if the machine had: each gets one more try.
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
  std::string last_reason_;
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
