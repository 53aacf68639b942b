// What a driver is told of its cluster.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cluster/job_launcher.h"
#include "tuner/cluster/slurm.h"

namespace tune {

class ProcessGroups;

struct ClusterOptions {
  std::filesystem::path directory;     ///< of the experiment, absolute
  std::vector<std::string> hosts;      ///< an agent is started on each
  std::vector<std::string> launcher;   ///< by this command
  std::optional<SlurmJob> slurm = {};  ///< or by a step of this job, whose nodes the hosts are
  std::optional<AgentJobs> jobs = {};  ///< or by jobs of their own, as they come; then no hosts
  std::string program;                 ///< tune, as hosts find it
  std::string bind;                    ///< numeric address of this machine that agents reach
  Seconds lease_s = 30;
  Seconds after_lease_s = 5;  ///< so long an agent takes then to end what it runs
  std::string version;
  /// What each node has instead of what it finds.
  Resources resources;
  ProcessGroups* groups = nullptr;  ///< of the launchers, see SideProgram
  /// Told of what nobody waits for, in sentences.
  std::function<void(const std::string&)> notice = [](const std::string&) {};
};

}  // namespace tune
