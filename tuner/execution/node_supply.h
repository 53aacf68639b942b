// Whoever gets more nodes where trials wait for some, and gives back those that nobody needs: the
// loop says what it has a use for. What becomes of that are NodeJoined, NodeEnding and NodeLost of
// a Reactor.
// Implementation: AgentExecutor (by jobs of Slurm's).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/model/resources.h"

namespace tune {

/// What the loop has a use for, by now.
struct NodeDemand {
  std::size_t waiting = 0;        ///< trials that would run if there was room for them
  std::vector<int> running;       ///< by node: the attempts that have a part of it
  std::vector<bool> is_given_up;  ///< by node: NodeEnding was heard, nothing will start there
  Seconds longest_save_s = 0;     ///< of those that this driver has seen
  Resources per_trial;
  int workers = 1;  ///< of a trial, each on one node
};

class NodeSupply {
 public:
  virtual ~NodeSupply() = default;

  /// To be said again and again, as it changes. Does not block.
  virtual void want(const NodeDemand& demand) = 0;

  /// What is waited for where no trial can start, as a phrase; empty: nothing.
  virtual std::string awaited() const = 0;

  /// Why no node will come any more, as a sentence; empty: one may.
  virtual std::string exhausted() const = 0;
};

}  // namespace tune
