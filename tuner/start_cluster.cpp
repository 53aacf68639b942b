// Options out of a spec, and what must be true of the nodes before a trial starts.
#include "tuner/start_cluster.h"

#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"

namespace tune {

StartedCluster start_cluster(const ExperimentSpec& spec, std::unique_ptr<AsioReactor> reactor,
                             ClusterOptions options, const std::function<bool()>& is_interrupted) {
  const ClusterConfig& config = spec.cluster;
  options.hosts = config.hosts;
  options.launcher = config.launcher;
  options.bind = config.bind ? *config.bind : address_towards(config.hosts);
  options.lease_s = config.agent_lease_s;
  options.resources = spec.resources;
  StartedCluster started{.reactor = std::move(reactor), .executor = {}, .nodes = {}};
  started.executor = std::make_unique<AgentExecutor>(*started.reactor, std::move(options));
  started.nodes = started.executor->start(is_interrupted);
  if (const auto reason = ResourcePool(started.nodes).impossible(spec.resources_per_trial)) {
    throw user_error(*reason + "; a trial, with all its workers, runs on one node");
  }
  return started;
}

std::string text_of_nodes(const std::vector<NodeResources>& nodes) {
  std::string text = count_of(nodes.size(), "node");
  for (const NodeResources& node : nodes) {
    text +=
        (&node == &nodes.front() ? ": " : ", ") + node.name + " " + text_of_resources(node.totals);
  }
  return text;
}

}  // namespace tune
