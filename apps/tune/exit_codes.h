// The exit codes of `tune` and what each means: the only place that says it. The help, `tune schema
// exit-codes` and the tests of the docs read it from here.
#pragma once

#include <span>

namespace tune {

enum ExitCode : int {
  exit_ok = 0,
  exit_trials_failed = 1,
  exit_differ = 1,  ///< two checkpoints
  exit_bad_input = 2,
  exit_machine = 3,
  exit_damaged = 3,
  exit_raised = 4,         ///< by a failed trial, since fail_fast is "raise"
  exit_exhausted = 5,      ///< there is nothing to suggest any more
  exit_nothing_now = 6,    ///< nor before a trial has been told
  exit_not_on_remote = 7,  ///< all is well here, and not everything is there
  exit_interrupted = 130,
};

struct ExitCodeText {
  ExitCode code;
  const char* name;     ///< a word for programs
  const char* brief;    ///< for the help
  const char* meaning;  ///< whole sentences, as the docs have them
};

/// Each code once, from the smallest.
std::span<const ExitCodeText> exit_codes();

}  // namespace tune
