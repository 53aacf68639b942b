// The Slurm job that an experiment was given to (`tune submit`): its files in the experiment's
// directory, and what they say.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/cluster/slurm.h"

namespace tune {

/// What a job is asked for.
struct JobRequest {
  std::string name;
  std::string nodes;                ///< as sbatch has it
  std::string gpus_per_node;        ///< the same; empty: none
  std::string time;                 ///< the same
  std::vector<std::string> others;  ///< more options for sbatch
};

/// DIR/job: `script.sh`, `spec.json` (what the job runs), `submitted.json`, `out.log` (what the job
/// prints).
std::filesystem::path job_directory(const std::filesystem::path& experiment);
std::filesystem::path job_script(const std::filesystem::path& experiment);
std::filesystem::path job_spec(const std::filesystem::path& experiment);
std::filesystem::path job_log(const std::filesystem::path& experiment);

/// A script for sbatch, which executes `batch`.
std::string job_script_text(const JobRequest& request, const std::filesystem::path& experiment,
                            const std::vector<std::string>& batch);

/// The option among `others` that the request says by itself, or that would make another kind of
/// job of it; empty: there is none.
std::string reserved_option(const std::vector<std::string>& others);

/// The first of the options, long ones or letters, that stands among `words`, as sbatch reads them:
/// names may be cut short, and letters share a word. Empty: none does.
std::string option_among(const std::vector<std::string>& words,
                         std::span<const std::string_view> names,
                         std::span<const std::string_view> letters);

/// In a name of a file for sbatch a percent sign begins a word of Slurm's.
std::string with_percents_doubled(const std::string& text);

/// The number of the job.
void write_submitted(const std::filesystem::path& experiment, const std::string& id);
/// Nothing: it was never submitted. Throws Error.
std::optional<std::string> read_submitted(const std::filesystem::path& experiment);

/// A job as people read it: "12 PENDING (Resources), 4 nodes".
std::string text_of(const std::string& id, const QueuedJob& job);

/// "7:59:30"
std::string text_of_time(Seconds left_s);

}  // namespace tune
