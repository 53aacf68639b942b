// Which nodes do trials no good: one on which trial after trial fails before its first result, with
// failures that no other node has, is to get none any more.
// Pure: reads no clock, times are arguments.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/model/failure_rules.h"
#include "tuner/model/trial.h"

namespace tune {

/// Nodes are numbered as they are added. Times are steady.
///
/// A failure of a kind that another node has had, too, is the configs' or the program's, and does
/// not count: else a search that explores where configs fail would lose one node after the other.
class NodeHealth {
 public:
  static constexpr std::size_t most_failures_in_a_row = 3;

  void add_node() { nodes_.emplace_back(); }
  void lose_node(int node) { at(node).state = State::lost; }

  enum class Verdict {
    open,
    left_out,     ///< from now on; `failed_on` were not to blame
    is_left_out,  ///< it was before; the trial was not to blame
  };
  /// An attempt that ran on that node alone, and was begun at `began_at`, has failed before its
  /// first result; or the machine could not start it, `blame` is the machine's then. The last node
  /// is never left out.
  Verdict on_failure(int node, TrialId trial, const std::string& reason, Blame blame,
                     Seconds began_at);
  /// A result of an attempt begun at `began_at`. Does not count if that was before the failing
  /// ones: what runs may go on well where nothing can begin.
  void on_result(int node, Seconds began_at);

  /// Those that are left out get trials again.
  std::vector<int> take_back();

  struct LeftOut {
    int node = 0;
    std::string last_error;  ///< a line
  };
  std::vector<LeftOut> left_out() const;
  /// The last ones that have failed there in a row, with failures that no other node has.
  std::set<TrialId> failed_on(int node) const;

 private:
  enum class State { used, left_out, lost };
  struct Failure {
    TrialId trial{};
    std::string kind;
  };
  struct Node {
    State state = State::used;
    std::vector<Failure> streak;  ///< the last; one a trial, or for each start that failed
    Seconds streak_began_at = 0;  ///< the first attempt of the streak
    std::string last_error;
  };

  Node& at(int node) { return nodes_.at(static_cast<std::size_t>(node)); }

  std::vector<Node> nodes_;
  std::map<std::string, std::set<int>> nodes_of_kind_;  ///< that have had such a failure
};

}  // namespace tune
