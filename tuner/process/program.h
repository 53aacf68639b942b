// What execve is given: the program's file, its arguments, its environment.
#pragma once

#include <string>
#include <vector>

#include "tuner/process/process_spec.h"

namespace tune {

struct Program {
  std::string path;  ///< absolute
  std::vector<std::string> argv;
  std::vector<std::string> environment;  ///< "NAME=value"
};

/// This process's environment without the variables that a driver gives to its trials (TUNE_...):
/// a driver may itself run as a trial, and must not pass on the outer driver's. Nor has it what
/// Slurm says of a job's request and of its tasks (SLURM_..., SRUN_...): srun takes them for
/// options, which win over those it is given, and libraries take a trial for a task of theirs. What
/// only says where somebody is stays.
std::vector<std::string> inherited_environment();

/// A name without a slash is looked up in the PATH of the process to be; a relative path is taken
/// from the driver's working directory, since that is where the user wrote it. Throws Error
/// "cannot run 'x': ..." if there is no such program in PATH.
Program resolve_program(const ProcessSpec& spec, const std::vector<std::string>& inherited);

}  // namespace tune
