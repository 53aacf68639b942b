// The jobs that a search has asked Slurm for and that may not have ended: a file in the
// experiment's directory, so that the next driver knows them again.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cluster/slurm.h"

namespace tune {

/// One of them. It is in the file before Slurm is asked for it: a driver that dies then leaves one
/// without a number, and whether Slurm has it its name tells.
struct ListedJob {
  std::string name;  ///< that no other job has
  std::string id;    ///< empty: not known
};

/// cluster/jobs.json
std::filesystem::path job_list(const std::filesystem::path& experiment);
/// cluster/job.sh: what each of them runs.
std::filesystem::path agent_job_script(const std::filesystem::path& experiment);
/// cluster/ID.out: what one has printed.
std::filesystem::path agent_job_log(const std::filesystem::path& experiment, const std::string& id);

/// None: there is no such file. Throws Error.
std::vector<ListedJob> read_job_list(const std::filesystem::path& experiment);
/// Without any there is no file. Throws Error.
void write_job_list(const std::filesystem::path& experiment, const std::vector<ListedJob>& jobs);

/// "digits-0f3a9c21"
std::string new_job_name(const std::string& experiment_name);

/// What the agent of a job is called, since several jobs may be on one node: "n1:12".
std::string name_of_agent(const std::string& node, const std::string& job);
/// The job in such a name; empty: it is none.
std::string job_of_agent(const std::string& name);

/// The script that starts `agent`, a command without its node.
std::string agent_job_text(const std::vector<std::string>& agent);

/// sbatch's words for one job, but for its name and its script.
std::vector<std::string> sbatch_words(const std::filesystem::path& experiment,
                                      const std::string& time,
                                      const std::vector<std::string>& others);

/// Error (user) if jobs like that cannot be had: something contradicts itself, there is no sbatch,
/// or Slurm refuses them, with its sentence. Where there are some it is not asked. Submits nothing.
void check_agent_jobs(const std::filesystem::path& experiment, const std::string& time,
                      const std::vector<std::string>& others, Seconds margin_s);

}  // namespace tune
