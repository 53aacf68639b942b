// The interface of whoever starts agents on nodes, and sees what becomes of them.
// Implementations: HostLauncher (one command for each host), SlurmLauncher (one step of a job),
// JobLauncher (a job for each node).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// From a launcher's start to the agent's Join.
inline constexpr Seconds join_patience_s = 60;

class AgentLauncher {
 public:
  virtual ~AgentLauncher() = default;

  /// Starts an agent on each of these, which are all of its nodes but those whose agents have come
  /// back. Error (user) if that cannot be.
  virtual void start(const std::vector<std::string>& nodes) = 0;

  /// Whether an agent can be started on that node once more.
  virtual bool can_start_again(const std::string& node) const = 0;
  /// Does so: the last one there is gone. Error (user) if that cannot be.
  virtual void start_again(const std::string& node) = 0;

  /// Looks at what has happened. To be called now and then, before it is asked.
  virtual void look() = 0;

  /// How the agent of that node, or what was to start it, has ended, as a phrase with what was
  /// printed last; nothing: it has not, as far as is seen.
  virtual std::optional<std::string> ending(const std::string& node) const = 0;

  /// Whether that ending proves that the agent runs no more. A connection that is lost proves
  /// nothing, nor does a node that does not answer.
  virtual bool has_ended_there(const std::string& node) const = 0;

  /// What it has printed last about that node, as a phrase that follows a sentence; may be empty.
  virtual std::string last_words(const std::string& node) const = 0;

  /// Whether anything that it has started runs yet on this machine.
  virtual bool is_running() const = 0;
};

}  // namespace tune
