// The executor of real processes on other machines: sends what is wanted of a launch to the agent
// of its node, and makes events of what that says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tuner/cluster/cluster_options.h"
#include "tuner/execution/executor.h"
#include "tuner/execution/kept_launch.h"
#include "tuner/execution/node_supply.h"
#include "tuner/execution/reactor/asio_reactor.h"

namespace tune {

/// All calls from one thread, the reactor's, which outlives it. An agent that is gone makes a
/// NodeLost. What ran there is Lost once it cannot run any more: at once if the agent has said so,
/// its launcher has given its exit code, or its process on this machine is gone; else once its
/// lease is over, by which it ends what it runs.
class AgentExecutor final : public Executor, public NodeSupply {
 public:
  /// Listens. Error (user) if it cannot.
  AgentExecutor(AsioReactor& reactor, ClusterOptions options);
  /// Has all agents leave, which end what they run; but for those that had come back, and whose
  /// launches nobody has adopted or ended: they wait for another driver.
  ~AgentExecutor() override;

  /// The same, before: waits for agents a few seconds, and for Slurm to end its jobs so long at
  /// most; or until `is_given_up`, which is asked again and again. Nothing is launched afterwards.
  void leave(Seconds slurm_patience_s, const std::function<bool()>& is_given_up);

  /// Waits for the agents of a driver that has died, which come back with what they run, and starts
  /// those of the other hosts; once all have joined, their nodes, as Allocation numbers them. Later
  /// ones are NodeJoined. `is_interrupted` ends the wait: WaitInterrupted. Error (user) if one
  /// cannot join.
  std::vector<NodeResources> start(const std::function<bool()>& is_interrupted);

  /// What agents of a driver that has died have kept, by nodes as above. Until `adopt` nothing more
  /// is heard of it but through that.
  std::vector<KeptLaunch> kept() const;
  /// These go on under this driver; the others are ended, and that is waited for. Answers what is
  /// kept by then of the former; what they do from now on comes as events. To be called once, after
  /// `start`.
  std::map<LaunchId, KeptLaunch> adopt(const std::set<LaunchId>& launches,
                                       const std::function<bool()>& is_interrupted);

  /// Of nodes that are jobs of their own; others there is no use in wanting.
  void want(const NodeDemand& demand) override;
  std::string awaited() const override;
  std::string exhausted() const override;

  /// Connections that came to nothing.
  std::uint64_t strangers() const;

  void launch(LaunchId launch, LaunchSpec spec) override;
  void send(LaunchId launch, const protocol::Command& command) override;
  void signal(LaunchId launch, int signal) override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tune
