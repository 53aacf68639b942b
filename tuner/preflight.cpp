// Looks for the program, its script, enough resources, and a remote that does not overlap the
// experiment.
#include "tuner/preflight.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/process/program.h"
#include "tuner/process/spawn.h"
#include "tuner/remote/overlap.h"
#include "tuner/run.h"
#include "tuner/start_cluster.h"

namespace tune {

namespace {

/// How a Python file that cannot be executed is run; empty if it is none.
std::string way_to_run(const std::string& file, const std::filesystem::path& directory) {
  std::error_code ignored;
  const bool is_there = std::filesystem::is_regular_file(directory / file, ignored);
  return file.ends_with(".py") && is_there ? ": say python3 " + file : "";
}

/// Why the trainable's program cannot be started; nothing if it can.
std::optional<std::string> cannot_run(const ExperimentSpec& spec) {
  ProcessSpec launch;
  launch.argv = spec.command;
  if (spec.plain) launch.directory = spec.plain->directory;
  for (const auto& [name, value] : spec.env) launch.environment.push_back(name + "=" + value);
  const std::string& name = spec.command.front();
  std::string reason;
  try {
    const Program program = resolve_program(launch, inherited_environment());
    if (::access(program.path.c_str(), X_OK) == 0) return std::nullopt;
    reason = "cannot run '" + name + "': " + std::strerror(errno);
  } catch (const Error& error) {
    reason = error.what();
  }
  return reason + way_to_run(name, launch.directory);
}

/// The script that an interpreter is to run and that is not there; nothing if all is well, or if
/// what the arguments mean is the program's own affair. Those that are files were made absolute.
std::optional<std::string> missing_script(const std::vector<std::string>& command) {
  static const std::set<std::string> interpreters = {
      "python", "pypy", "bash", "dash", "sh", "zsh", "Rscript", "julia", "node", "perl", "ruby"};
  static const std::set<std::string> endings = {".py", ".sh",  ".R",  ".jl",
                                                ".js", ".mjs", ".pl", ".rb"};
  std::string program = std::filesystem::path(command.front()).filename().string();
  program.erase(program.find_last_not_of("0123456789.") + 1);  // python3.11
  if (!interpreters.contains(program)) return std::nullopt;
  for (std::size_t i = 1; i < command.size(); ++i) {
    if (command[i] == "-c" || command[i] == "-m") return std::nullopt;
    if (command[i].starts_with('-')) continue;
    // The first that is no option is the script, or an option's value: that has no such ending.
    const std::filesystem::path script = command[i];
    std::error_code ignored;
    const bool is_there = script.is_absolute() && std::filesystem::exists(script, ignored);
    const bool is_script = endings.contains(script.extension().string());
    return is_script && !is_there ? std::optional(command[i]) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> cannot_be_told(const std::filesystem::path& directory) {
  if (is_utf8(directory.native())) return std::nullopt;
  return "the directory " + directory.native() +
         " has a name that is no UTF-8: trials could not be told where to save; rename it, or "
         "choose another storage_path";
}

std::vector<Problem> preflight(const ExperimentSpec& spec, const DetectedResources& detected) {
  std::vector<Problem> problems;
  if (const auto reason = cannot_be_told(experiment_directory(spec))) {
    problems.push_back({"/storage_path", *reason});
  }
  if (const auto reason = cannot_run(spec)) problems.push_back({"/trainable/command/0", *reason});
  if (const auto script = missing_script(spec.command)) {
    problems.push_back({"/trainable/command", "there is no file '" + *script + "'"});
  }
  if (!spec.remote.path.empty()) {
    const auto why = overlap(remote_below(spec.remote.path, spec.name), experiment_directory(spec));
    if (why) problems.push_back({"/remote/path", *why});
  }
  // What other machines have is seen once their agents have joined.
  if (!runs_here(spec.cluster)) return problems;
  const auto gpus = spec.resources.find("gpu");
  const std::size_t found = detected.gpus.size();
  if (gpus != spec.resources.end() && found > 0 && gpus->second > static_cast<double>(found)) {
    problems.push_back({"/resources/gpu", std::to_string(std::llround(gpus->second)) +
                                              " gpus are given, but " + detected.gpus_from +
                                              " has only " + std::to_string(found)});
  }
  const ResourcePool pool(total_resources(spec, detected));
  if (const auto reason = pool.impossible(spec.resources_per_trial)) {
    if (spec.workers) {
      problems.push_back({"/num_workers", *reason + " (" + std::to_string(spec.workers->count) +
                                              " workers): give each less in resources_per_worker, "
                                              "or say in resources what there is"});
    } else {
      problems.push_back({"/resources_per_trial", *reason});
    }
  }
  return problems;
}

}  // namespace tune
