// The agents of a run, on all hosts that its spec names.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "tuner/cluster/agent_executor.h"
#include "tuner/spec/spec.h"

namespace tune {

struct StartedCluster {
  std::unique_ptr<AsioReactor> reactor;
  std::unique_ptr<AgentExecutor> executor;
  std::vector<NodeResources> nodes;
};

/// Waits until an agent has joined on each host. Of `options` those are filled in that the spec
/// says. Error (user) if one cannot join, or if a trial fits no node; WaitInterrupted if
/// `is_interrupted`.
StartedCluster start_cluster(const ExperimentSpec& spec, std::unique_ptr<AsioReactor> reactor,
                             ClusterOptions options, const std::function<bool()>& is_interrupted);

/// "2 nodes: oak {"cpu":4.0}, elm {"cpu":4.0}"
std::string text_of_nodes(const std::vector<NodeResources>& nodes);

}  // namespace tune
