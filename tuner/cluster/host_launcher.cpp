// Words of a launcher, and how a launcher has ended.
#include "tuner/cluster/host_launcher.h"

#include <string.h>

#include <string_view>
#include <utility>

#include "tuner/base/quoted.h"

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

LaunchedAgent::LaunchedAgent(std::vector<std::string> command,
                             const std::filesystem::path& experiment,
                             const std::filesystem::path& log, ProcessGroups* groups)
    : program_(
          {.argv = std::move(command), .directory = experiment, .log = log, .groups = groups}) {}

bool LaunchedAgent::has_ended_there() const {
  constexpr int lost_its_way = 255;
  const auto ended = program_.ended();
  return ended && ended->signal == 0 && ended->exit_code != lost_its_way;
}

std::string LaunchedAgent::ending() const {
  const auto ended = program_.ended();
  std::string text;
  if (ended && ended->signal != 0) {
    text = "SIG" + std::string(sigabbrev_np(ended->signal));
  } else if (ended) {
    text = "exit code " + std::to_string(ended->exit_code);
  }
  return text + program_.last_words();
}

}  // namespace tune
