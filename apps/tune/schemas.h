// The JSON schemas that `tune schema` prints, which are part of the program: of a spec, and of what
// each command prints with --json (docs/schemas). Beside them the text for coding agents.
#pragma once

#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune {

/// "spec", "exit-codes", and each command that has one: "status", "remote-verify".
std::vector<std::string> schema_names();

/// Complete: it refers to no other file. Error (user) for a name that is not there.
Json schema_of(const std::string& name);

/// The skill: what a coding agent should know to use tune.
std::string skill_text();

}  // namespace tune
