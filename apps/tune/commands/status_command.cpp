// `tune status`: one experiment at one glance.
#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/status_follow.h"
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
  const StatusView seen = look_at_status(request.directory);
  if (request.json) {
    print_json(status_json(seen));
  } else {
    print_pairs(status_lines(seen));
  }
  return exit_ok;
}

}  // namespace tune
