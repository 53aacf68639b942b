// Writes the script of a job, and keeps its number.
#include "tuner/cluster/submitted_job.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "trainable/values.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/disk/file_system.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

fs::path submitted_file(const fs::path& experiment) {
  return job_directory(experiment) / "submitted.json";
}

/// sbatch takes a part of a long option's name, too. One that several options begin with it
/// refuses itself.
bool may_mean(std::string_view word, std::string_view option) {
  constexpr std::string_view whole = "--gpus";  // an option by itself
  constexpr std::size_t dashes = 2;
  return word.size() > dashes && option.starts_with(word) && word != whole;
}

/// Of short options in one word, as in "-vt10": up to the first that takes the rest as its value.
std::string_view letters_in(std::string_view word) {
  constexpr std::string_view without_value = "hHIOQuvVW";
  word.remove_prefix(1);
  return word.substr(0, std::min(word.find_first_not_of(without_value), word.size() - 1) + 1);
}

}  // namespace

std::string with_percents_doubled(const std::string& text) {
  std::string doubled;
  for (const char c : text) doubled += c == '%' ? std::string("%%") : std::string(1, c);
  return doubled;
}

fs::path job_directory(const fs::path& experiment) { return experiment / "job"; }
fs::path job_script(const fs::path& experiment) { return job_directory(experiment) / "script.sh"; }
fs::path job_spec(const fs::path& experiment) { return job_directory(experiment) / "spec.json"; }
fs::path job_log(const fs::path& experiment) { return job_directory(experiment) / "out.log"; }

std::string job_script_text(const JobRequest& request, const fs::path& experiment,
                            const std::vector<std::string>& batch) {
  std::vector<std::string> options = {"--job-name=" + request.name, "--nodes=" + request.nodes,
                                      "--time=" + request.time};
  if (!request.gpus_per_node.empty()) options.push_back("--gpus-per-node=" + request.gpus_per_node);
  options.insert(options.end(),
                 {"--requeue", "--no-kill", "--open-mode=append",
                  "--output=" + with_percents_doubled(job_log(experiment).native())});
  options.insert(options.end(), request.others.begin(), request.others.end());
  std::string text =
      "#!/bin/bash\n"
      "# Written by tune submit, which writes it anew. The job is requeued, and the search goes "
      "on\n"
      "# with each run of it, until it is done.\n";
  for (const std::string& option : options) text += "#SBATCH " + shell_word(option) + "\n";
  text += "exec";
  for (const std::string& word : batch) text += " " + shell_word(word);
  return text + "\n";
}

std::string option_among(const std::vector<std::string>& words,
                         std::span<const std::string_view> names,
                         std::span<const std::string_view> letters) {
  for (const std::string& word : words) {
    if (word.starts_with("--")) {
      const auto found = std::find_if(names.begin(), names.end(), [&](std::string_view name) {
        return may_mean(std::string_view(word).substr(0, word.find('=')), name);
      });
      if (found != names.end()) return std::string(*found);
    } else if (word.starts_with('-')) {
      for (const char letter : letters_in(word)) {
        const std::string option = {'-', letter};
        if (std::find(letters.begin(), letters.end(), option) != letters.end()) return option;
      }
    }
  }
  return "";
}

std::string reserved_option(const std::vector<std::string>& others) {
  constexpr std::array<std::string_view, 9> names = {"--nodes",     "--time",     "--gpus-per-node",
                                                     "--array",     "--wrap",     "--wait",
                                                     "--test-only", "--parsable", "--no-requeue"};
  constexpr std::array<std::string_view, 4> letters = {"-N", "-t", "-a", "-W"};
  return option_among(others, names, letters);
}

void write_submitted(const fs::path& experiment, const std::string& id) {
  const Json json = {{"job", id}};
  make_posix_file_system(Access::owner)->replace(submitted_file(experiment), json.dump() + "\n");
}

std::optional<std::string> read_submitted(const fs::path& experiment) {
  const fs::path file = submitted_file(experiment);
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  try {
    const Json json = Json::parse(make_posix_file_system()->read(file));
    return json.at("job").get<std::string>();
  } catch (const nlohmann::json::exception& error) {
    throw user_error("cannot read " + file.native() + ": " + error.what());
  }
}

std::string text_of_time(Seconds left_s) {
  const long seconds = std::max(0L, static_cast<long>(left_s));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%ld:%02ld:%02ld", seconds / 3600, seconds / 60 % 60,
                seconds % 60);
  return text.data();
}

std::string text_of(const std::string& id, const QueuedJob& job) {
  std::string text = id + " " + job.state;
  if (!job.reason.empty() && job.reason != "None") text += " (" + job.reason + ")";
  text += ", " + count_of(static_cast<std::size_t>(job.node_count), "node");
  if (job.left_s) text += ", " + text_of_time(*job.left_s) + " left";
  return text;
}

}  // namespace tune
