// Words of a launcher, and how a launcher has ended.
#include "tuner/cluster/host_launcher.h"

#include <string.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "tuner/base/quoted.h"
#include "tuner/cluster/cluster_files.h"

namespace tune {

namespace {

bool replace_word(std::string& text, std::string_view word, const std::string& value) {
  bool is_there = false;
  for (auto at = text.find(word); at != text.npos; at = text.find(word, at + value.size())) {
    text.replace(at, word.size(), value);
    is_there = true;
  }
  return is_there;
}

}  // namespace

std::vector<std::string> launcher_command(const std::vector<std::string>& launcher,
                                          const std::string& host,
                                          const std::vector<std::string>& agent) {
  std::string line;
  for (const std::string& word : agent) line += (line.empty() ? "" : " ") + shell_word(word);
  std::vector<std::string> command;
  bool has_agent = false;
  for (std::string word : launcher) {
    replace_word(word, host_word, host);
    has_agent = replace_word(word, agent_word, line) || has_agent;
    command.push_back(std::move(word));
  }
  if (!has_agent) command.insert(command.end(), agent.begin(), agent.end());
  return command;
}

std::string text_of(const std::optional<ExitStatus>& ended) {
  if (!ended) return "";
  if (ended->signal != 0) return "SIG" + std::string(sigabbrev_np(ended->signal));
  return "exit code " + std::to_string(ended->exit_code);
}

void HostLauncher::start(const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) {
    std::vector<std::string> agent = options_.agent;
    agent.insert(agent.end(), {"--node", host});
    launched_.try_emplace(
        host, SideProgram::Options{.argv = launcher_command(options_.launcher, host, agent),
                                   .directory = options_.directory,
                                   .log = agent_log(options_.directory, host),
                                   .groups = options_.groups});
  }
}

std::optional<std::string> HostLauncher::ending(const std::string& node) const {
  const auto launched = launched_.find(node);
  if (launched == launched_.end() || !launched->second.ended()) return std::nullopt;
  return text_of(launched->second.ended()) + launched->second.last_words();
}

bool HostLauncher::has_ended_there(const std::string& node) const {
  constexpr int lost_its_way = 255;
  const auto launched = launched_.find(node);
  if (launched == launched_.end()) return false;
  const auto ended = launched->second.ended();
  return ended && ended->signal == 0 && ended->exit_code != lost_its_way;
}

std::string HostLauncher::last_words(const std::string& node) const {
  const auto launched = launched_.find(node);
  return launched == launched_.end() ? "" : launched->second.last_words();
}

bool HostLauncher::is_running() const {
  return std::any_of(launched_.begin(), launched_.end(),
                     [](const auto& launched) { return !launched.second.ended(); });
}

}  // namespace tune
