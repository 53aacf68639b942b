// The table from a command's name to the function that carries it out.
#include "apps/tune/dispatch.h"

#include <set>
#include <utility>

#include "tuner/base/error.h"

namespace tune {

namespace {

void require_trainable(const SpecSource& spec) {
  if (spec.file.empty() && spec.command.empty()) {
    throw user_error(
        "give a spec file, or after '--' the command to run: "
        "tune run --param-space space.json -- python3 train.py");
  }
}

}  // namespace

int carry_out(const std::string& name, Line& line) {
  static const std::set<std::string> wishes = {"stop",       "pause", "unpause",
                                               "checkpoint", "set",   "add"};
  if (wishes.contains(name)) return control_command(line.control);
  if (name == "resume" && line.resume.directory.empty() && line.resume.remote.empty()) {
    throw user_error("give the experiment's directory: tune resume DIR");
  }
  if (name == "resume") return resume_command(line.resume, line.spec, line.style);
  if (name == "agent") return agent_command(line.agent);
  if (name == "batch") return batch_command(line.batch);
  if (name == "submit") {
    if (line.spec.file.empty()) throw user_error("give a spec file: tune submit spec.json");
    // What stands behind the hyphens is sbatch's here.
    line.submit.others = std::exchange(line.spec.command, {});
    return submit_command(line.spec, line.submit);
  }
  if (name == "pull") return pull_command(line.remote);
  if (name == "fetch") return fetch_command(line.remote);
  if (name == "push") return push_command(line.remote);
  if (name == "remote") return verify_remote_command(line.remote);
  if (name == "init") {
    line.init.arguments = line.spec.command;
    return init_command(line.init);
  }
  if (name == "export") return export_command(line.exported);
  if (name == "schema") return schema_command(line.schema_of);
  if (name == "status") return status_command(line.status);
  if (name == "ls") return list_command(line.list);
  if (name == "compare") return compare_command(line.compare);
  if (name == "note") return note_command(line.note);
  if (name == "show") return show_command(line.show);
  if (name == "logs") return logs_command(line.logs);
  if (name == "events") return events_command(line.events);
  if (name == "best") return best_command(line.best);
  if (name == "checkpoints") return checkpoints_command(line.checkpoints);
  if (name == "diff") return diff_command(line.diff);
  if (name == "importance") return importance_command(line.importance);
  if (name == "tell") return tell_command(line.tell);
  if (name == "lineage") return lineage_command(line.lineage);
  if (name == "report") return report_command(line.report);
  if (name == "plot") return plot_command(line.plot);
  if (name == "dashboard") return dashboard_command(line.dashboard);
  if (name == "suggest") return suggest_command(line.spec, line.ask);
  if (name == "simulate") return simulate_command(line.spec, line.simulate);
  require_trainable(line.spec);
  if (name == "check") return check_command(line.spec, line.check);
  if (name == "validate") return validate_command(line.spec, line.json);
  if (name == "preview") return preview_command(line.spec, line.json);
  return run_command(line.spec, line.style, line.resume_mode);
}

}  // namespace tune
