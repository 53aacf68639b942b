// Starts the agents of all nodes of a Slurm job by one step of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tuner/cluster/agent_launcher.h"
#include "tuner/cluster/slurm.h"
#include "tuner/process/helper_process.h"

namespace tune {

class SlurmLauncher final : public AgentLauncher {
 public:
  struct Options {
    std::filesystem::path directory;  ///< of the experiment, absolute
    SlurmJob job;
    std::vector<std::string> agent;   ///< the command that starts one, which takes its node's name
                                      ///< from Slurm
    ProcessGroups* groups = nullptr;  ///< see SideProgram
  };

  explicit SlurmLauncher(Options options);

  void start(const std::vector<std::string>& nodes) override;
  /// Once for each node.
  bool can_start_again(const std::string& node) const override;
  /// By a step of its own.
  void start_again(const std::string& node) override;
  void look() override;
  std::optional<std::string> ending(const std::string& node) const override;
  /// Its node has reported the end of its task. That srun has ended says nothing: it does so, and
  /// well, also when a node is lost.
  bool has_ended_there(const std::string& node) const override;
  std::string last_words(const std::string& node) const override;
  bool is_running() const override;

 private:
  /// One step, and what its srun has said by now.
  struct Step {
    Step(SideProgram::Options options);
    void look();

    std::filesystem::path log;
    std::uintmax_t read = 0;                   ///< bytes of `log`
    std::string line;                          ///< that has not ended
    std::map<std::string, std::string> ended;  ///< how, by node
    SideProgram program;
  };

  SideProgram::Options side(std::vector<std::string> options, const std::string& log) const;
  /// The last one that was to start its agent; null: none.
  const Step* step_of(const std::string& node) const;

  const Options options_;
  std::optional<Step> all_;            ///< none: all agents have come back
  std::map<std::string, Step> again_;  ///< by node
};

}  // namespace tune
