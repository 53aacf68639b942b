// Lost nodes that may come back: an agent that has died alone is started once more. Knows no clock.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/cluster/agent_launcher.h"

namespace tune {

class AgentRestarts {
 public:
  /// A node that is out.
  struct GivenUp {
    std::size_t place = 0;
    std::string reason;  ///< why no agent comes, a sentence
  };

  /// The node at that place is lost, and the launcher can start one there again.
  void await(const std::string& node, std::size_t place) {
    awaited_.insert_or_assign(node, Awaited{place});
  }
  /// An agent has joined. Answers the place of the node that was lost, if one was awaited.
  std::optional<std::size_t> arrived(const std::string& node);
  /// Starts an agent where nothing of the last one runs any more. `now`: seconds since boot.
  std::vector<GivenUp> look(AgentLauncher& launcher,
                            const std::function<bool(std::size_t place)>& is_idle, Seconds now);

 private:
  struct Awaited {
    std::size_t place = 0;
    std::optional<Seconds> until = {};  ///< none: its agent has not been started yet
  };

  std::map<std::string, Awaited> awaited_;
};

}  // namespace tune
