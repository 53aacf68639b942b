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

/// The job of Slurm's that the experiment was given to; empty: it was not.
std::string job_text(const std::filesystem::path& directory) {
  const auto id = read_submitted(directory);
  if (!id) return "";
  try {
    const auto job = look_at_job(*id);
    return job ? text_of(*id, *job) : *id + " has ended";
  } catch (const Error& error) {
    return *id + ", of which Slurm says nothing: " + error.what();
  }
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
  const std::string job = job_text(request.directory);
  if (!job.empty() && !ExperimentStore::exists(*make_posix_file_system(), request.directory)) {
    if (request.json) throw user_error(request.directory + " has not begun: its job is " + job);
    print_pairs({{"experiment", request.directory + " has not begun"}, {"job", job}});
    return exit_ok;
  }
  const StatusView seen = look_at_status(request.directory);
  if (request.json) {
    Json json = status_json(seen);
    json["job"] = job.empty() ? Json() : Json(job);
    print_json(json);
  } else {
    auto lines = status_lines(seen);
    if (!job.empty()) lines.emplace_back("job", job);
    print_pairs(lines);
  }
  return exit_ok;
}

}  // namespace tune
