// scancel, and squeue where that has failed.
#include "tuner/cluster/job_ending.h"

#include <algorithm>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/cluster/slurm.h"

namespace tune {

namespace {

/// scancel itself tries for long where no controller answers.
constexpr Seconds scancel_patience_s = 5;

/// All with numbers are one command, and each name is one: Slurm takes more as a filter.
std::vector<std::vector<std::string>> commands_for(const std::vector<ListedJob>& jobs) {
  std::vector<std::vector<std::string>> commands;
  std::vector<std::string> by_id = {"scancel"};
  for (const ListedJob& job : jobs) {
    if (!job.id.empty()) by_id.push_back(job.id);
  }
  if (by_id.size() > 1) commands.push_back(std::move(by_id));
  for (const ListedJob& job : jobs) {
    if (job.id.empty()) commands.push_back({"scancel", "--name=" + job.name});
  }
  return commands;
}

}  // namespace

JobsEnding end_jobs(const std::vector<ListedJob>& jobs, const std::function<bool()>& is_given_up) {
  JobsEnding ending;
  try {
    for (std::vector<std::string>& command : commands_for(jobs)) {
      const SlurmAnswer answer = ask_slurm(std::move(command), scancel_patience_s, is_given_up);
      if (answer.exit_code != 0) ending.trouble = in_one_line(answer.said);
      if (answer.exit_code != 0 && ending.trouble.empty()) ending.trouble = "scancel has failed";
    }
  } catch (const Error& error) {
    ending.trouble = error.what();
  }
  if (ending.trouble.empty()) return ending;
  ending.left = jobs;
  try {
    std::vector<std::string> names;
    for (const ListedJob& job : jobs) names.push_back(job.name);
    const auto seen = look_at_jobs(names, is_given_up, scancel_patience_s);
    std::erase_if(ending.left, [&](ListedJob& job) {
      const auto found = std::find_if(seen.begin(), seen.end(), [&](const NamedJob& each) {
        return each.name == job.name && (job.id.empty() || each.id == job.id);
      });
      // One without a number may not be shown yet.
      if (found == seen.end()) return !job.id.empty();
      job.id = found->id;
      return !found->queued.is_alive();
    });
  } catch (const Error&) {
    // What scancel has said is the sentence.
  }
  return ending;
}

std::string scancel_command(const std::vector<ListedJob>& jobs) {
  std::string text;
  for (const std::vector<std::string>& command : commands_for(jobs)) {
    std::string separator = text.empty() ? "" : "; ";
    for (const std::string& word : command) text += std::exchange(separator, " ") + word;
  }
  return text;
}

std::string names_of(const std::vector<ListedJob>& jobs) {
  std::string text;
  for (const ListedJob& job : jobs) {
    text += (text.empty() ? "" : ", ") + (job.id.empty() ? job.name : job.id);
  }
  return text;
}

}  // namespace tune
