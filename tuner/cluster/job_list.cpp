// The file of jobs, and the words that each is asked for with.
#include "tuner/cluster/job_list.h"

#include <array>
#include <cctype>
#include <random>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/cluster/cluster_files.h"
#include "tuner/cluster/submitted_job.h"
#include "tuner/disk/file_system.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

/// Of the names of an experiment's jobs: "digits-".
std::string beginning_of_names(const std::string& experiment_name) {
  constexpr std::size_t longest = 40;
  std::string name;
  for (const char c : experiment_name.substr(0, longest)) {
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_';
    name += is_plain ? c : '-';
  }
  return name + '-';
}

}  // namespace

fs::path job_list(const fs::path& experiment) {
  return cluster_directory(experiment) / "jobs.json";
}
fs::path agent_job_script(const fs::path& experiment) {
  return cluster_directory(experiment) / "job.sh";
}
fs::path agent_job_log(const fs::path& experiment, const std::string& id) {
  return cluster_directory(experiment) / (id + ".out");
}

std::vector<ListedJob> read_job_list(const fs::path& experiment) {
  const fs::path file = job_list(experiment);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return {};
  try {
    const Json json = Json::parse(make_posix_file_system()->read(file));
    std::vector<ListedJob> jobs;
    for (const Json& each : json.at("jobs")) {
      const Json& id = each.at("id");
      jobs.push_back({.name = each.at("name").get<std::string>(),
                      .id = id.is_null() ? std::string() : id.get<std::string>()});
    }
    return jobs;
  } catch (const nlohmann::json::exception&) {
    throw user_error("the list of this search's jobs in Slurm is damaged: " + file.native() +
                     "; look for them with: squeue --me --format='%i %j' | grep ' " +
                     beginning_of_names(experiment.filename().native()) +
                     "', end them with scancel, and remove the file");
  }
}

void write_job_list(const fs::path& experiment, const std::vector<ListedJob>& jobs) {
  const auto files = make_posix_file_system(Access::owner);
  if (jobs.empty()) {
    files->remove_file(job_list(experiment));
    return;
  }
  Json all = Json::array();
  for (const ListedJob& job : jobs) {
    all.push_back({{"name", job.name}, {"id", job.id.empty() ? Json() : Json(job.id)}});
  }
  files->replace(job_list(experiment), Json({{"jobs", std::move(all)}}).dump() + "\n");
}

std::string new_job_name(const std::string& experiment_name) {
  constexpr int digits = 8;
  std::string name = beginning_of_names(experiment_name);
  std::random_device random;
  for (int i = 0; i < digits; ++i) name += "0123456789abcdef"[random() % 16];
  return name;
}

std::string name_of_agent(const std::string& node, const std::string& job) {
  return node + ":" + job;
}

std::string job_of_agent(const std::string& name) {
  const auto colon = name.rfind(':');
  return colon == name.npos ? "" : name.substr(colon + 1);
}

std::string agent_job_text(const std::vector<std::string>& agent) {
  std::string text =
      "#!/bin/bash\n"
      "# Written by tune run, which writes it anew: what each of its jobs runs (--agent-jobs).\n"
      "exec";
  for (const std::string& word : agent) text += " " + shell_word(word);
  return text + " --node \"" + name_of_agent("$SLURMD_NODENAME", "$SLURM_JOB_ID") + "\"\n";
}

std::vector<std::string> sbatch_words(const fs::path& experiment, const std::string& time,
                                      const std::vector<std::string>& others) {
  std::vector<std::string> words = {"sbatch"};
  words.insert(words.end(), others.begin(), others.end());
  // Behind the user's: the last one of a kind counts.
  words.insert(
      words.end(),
      {"--parsable", "--nodes=1", "--time=" + time, "--open-mode=append",
       "--chdir=" + experiment.parent_path().native(),
       "--output=" + with_percents_doubled(cluster_directory(experiment).native()) + "/%j.out"});
  return words;
}

void check_agent_jobs(const fs::path& experiment, const std::string& time,
                      const std::vector<std::string>& others, Seconds margin_s) {
  constexpr std::array<std::string_view, 12> names = {
      "--nodes",     "--time",     "--ntasks",   "--array",  "--wrap",  "--wait",
      "--test-only", "--parsable", "--job-name", "--output", "--error", "--chdir"};
  constexpr std::array<std::string_view, 9> letters = {"-N", "-t", "-n", "-a", "-W",
                                                       "-J", "-o", "-e", "-D"};
  if (const auto option = option_among(others, names, letters); !option.empty()) {
    throw user_error(option +
                     " stands behind '--', among the options for sbatch: each of these jobs has "
                     "one node, one task and the time of --time, and tune names it");
  }
  const auto time_s = slurm_seconds(time);
  if (!time_s || *time_s <= 0) {
    throw user_error("--time must be like 30 (minutes), 8:00:00 or 1-12:00:00, got " +
                     as_quoted(time));
  }
  if (*time_s <= 2 * margin_s) {
    throw user_error("--time " + time + " is no longer than twice the " +
                     std::to_string(static_cast<long>(margin_s)) +
                     " s before a job's end in which its trials are saved (--job-margin-s)");
  }
  // Slurm has taken some: agents in them wait for this driver, and not for long.
  if (!read_job_list(experiment).empty()) return;
  std::vector<std::string> words = sbatch_words(experiment, time, others);
  words.back() = "--output=/dev/null";
  words.insert(words.end(), {"--chdir=/", "--test-only", "--wrap=true"});
  const SlurmAnswer tested = ask_slurm(std::move(words));
  if (tested.exit_code == 0) return;
  throw user_error("Slurm takes no job like that, and nothing was submitted: " +
                   in_one_line(tested.said));
}

}  // namespace tune
