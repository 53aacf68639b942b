// A node's agent: joins the driver of an experiment, and does for it on this machine what a
// ProcessExecutor does.
#pragma once

#include <filesystem>
#include <string>

#include "tuner/execution/reactor/asio_reactor.h"

namespace tune {

struct AgentOptions {
  std::filesystem::path directory;  ///< of the experiment; absolute
  std::string node;                 ///< its name
  std::string version;              ///< of tune
  /// Slurm has started it, which sends SIGTERM to all of a job some time before its end: the driver
  /// is told, and saves. Else a signal is somebody's wish that this agent leaves.
  bool is_warned_by_signal = false;
};

struct AgentEnd {
  enum class Kind {
    released,  ///< the run is over
    left,      ///< it was told to leave by a signal
    lost,      ///< nothing is heard of the driver any more
    refused,   ///< it could not join
  };
  Kind kind = Kind::released;
  std::string reason;  ///< a sentence
};

/// Joins, serves until there is nothing to serve any more, and ends what still runs. Error (user)
/// if there is no driver to join; Error (machine) if this machine can run nothing.
AgentEnd run_agent(AsioReactor& reactor, const AgentOptions& options);

}  // namespace tune
