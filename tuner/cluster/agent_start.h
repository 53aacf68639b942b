// The start of a driver's agents: those of a driver before come back or end, the other hosts get
// new ones, and all join; or why one cannot. Knows no connection and no clock.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cluster/agent_launcher.h"
#include "tuner/cluster/cluster_options.h"
#include "tuner/cluster/node_table.h"

namespace tune {

/// The launcher of that cluster's agents.
std::unique_ptr<AgentLauncher> make_launcher(const ClusterOptions& options);

class AgentStart {
 public:
  /// Reads which agents have been left, so before this driver can be found. All outlive it.
  AgentStart(const ClusterOptions& options, const NodeTable& nodes);

  /// An agent was turned away, since; of an empty node: of one that nobody knows.
  void refused(const std::string& node, const std::string& reason);
  /// To be called again and again: whether all agents have joined and handed over. `now`: seconds
  /// since boot. Error (user) if one cannot join.
  bool look(AgentLauncher& launcher, Seconds now);

 private:
  bool are_left_gone(Seconds now);
  bool is_back(const std::string& file) const;
  void look_at_hosts(AgentLauncher& launcher, Seconds now) const;

  const ClusterOptions& options_;
  const NodeTable& nodes_;
  /// By earlier drivers: their files.
  std::vector<std::string> left_;
  std::optional<Seconds> left_since_;  ///< they are waited for
  bool has_told_left_ = false;
  std::optional<Seconds> until_;                ///< agents are to join; none: none is started yet
  std::map<std::string, std::string> refused_;  ///< by node, why
  std::string unnamed_;                         ///< the same, of one that nobody knows
};

}  // namespace tune
