// A launcher that starts nothing, and says of agents what it is told to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/error.h"
#include "tuner/cluster/agent_launcher.h"

namespace tune::test {

class FakeLauncher final : public AgentLauncher {
 public:
  void start(const std::vector<std::string>& nodes) override {
    started.insert(started.end(), nodes.begin(), nodes.end());
  }
  bool can_start_again(const std::string&) const override { return true; }
  void start_again(const std::string& node) override {
    if (!refuses_with.empty()) throw user_error(refuses_with);
    started.push_back(node);
  }
  void look() override {}
  std::optional<std::string> ending(const std::string& node) const override {
    const auto found = endings.find(node);
    return found == endings.end() ? std::nullopt : std::optional(found->second);
  }
  bool has_ended_there(const std::string&) const override { return false; }
  std::string last_words(const std::string&) const override { return ""; }
  bool is_running() const override { return false; }

  std::vector<std::string> started;            ///< nodes, in that order
  std::map<std::string, std::string> endings;  ///< by node
  std::string refuses_with;                    ///< to start one again; empty: it does
};

}  // namespace tune::test
