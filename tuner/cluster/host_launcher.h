// Starts an agent on each host, by a command of the user's such as ssh.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/process/helper_process.h"

namespace tune {

/// Words of a launcher: the host's name, and the command that starts the agent, as one argument for
/// a shell. Without the second that command's words are added behind.
inline constexpr const char* host_word = "${host}";
inline constexpr const char* agent_word = "${agent}";

/// `launcher` with its words replaced, for `agent` on `host`.
std::vector<std::string> launcher_command(const std::vector<std::string>& launcher,
                                          const std::string& host,
                                          const std::vector<std::string>& agent);

/// One of them, which has been started.
class LaunchedAgent {
 public:
  /// What it prints goes to `log`; `groups`: see SideProgram. Error (user) if the command cannot be
  /// started.
  LaunchedAgent(std::vector<std::string> command, const std::filesystem::path& experiment,
                const std::filesystem::path& log, ProcessGroups* groups);

  bool has_ended() const { return program_.ended().has_value(); }
  /// It has ended by itself, and not as ssh does that has lost its way to the host (exit code 255):
  /// so the agent has, too.
  bool has_ended_there() const;
  /// How, as a phrase with what it has printed last.
  std::string ending() const;

 private:
  SideProgram program_;
};

}  // namespace tune
