// The agents of a run: on the hosts that its spec names, or on the nodes of the Slurm job that its
// driver is in.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/cluster/agent_executor.h"
#include "tuner/cluster/slurm.h"
#include "tuner/model/experiment.h"
#include "tuner/run/trials/adoption.h"
#include "tuner/spec/spec.h"

namespace tune {

/// Which machines trials run on.
struct TrialsPlace {
  bool is_here = false;           ///< this one alone, without an agent
  std::optional<SlurmJob> slurm;  ///< the nodes of this job; none: see ClusterConfig::hosts
  std::string notice;             ///< a sentence for the user; mostly empty
};

/// Of a driver with that environment. A job that is all on this machine needs no agent, unless
/// slurm is asked for. Error (user) if it is asked for in vain.
TrialsPlace place_of_trials(const ClusterConfig& config,
                            const EnvironmentLookup& environment = own_environment);

/// Whether they run on this machine alone, as far as is known: also of a spec that is only looked
/// at.
bool runs_here(const ClusterConfig& config, const EnvironmentLookup& environment = own_environment);

struct StartedCluster {
  std::unique_ptr<AsioReactor> reactor;
  std::unique_ptr<AgentExecutor> executor;
  std::vector<NodeResources> nodes;
  std::string notice;  ///< which machines trials run on; a sentence
};

/// Waits until an agent has joined on each host of `place`. Of `options` those are filled in that
/// the spec says. Error (user) if one cannot join, or if a trial fits no node; WaitInterrupted if
/// `is_interrupted`.
StartedCluster start_cluster(const ExperimentSpec& spec, const TrialsPlace& place,
                             std::unique_ptr<AsioReactor> reactor, ClusterOptions options,
                             const std::function<bool()>& is_interrupted);

/// Has those trials of `experiment` go on that run yet, under agents of a driver that has died;
/// what else these run is ended. `only`: these alone are to run; empty: all.
AdoptionPlan adopt_running(StartedCluster& cluster, const Experiment& experiment,
                           const ExperimentSpec& spec, const std::set<TrialId>& only,
                           const std::function<bool()>& is_interrupted);

}  // namespace tune
