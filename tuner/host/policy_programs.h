// Where the programs of an experiment's policies run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace tune {

class ProcessGroups;

/// Read when a program starts, since policies are made before all of it is known. Empty or null
/// members are left out.
struct PolicyPrograms {
  /// What the program of a "searcher", "scheduler" or "stopper" prints goes to this file.
  std::function<std::filesystem::path(const std::string& kind)> log;
  /// The mark by which the next driver finds processes that it left running
  /// (tuner/process/orphans.h).
  std::function<std::string()> session_mark;
  ProcessGroups* groups = nullptr;  ///< see SideProgram
};

}  // namespace tune
