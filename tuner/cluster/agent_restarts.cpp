// When an agent is started again, and when it is waited for no longer.
#include "tuner/cluster/agent_restarts.h"

#include <utility>

#include "tuner/base/error.h"

namespace tune {

std::optional<std::size_t> AgentRestarts::arrived(const std::string& node) {
  const auto awaited = awaited_.extract(node);
  return awaited.empty() ? std::nullopt : std::optional(awaited.mapped().place);
}

std::vector<AgentRestarts::GivenUp> AgentRestarts::look(
    AgentLauncher& launcher, const std::function<bool(std::size_t)>& is_idle, Seconds now) {
  std::vector<GivenUp> given_up;
  for (auto each = awaited_.begin(); each != awaited_.end();) {
    auto& [name, awaited] = *each;
    std::string reason;
    if (!awaited.until && is_idle(awaited.place)) {
      awaited.until = now + join_patience_s;
      try {
        launcher.start_again(name);
      } catch (const Error& error) {
        reason = error.what();
      }
    } else if (awaited.until) {
      const auto ending = launcher.ending(name);
      if (ending) reason = "what was to start its agent has ended with " + *ending;
      if (!ending && now > *awaited.until) reason = "no agent has come from there";
    }
    if (reason.empty()) {
      ++each;
      continue;
    }
    given_up.push_back({awaited.place, "node " + name + " does not come back: " + reason});
    each = awaited_.erase(each);
  }
  return given_up;
}

}  // namespace tune
