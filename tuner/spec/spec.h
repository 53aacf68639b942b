// The experiment spec: what the user asked for, parsed and checked as a whole before anything is
// touched. Reference: docs/spec.md and docs/experiment.schema.json.
// Knows names of policies only through the Catalogue.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/model/failure_rules.h"
#include "tuner/model/remote_config.h"
#include "tuner/model/retention.h"
#include "tuner/plain/plain_program.h"
#include "tuner/policy/catalogue.h"
#include "tuner/space/search_space.h"

namespace tune {

enum class FailFast {
  no,
  yes,    ///< the first failure ends all trials
  raise,  ///< the first failure ends the driver at once; the others may be resumed
};

struct FailureConfig {
  int max_failures = 0;  ///< retries per trial; -1: forever
  FailFast fail_fast = FailFast::no;
  /// So many different trials that fail, without a result of any between, are taken for a fault of
  /// the machine; -1: however many fail.
  int max_failures_in_a_row = 8;
  std::optional<std::vector<FailureRule>> retry_on;  ///< none: whatever max_failures allows
  /// These win over retry_on.
  std::vector<FailureRule> never_retry_on = {FailureRule{.name = "out_of_memory"}};
};

/// How many processes of paused trials may wait, or what they may take together.
struct KeepPaused {
  std::optional<std::size_t> processes;  ///< 0: none
  std::optional<std::uint64_t> bytes;    ///< of main memory and devices
};

/// A trial is so many processes, which train together: each has its rank.
struct TrialWorkers {
  int count = 1;
  Resources each;  ///< what one of them takes; empty: they share what the trial takes
};

/// The machines that trials run on, each under an agent of its own (`tune agent`).
struct ClusterConfig {
  enum class Type { none, hosts, slurm };
  /// None: hosts if there are any, else the allocation of Slurm's that the driver is in, else this
  /// machine.
  std::optional<Type> type;
  std::vector<std::string> hosts;  ///< empty: trials run on this machine
  /// Starts an agent; see host_launcher.h for its words.
  std::vector<std::string> launcher = {"ssh", "-o", "BatchMode=yes", "${host}", "${agent}"};
  std::optional<std::string> bind;  ///< where the driver listens; none: the address towards a host
  Seconds agent_lease_s = 30;       ///< an agent that hears nothing for so long ends its trials
  /// So many jobs of Slurm's, of one node each, are kept as long as trials wait; none: no such
  /// jobs.
  std::optional<int> agent_jobs;
  std::optional<std::string> time;          ///< of each of them, as sbatch has it
  std::vector<std::string> sbatch_options;  ///< more, of each
  Seconds agent_idle_s = 300;  ///< a job that no trial has had a use for, for so long, is ended
  Seconds job_margin_s = 120;  ///< so long before a job's end its trials move
};

struct ExperimentSpec {
  std::string name = "experiment";
  std::filesystem::path storage_path = "results";
  std::vector<std::string> command;        ///< argv of the trainable; argv[0] resolved
  std::map<std::string, std::string> env;  ///< added to the trainable's environment
  bool merge_output = false;               ///< stderr into stdout.log, interleaved
  /// Set if the trainable does not speak the protocol; `command` and `env` may have words then.
  std::optional<PlainProgram> plain;
  std::vector<std::string> preload;  ///< Python modules that are loaded once for all trials
  Json param_space = Json::object();
  std::vector<Objective> objectives;
  std::vector<std::string> constraints;  ///< of configs and of last results (Constraint::text)
  std::int64_t num_samples = 1;          ///< -1: endless
  std::optional<int> max_concurrent_trials;
  Resources resources_per_trial{{"cpu", 1}};  ///< of all its workers together
  std::optional<TrialWorkers> workers;        ///< none: one process
  Placement placement = Placement::pack;      ///< of workers, where there are several nodes
  /// Totals given by the user, with a cluster of each node; names not in it are detected.
  Resources resources;
  ClusterConfig cluster;
  std::optional<Seconds> time_budget_s;
  Json stop;  ///< as given: an object, a list of them, or null
  std::uint64_t seed = 0;
  Json searcher = Json::object({{"type", "auto"}});  ///< with its options
  std::string searcher_reason;  ///< why this one; empty if it was asked for by name, not recorded
  Json scheduler = Json::object({{"type", "fifo"}});  ///< the same
  CheckpointConfig checkpoint_config;
  FailureConfig failure_config;
  RemoteConfig remote;          ///< its path is empty: none
  std::vector<Json> callbacks;  ///< {"type": ..., options}, beside the built-in ones
  /// Shared libraries with policies; only the command line loads them.
  std::vector<std::filesystem::path> plugins;
  /// Whether a process may train another trial after its own; none: only if its function says that
  /// it can, and nothing of the trial before stays in it.
  std::optional<bool> reuse_processes;
  std::optional<KeepPaused> keep_paused;  ///< none: as many as memory suggests, without devices
  std::optional<std::uint64_t> max_log_bytes;  ///< of each log of a trial; none: no limit
  std::uint64_t min_free_bytes = 256 << 20;    ///< no launches with less free; 0: never mind
  std::optional<Seconds> snapshot_period_s;
  Seconds launch_timeout_s = 60;           ///< from launch to hello
  std::optional<Seconds> trial_timeout_s;  ///< silence of a trial that was told to do something
  Seconds stop_grace_s = 10;               ///< from "stop" to SIGTERM, and from there to SIGKILL
  /// After the time budget or `tune stop`: from then to the end by force of what runs.
  Seconds last_result_grace_s = 300;
  std::filesystem::path resume_from_checkpoint;  ///< every trial starts from it; empty: none
};

/// The spec in `json`. Everything that is wrong is appended to `problems`, not only the first;
/// unknown fields are named with the nearest known one. `base`: directory of the spec's file, from
/// which relative paths in `command` start. With problems the answer is meaningless.
ExperimentSpec parse_spec(const Json& json, const std::filesystem::path& base,
                          const Catalogue& catalogue, std::vector<Problem>& problems);

/// The spec that an experiment's directory has: what parse_spec once made of the user's. Its paths
/// are taken as they are, and what they name need not exist any more.
ExperimentSpec parse_recorded_spec(const Json& json, const Catalogue& catalogue,
                                   std::vector<Problem>& problems);

/// A recorded spec with changes, whose paths start in `base`: what a new one must say and a
/// recorded one may lack is not asked for, since what is begun can go on only as it was.
ExperimentSpec parse_changed_spec(const Json& json, const std::filesystem::path& base,
                                  const Catalogue& catalogue, std::vector<Problem>& problems);

/// The spec as JSON, all defaults filled in: parse_spec of it gives the same spec.
Json to_json(const ExperimentSpec& spec);

/// A path that a spec has, absolute: relative to `base`, or to the user's home after "~/".
std::filesystem::path path_in_spec(const std::filesystem::path& base, const std::string& text);

/// The plugins that the spec in `json` names, absolute; whatever else is wrong in it, parse_spec
/// says, which needs what they add.
std::vector<std::filesystem::path> plugins_in(const Json& json, const std::filesystem::path& base);

/// Error (user) if one of them is wrong.
std::vector<Constraint> constraints_of(const ExperimentSpec& spec);

/// Reads a JSON document for people's mistakes: Error (user) with file, line and column.
/// Comments (// and /* */) are allowed, since people write specs by hand. `read`: gets the text.
Json read_json_file(const std::filesystem::path& file, std::string* read = nullptr);

/// A bound on what is almost the name of a field that the driver fills in ("training_iterations")
/// would never be reached: a problem, unless it is a metric of the spec. Not for recorded specs,
/// which go on as they were begun.
void refuse_misspelt_bounds(const ExperimentSpec& spec, std::vector<Problem>& problems);

/// The stopping rules of `spec.stop` and `spec.time_budget_s`, one object; null if there are none.
std::unique_ptr<Stopper> make_stopper(const ExperimentSpec& spec, const Catalogue& catalogue,
                                      const PolicyContext& context, std::vector<Problem>& problems);

}  // namespace tune
