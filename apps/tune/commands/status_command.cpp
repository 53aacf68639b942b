// `tune status`: one experiment at one glance.
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/status_follow.h"
#include "tuner/base/error.h"
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
  if (request.json) {
    Json json = status_json(seen);
    json["job"] = json_of(job);
    print_json(json);
  } else {
    auto lines = status_lines(seen);
    if (job) lines.emplace_back("job", text_of(*job));
    print_pairs(lines);
  }
  return exit_ok;
}

}  // namespace tune
