// Where the ranks of a trial meet: a port of rank 0's node, which its agent reserves, and says once
// rank 0 runs. What is to run on other nodes waits here until then.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tuner/execution/executor.h"

namespace tune {

class Rendezvous {
 public:
  /// Of a rank that is not on the node of its rank 0, which lives. True: it may be launched, its
  /// `spec` says where they meet. False: it waits, and the spec is kept.
  bool admit(LaunchId launch, LaunchSpec& spec);
  /// Rank 0 runs, and has that port, or 0: none. What has waited is to be launched, as it was said.
  std::vector<std::pair<LaunchId, LaunchSpec>> open(LaunchId first, std::uint16_t port);
  /// Rank 0 has ended: what has waited for it will not be launched.
  std::vector<LaunchId> close(LaunchId first);
  /// Whether that one has waited; it does no more.
  bool withdraw(LaunchId launch);

 private:
  std::map<LaunchId, std::uint16_t> ports_;  ///< by rank 0
  std::map<LaunchId, std::vector<std::pair<LaunchId, LaunchSpec>>> waiting_;
};

}  // namespace tune
