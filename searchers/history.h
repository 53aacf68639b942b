// What a searcher that models was told: trials as points and scores, and their curves if it wants
// them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "searchers/coordinates.h"
#include "tuner/policy/searcher.h"
#include "tuner/space/search_space.h"

namespace tune {

class History {
 public:
  enum class State : char {
    running = 'r',   ///< has not ended
    complete = 'c',  ///< with numbers for all objectives
    stopped = 's',   ///< before its time; its last scores may be NaN
    failed = 'f',    ///< or complete, but without a finite number for each objective
    lost = 'l',      ///< by a fault of the machine: nothing is known
  };
  struct Row {
    TrialId id{};
    State state = State::running;
    std::int64_t iteration = 0;  ///< of the last result, when the trial has ended; 0: it had none
    std::vector<double> scores;  ///< then, one for each objective
    std::vector<double> constraints;  ///< then, Observation::constraints
    std::vector<double> point;        ///< coordinates by leaf, NaN where the config has none

    /// Whether its config has come to nothing: it has failed, or what it last reported is no finite
    /// number, whoever has stopped it then.
    bool has_failed() const;
    /// Whether it has ended with something that others can be compared with.
    bool has_worked() const;
  };

  /// All results of a trial with the config that it has now, in order of their iterations.
  struct Curve {
    std::vector<std::int64_t> iterations;
    std::vector<double> scores;  ///< one for each objective, iteration by iteration
  };
  enum class Curves {
    none,  ///< `report` does nothing
    kept,  ///< 16 bytes for each result, with one objective
  };

  /// `space` has no grid.
  History(SearchSpace space, std::size_t objectives, Curves curves = Curves::none);

  /// Returns the place of the trial's row. A trial that is told of again keeps its place, and is
  /// running.
  std::size_t add(TrialId id, const std::string& config);
  /// A result that does not end the trial (Searcher::on_result, on_trial_pause).
  void report(TrialId id, const Observation& result);
  /// Returns the place; nothing if the trial is unknown.
  std::optional<std::size_t> end(TrialId id, const Observation& last, Ended how);

  std::optional<std::size_t> find(TrialId id) const;

  const SearchSpace& space() const { return space_; }
  const std::vector<Axis>& axes() const { return axes_; }
  std::size_t objectives() const { return objectives_; }
  /// In the order in which the trials came.
  const std::vector<Row>& rows() const { return rows_; }
  std::size_t count(State state) const;
  /// Of the row in that place; empty where none are kept.
  const Curve& curve(std::size_t place) const;

  Json save() const;
  /// Throws what load_state (tuner/policy/policy_state.h) takes for a state that is not its own.
  void load(const Json& state);

 private:
  void add_to_curve(std::size_t place, const Observation& result);

  SearchSpace space_;
  std::vector<Axis> axes_;
  std::size_t objectives_;
  Curves kept_;
  std::vector<Row> rows_;
  std::vector<Curve> curves_;  ///< by row, if they are kept
  std::map<TrialId, std::size_t> places_;
  std::map<State, std::size_t> counts_;
};

}  // namespace tune
