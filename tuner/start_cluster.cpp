// Options out of a spec and a job, and what must be true of the nodes before a trial starts.
#include "tuner/start_cluster.h"

#include <algorithm>
#include <utility>

#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/cluster/job_list.h"
#include "tuner/cluster/own_address.h"
#include "tuner/model/end_estimate.h"

namespace tune {

namespace {

using Type = ClusterConfig::Type;

/// "2 nodes: oak {"cpu":4.0}, elm {"cpu":4.0}"
std::string text_of_nodes(const std::vector<NodeResources>& nodes) {
  std::string text = count_of(nodes.size(), "node");
  for (const NodeResources& node : nodes) {
    text +=
        (&node == &nodes.front() ? ": " : ", ") + node.name + " " + text_of_resources(node.totals);
  }
  return text;
}

/// As Slurm has it by now: a node that has failed leaves its job.
SlurmJob as_it_is(SlurmJob job) {
  const std::string ways_on = "; run trials on this machine alone with --cluster none";
  std::optional<QueuedJob> queued;
  try {
    queued = look_at_job(job.id);
  } catch (const Error& error) {
    throw Error(error.fault(), error.what() + ways_on);
  }
  if (!queued || !queued->is_alive()) {
    throw user_error("SLURM_JOB_ID names job " + job.id + ", which has ended" + ways_on);
  }
  if (queued->state != "RUNNING") {
    throw user_error("Slurm's job " + job.id + " is " + queued->state + ways_on);
  }
  if (!queued->nodes.empty()) job.nodes = queued->nodes;
  return job;
}

/// Where nodes of a job reach this machine. One that is this machine would say how it reaches
/// itself.
std::string address_towards_nodes(const SlurmJob& job) {
  const auto other = std::find_if(job.nodes.begin(), job.nodes.end(),
                                  [&](const std::string& node) { return node != job.here; });
  if (other == job.nodes.end()) return "127.0.0.1";
  const std::string address = address_of_node(*other);
  const std::string own = address_towards({address});
  if (own.starts_with("127.") && !address.starts_with("127.")) {
    throw user_error("it is not known at which address of this machine node " + *other +
                     " reaches it: say so with --bind");
  }
  return own;
}

/// Where nodes that are not known yet reach this machine.
std::string address_towards_any_node() {
  const std::vector<std::string> nodes = some_node_addresses();
  const std::string own = address_towards(nodes);
  const bool are_elsewhere = std::any_of(nodes.begin(), nodes.end(), [](const std::string& node) {
    return !node.starts_with("127.") && node != "localhost";
  });
  if (own.starts_with("127.") && are_elsewhere) {
    throw user_error(
        "it is not known at which address of this machine nodes of Slurm's reach it: say so with "
        "--bind");
  }
  return own;
}

AgentJobs agent_jobs(const ExperimentSpec& spec) {
  const ClusterConfig& config = spec.cluster;
  return {.policy = {.most = *config.agent_jobs,
                     .time_s = slurm_seconds(*config.time).value_or(0),
                     .idle_s = config.agent_idle_s,
                     .margin_s = config.job_margin_s},
          .time = *config.time,
          .sbatch = config.sbatch_options,
          .experiment = spec.name};
}

}  // namespace

TrialsPlace place_of_trials(const ClusterConfig& config, const EnvironmentLookup& environment) {
  const bool has_hosts = !config.hosts.empty() || config.agent_jobs;
  if (config.type == Type::none) return {.is_here = true, .slurm = {}, .notice = {}};
  if (config.type == Type::hosts || (!config.type && has_hosts)) return {};
  const bool is_asked_for = config.type == Type::slurm;
  auto job = slurm_job(environment);
  if (!job && is_asked_for) {
    throw user_error(
        "this is no job of Slurm's: begin one with salloc or sbatch, or give the spec to tune "
        "submit");
  }
  if (job && job->is_task && is_asked_for) {
    throw user_error("srun has started this driver, and its step has what Slurm's job " + job->id +
                     " has: start it without srun");
  }
  TrialsPlace place;
  place.is_here = !job || job->is_task ||
                  (!is_asked_for && job->nodes.size() == 1 && job->here == job->nodes.front());
  if (job && job->is_task && job->nodes.size() > 1) {
    place.notice = "srun has started this driver: trials run on this machine alone, not on all " +
                   std::to_string(job->nodes.size()) + " nodes of Slurm's job " + job->id +
                   "; start it without srun for that";
  }
  if (!place.is_here) place.slurm = std::move(job);
  return place;
}

bool runs_here(const ClusterConfig& config, const EnvironmentLookup& environment) {
  return config.type != Type::slurm && place_of_trials(config, environment).is_here;
}

StartedCluster start_cluster(const ExperimentSpec& spec, const TrialsPlace& place,
                             std::unique_ptr<AsioReactor> reactor, ClusterOptions options,
                             const std::function<bool()>& is_interrupted) {
  const ClusterConfig& config = spec.cluster;
  const bool has_jobs = config.agent_jobs.has_value();
  if (has_jobs) {
    check_agent_jobs(options.directory, *config.time, config.sbatch_options, config.job_margin_s);
    options.jobs = agent_jobs(spec);
  }
  options.hosts = config.hosts;
  options.launcher = config.launcher;
  if (place.slurm) {
    options.slurm = as_it_is(*place.slurm);
    options.hosts = options.slurm->nodes;
  }
  options.bind = config.bind     ? *config.bind
                 : has_jobs      ? address_towards_any_node()
                 : options.slurm ? address_towards_nodes(*options.slurm)
                                 : address_towards(options.hosts);
  options.lease_s = config.agent_lease_s;
  options.resources = spec.resources;
  const std::string job = options.slurm ? " of Slurm's job " + options.slurm->id : "";
  StartedCluster started{.reactor = std::move(reactor), .executor = {}, .nodes = {}, .notice = {}};
  started.executor = std::make_unique<AgentExecutor>(*started.reactor, std::move(options));
  started.nodes = started.executor->start(is_interrupted);
  if (has_jobs) {
    started.notice =
        "trials run in up to " + count_of(static_cast<std::size_t>(*config.agent_jobs), "job") +
        " of Slurm's, of one node and " + rough_duration(slurm_seconds(*config.time).value_or(0)) +
        " each" + (started.nodes.empty() ? "" : "; there are " + text_of_nodes(started.nodes));
    return started;
  }
  const int workers = spec.workers ? spec.workers->count : 1;
  if (const auto reason =
          ResourcePool(started.nodes).impossible(spec.resources_per_trial, workers)) {
    throw user_error(
        *reason + (workers > 1 ? "; each worker runs on one node" : "; a trial runs on one node"));
  }
  started.notice = "trials run on " + text_of_nodes(started.nodes) + job;
  return started;
}

AdoptionPlan adopt_running(StartedCluster& cluster, const Experiment& experiment,
                           const ExperimentSpec& spec, const std::set<TrialId>& only,
                           const std::function<bool()>& is_interrupted) {
  AgentExecutor& executor = *cluster.executor;
  AdoptionPlan adoption = plan_adoption(experiment, spec, cluster.nodes, executor.kept(), only);
  auto kept = executor.adopt(adoption.launches(), is_interrupted);
  for (Adoption& each : adoption.adopted) {
    for (KeptLaunch& process : each.processes) {
      const int node = process.spec.node;
      process = std::move(kept.at(process.launch));
      process.spec.node = node;
    }
  }
  return adoption;
}

}  // namespace tune
