// Provenance: records with each session which program and which commit a driver runs, so that each
// result can be traced to its program.
#pragma once

#include <string>
#include <vector>

#include "tuner/spec/spec.h"

namespace tune {

/// One JSON object in one line: `command_line`; `directory`, the working one; `git`, if that is in
/// a repository: `commit` and whether it is `dirty`; `files`: by the path of the trainable's
/// program and of the script it is given their checksums, empty of a script in PATH that is given
/// another one. What cannot be found out within a moment
/// is left out.
std::string what_runs(const ExperimentSpec& spec, const std::vector<std::string>& command_line);

/// A sentence if `now` is another program than `before`; empty if it is not, or if one of them is
/// not known.
std::string another_program(const std::string& before, const std::string& now);

/// "train.py 0f9d1956, commit 4e5f6a7b with changes"; empty if nothing is known.
std::string program_text(const std::string& ran);

}  // namespace tune
