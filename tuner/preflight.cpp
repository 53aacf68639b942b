// Looks for the program, its script, enough resources, and a remote that does not overlap the
// experiment.
#include "tuner/preflight.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
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

/// What the kernel would not start of a file that may be executed: its first line names an
/// interpreter that is not there, or it is a text without such a line. Nothing: it would.
std::optional<std::string> cannot_begin(const Program& program, const std::string& name) {
  std::string head(256, '\0');
  std::ifstream file(program.path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  if (!head.starts_with("#!")) {
    constexpr char elf = 0x7f;  // what a program begins with that a compiler has made
    const bool is_text = !head.empty() && std::all_of(head.begin(), head.end(), [](char c) {
      const bool is_control = static_cast<unsigned char>(c) < ' ' || c == elf;
      return !is_control || c == '\n' || c == '\t' || c == '\r';
    });
    if (!is_text) return std::nullopt;
    return "cannot run '" + name +
           "': its first line names no interpreter, like #!/bin/sh or #!/usr/bin/env python3";
  }
  const std::string line = head.substr(2, head.find('\n') - 2);
  if (line.ends_with('\r')) {
    return "cannot run '" + name + "': its lines end as on Windows, and the interpreter that the " +
           "first one names is not found; dos2unix mends that";
  }
  std::istringstream words(line);
  std::string interpreter, word;
  words >> interpreter >> word;
  std::error_code ignored;
  const bool is_looked_up = interpreter.ends_with("/env") && !word.empty() &&
                            !word.starts_with('-') && word.find('=') == word.npos;
  // One that is named from where the trial runs is found there.
  if (interpreter.starts_with('/') && !std::filesystem::exists(interpreter, ignored)) {
    return "the interpreter '" + interpreter + "' of '" + name + "' does not exist";
  }
  if (!is_looked_up) return std::nullopt;
  ProcessSpec looked_up;
  looked_up.argv = {word};
  try {
    resolve_program(looked_up, program.environment);
  } catch (const Error&) {
    return "the interpreter '" + word + "' of '" + name + "' is not in PATH";
  }
  return std::nullopt;
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
    if (::access(program.path.c_str(), X_OK) == 0) return cannot_begin(program, name);
    reason = "cannot run '" + name + "': " + std::strerror(errno);
  } catch (const Error& error) {
    reason = error.what();
  }
  return reason + way_to_run(name, launch.directory);
}

/// ", did you mean 'cpu'?" of the first name that there is nothing of; else empty.
std::string name_meant(const Resources& request, const Resources& totals) {
  std::vector<std::string> known;
  for (const auto& [name, amount] : totals) known.push_back(name);
  for (const auto& [name, amount] : request) {
    if (totals.contains(name) || amount <= 0) continue;
    const auto near = nearest_name(name, known);
    return near ? ", did you mean '" + *near + "'?" : "";
  }
  return "";
}

/// Where the script stands that an interpreter is to run and that is not there; nothing if all is
/// well, or if what the arguments mean is the program's own affair. Those that are files were made
/// absolute.
std::optional<std::size_t> missing_script(const std::vector<std::string>& command) {
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
    return is_script && !is_there ? std::optional(i) : std::nullopt;
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
    problems.push_back({"/trainable/command/" + std::to_string(*script),
                        "there is no file '" + spec.command[*script] + "'"});
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
  const Resources totals = total_resources(spec, detected);
  const ResourcePool pool(totals);
  if (const auto reason = pool.impossible(spec.resources_per_trial)) {
    if (spec.workers) {
      problems.push_back({"/num_workers", *reason + " (" + std::to_string(spec.workers->count) +
                                              " workers): give each less in resources_per_worker, "
                                              "or say in resources what there is"});
    } else {
      problems.push_back(
          {"/resources_per_trial", *reason + name_meant(spec.resources_per_trial, totals)});
    }
  }
  return problems;
}

}  // namespace tune
