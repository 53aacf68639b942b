// Where the programs of an experiment's policies run.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace tune {

class ProcessGroups;

/// Looked at when a program starts: policies are made before all of it is known. What is empty or
/// null is left out.
struct PolicyPrograms {
  /// What the program of a "searcher", "scheduler" or "stopper" prints goes to this file.
  std::function<std::filesystem::path(const std::string& kind)> log;
  /// By which what it leaves running is known to the next driver (exec/orphans.h).
  std::function<std::string()> session_mark;
  ProcessGroups* groups = nullptr;  ///< see SideProgram
};

}  // namespace tune
