// Starts an agent on each host, by a command of the user's such as ssh.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cluster/agent_launcher.h"
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

/// "SIGKILL" or "exit code 1"; empty: it runs.
std::string text_of(const std::optional<ExitStatus>& ended);

class HostLauncher final : public AgentLauncher {
 public:
  struct Options {
    std::filesystem::path directory;    ///< of the experiment
    std::vector<std::string> launcher;  ///< the command, with words to be replaced
    std::vector<std::string> agent;     ///< the command that starts an agent, without its node
    ProcessGroups* groups = nullptr;    ///< see SideProgram
  };

  explicit HostLauncher(Options options) : options_(std::move(options)) {}

  void start(const std::vector<std::string>& hosts) override;
  /// Who lost the way to a host may find it again, but that is the user's to say.
  bool can_start_again(const std::string&) const override { return false; }
  void start_again(const std::string&) override {}
  void look() override {}
  std::optional<std::string> ending(const std::string& node) const override;
  /// It has ended by itself, and not as ssh does that has lost its way to the host (exit code 255):
  /// so the agent has, too.
  bool has_ended_there(const std::string& node) const override;
  std::string last_words(const std::string& node) const override;
  bool is_running() const override;

 private:
  const Options options_;
  std::map<std::string, SideProgram> launched_;  ///< by host
};

}  // namespace tune
