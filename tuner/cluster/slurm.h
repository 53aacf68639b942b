// What Slurm says: to a process in its environment, and to who asks it by its commands. Its library
// is another one with each release, so nothing links it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/clock.h"

namespace tune {

/// The value of an environment variable; nothing if it is not set.
using EnvironmentLookup = std::function<std::optional<std::string>(const std::string& name)>;
/// This process's.
std::optional<std::string> own_environment(const std::string& name);

/// A job whose allocation this process may use.
struct SlurmJob {
  std::string id;
  std::vector<std::string> nodes;  ///< names, in Slurm's order; at least one
  std::string here;                ///< which of them this machine is; empty: none, after salloc
  /// srun has started this process, and what the job has is taken by its step.
  bool is_task = false;
};

/// Nothing: the process is in none. Error (user) if the names of the nodes cannot be read.
std::optional<SlurmJob> slurm_job(const EnvironmentLookup& environment);

/// The name that Slurm has for this machine, where it has started this process.
std::optional<std::string> slurm_node(const EnvironmentLookup& environment);

/// "n[1-3,07],m1" as names. Error (user) if it is none, or of more than 100,000.
std::vector<std::string> names_in_hostlist(std::string_view list);

/// "30" (minutes), "30:00", "8:00:00", "1-0", "1-02:30" or "1-02:30:00"; nothing if it is none.
std::optional<Seconds> slurm_seconds(std::string_view text);

/// What srun says when tasks of its step have ended otherwise than well: their nodes have reported
/// it, so they run no more.
struct EndedTasks {
  std::vector<std::string> nodes;
  std::string how;  ///< a phrase: "Killed", "Exited with exit code 1"
};
/// Nothing: the line says something else, as "Node failure on n3", which proves nothing: what runs
/// on a node that is cut off goes on.
std::optional<EndedTasks> ended_tasks(std::string_view line);

/// How a command has ended, and what it has printed.
struct SlurmAnswer {
  int exit_code = 0;
  std::string said;  ///< without white space at its ends
};
/// Runs one of Slurm's commands. Error (machine) if it takes longer than `patience_s`, Error (user)
/// if there is no such program.
/// `is_given_up`: asked again and again, whether nobody waits for the answer any more.
SlurmAnswer ask_slurm(std::vector<std::string> command, Seconds patience_s = 30,
                      const std::function<bool()>& is_given_up = {});

/// What one of them has said, whose own words may take several lines, in one.
std::string in_one_line(std::string_view said);

/// A job as the queue has it.
struct QueuedJob {
  std::string state;              ///< "PENDING", "RUNNING", ...
  std::optional<Seconds> left_s;  ///< none: no limit, or it does not run
  std::string reason;             ///< why it does not run, a word; "None": it does
  std::vector<std::string> nodes;
  int node_count = 0;  ///< also of one that waits

  /// It waits, runs, or does both in turn: it is no job that has ended.
  bool is_alive() const;
};
/// Nothing: Slurm does not know it, or not any more. Error (machine) if Slurm cannot be asked.
std::optional<QueuedJob> look_at_job(const std::string& id);
/// What `look_at_job` asks for, as its command prints it.
std::optional<QueuedJob> read_queued_job(std::string_view line);

/// A job in the queue, with its name.
struct NamedJob {
  std::string name;
  std::string id;
  QueuedJob queued;
};
/// Those of this user that have one of these names and that Slurm knows. Error (machine) if Slurm
/// cannot be asked.
std::vector<NamedJob> look_at_jobs(const std::vector<std::string>& names,
                                   const std::function<bool()>& is_given_up = {},
                                   Seconds patience_s = 30);
/// What `look_at_jobs` asks for, as its command prints it.
std::optional<NamedJob> read_named_job(std::string_view line);

/// The number of a job in what `sbatch --parsable` has printed, among what a site has it say;
/// empty: there is none.
std::string submitted_id(std::string_view said);

/// Addresses of nodes of Slurm's, some of them. Error if Slurm cannot be asked.
std::vector<std::string> some_node_addresses();

/// The address of a node of Slurm's, or its name, as other nodes reach it.
std::string address_of_node(const std::string& node);

}  // namespace tune
