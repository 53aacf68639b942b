// `tune status`: one experiment at one glance.
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/status_follow.h"
#include "tuner/base/error.h"
#include "tuner/cluster/job_list.h"
#include "tuner/cluster/submitted_job.h"
#include "tuner/disk/file_system.h"
#include "tuner/journal/experiment_store.h"
#include "tuner/view/status.h"
#include "tuner/view/status_text.h"

namespace tune {

namespace {

/// That of the run, as far as the record knows it.
int exit_code_of(const StatusView& seen) {
  const Experiment& experiment = seen.experiment();
  const auto how = experiment.session_ended();
  if (seen.view.driver || !how || how == SessionEnd::interrupted) return exit_interrupted;
  if (how == SessionEnd::fault) return exit_machine;
  if (how == SessionEnd::raised) return exit_raised;
  const bool is_bad = experiment.count(TrialState::error) > 0 || how == SessionEnd::given_up;
  return is_bad ? exit_trials_failed : exit_ok;
}

/// The job of Slurm's that the experiment was given to.
struct JobSeen {
  std::string id;
  std::optional<QueuedJob> queued;  ///< none: Slurm does not know it any more, or says nothing
  std::string silence;              ///< why it says nothing
};

std::optional<JobSeen> look_at_submitted(const std::filesystem::path& directory) {
  const auto id = read_submitted(directory);
  if (!id) return std::nullopt;
  JobSeen seen{.id = *id, .queued = {}, .silence = {}};
  try {
    seen.queued = look_at_job(*id);
  } catch (const Error& error) {
    seen.silence = error.what();
  }
  return seen;
}

std::string text_of(const JobSeen& seen) {
  if (seen.queued) return text_of(seen.id, *seen.queued);
  if (seen.silence.empty()) return seen.id + " has ended";
  return seen.id + ", of which Slurm says nothing: " + seen.silence;
}

Json json_of(const std::optional<JobSeen>& seen) {
  if (!seen) return nullptr;
  const auto& queued = seen->queued;
  return {{"id", seen->id},
          {"state", queued ? Json(queued->state) : Json()},
          {"reason", queued ? Json(queued->reason) : Json()},
          {"nodes", queued ? Json(queued->node_count) : Json()},
          {"time_left_s", queued && queued->left_s ? Json(*queued->left_s) : Json()}};
}

/// The jobs that trials run in, where a driver asks for them as trials wait.
struct AgentJobsSeen {
  std::vector<ListedJob> listed;
  std::vector<NamedJob> seen;  ///< of those, the ones that Slurm knows
  std::string silence;         ///< why it says nothing
};

AgentJobsSeen look_at_agent_jobs(const std::filesystem::path& directory) {
  AgentJobsSeen jobs{.listed = read_job_list(directory), .seen = {}, .silence = {}};
  if (jobs.listed.empty()) return jobs;
  std::vector<std::string> names;
  for (const ListedJob& job : jobs.listed) names.push_back(job.name);
  try {
    jobs.seen = look_at_jobs(names);
  } catch (const Error& error) {
    jobs.silence = error.what();
  }
  return jobs;
}

const QueuedJob* find(const AgentJobsSeen& jobs, const ListedJob& listed) {
  for (const NamedJob& seen : jobs.seen) {
    if (seen.name == listed.name && (listed.id.empty() || seen.id == listed.id)) {
      return &seen.queued;
    }
  }
  return nullptr;
}

void add_lines(const AgentJobsSeen& jobs, std::vector<std::pair<std::string, std::string>>& lines) {
  constexpr std::size_t most = 20;
  std::size_t count = 0;
  for (const ListedJob& listed : jobs.listed) {
    if (++count > most) break;
    const QueuedJob* const queued = find(jobs, listed);
    std::string text =
        listed.id.empty() ? listed.name + ", of which no number is known" : listed.id;
    if (queued != nullptr) {
      text += " " + queued->state;
      if (!queued->reason.empty() && queued->reason != "None") text += " (" + queued->reason + ")";
      for (const std::string& node : queued->nodes) text += " " + node;
      if (queued->left_s) text += ", " + text_of_time(*queued->left_s) + " left";
    } else if (!jobs.silence.empty()) {
      text += ", of which Slurm says nothing: " + jobs.silence;
    } else if (!listed.id.empty()) {
      text += " has ended";
    }
    lines.emplace_back(count == 1 ? "jobs" : "", text);
  }
  if (jobs.listed.size() > most) {
    lines.emplace_back("", "and " + std::to_string(jobs.listed.size() - most) + " more");
  }
}

Json json_of(const AgentJobsSeen& jobs) {
  Json all = Json::array();
  for (const ListedJob& listed : jobs.listed) {
    const QueuedJob* const queued = find(jobs, listed);
    const bool has_node = queued != nullptr && !queued->nodes.empty();
    all.push_back(
        {{"id", listed.id.empty() ? Json() : Json(listed.id)},
         {"state", queued != nullptr ? Json(queued->state) : Json()},
         {"reason", queued != nullptr ? Json(queued->reason) : Json()},
         {"node", has_node ? Json(queued->nodes.front()) : Json()},
         {"time_left_s", queued != nullptr && queued->left_s ? Json(*queued->left_s) : Json()}});
  }
  return all;
}

StatusFrame frame_of(const StatusRequest& request) {
  const StatusView seen = look_at_status(request.directory);
  return {.screen = pairs_text(status_lines(seen)),
          .line = request.json ? encode_numbers(status_json(seen)).dump() : status_line_of(seen),
          .is_data = request.json,
          .key = status_key_of(seen),
          .is_driven = seen.view.driver.has_value(),
          .exit_code = exit_code_of(seen)};
}

}  // namespace

int status_command(const StatusRequest& request) {
  if (request.follow) return follow_status([&] { return frame_of(request); });
  const auto job = look_at_submitted(request.directory);
  if (job && !ExperimentStore::exists(*make_posix_file_system(), request.directory)) {
    const std::string sentence = request.directory + " has not begun";
    if (request.json) throw user_error(sentence + ": its job is " + text_of(*job));
    print_pairs({{"experiment", sentence}, {"job", text_of(*job)}});
    return exit_ok;
  }
  const StatusView seen = look_at_status(request.directory);
  const AgentJobsSeen agent_jobs = look_at_agent_jobs(request.directory);
  if (request.json) {
    Json json = status_json(seen);
    json["job"] = json_of(job);
    json["jobs"] = json_of(agent_jobs);
    print_json(json);
  } else {
    auto lines = status_lines(seen);
    if (job) lines.emplace_back("job", text_of(*job));
    add_lines(agent_jobs, lines);
    print_pairs(lines);
  }
  return exit_ok;
}

}  // namespace tune
