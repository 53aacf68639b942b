// The file of a recorded schedule, one JSON list a line.
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "tuner/base/json_limits.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

bool read_policy_file(const std::filesystem::path& base, const std::string& place, Json& scheduler,
                      std::vector<Problem>& problems) {
  if (!scheduler.is_object()) return true;
  const auto inner = scheduler.find("base_scheduler");
  if (inner != scheduler.end()) {
    return read_policy_file(base, place + "/base_scheduler", *inner, problems);
  }
  const std::string pointer = place + "/policy_file";
  const auto given = scheduler.find("policy_file");
  if (given == scheduler.end()) return true;
  if (!given->is_string()) {
    problems.push_back(
        {pointer, "policy_file must be the name of a file, got " + describe(*given)});
    return false;
  }
  const auto file = resolve(base, given->get<std::string>());
  errno = 0;
  std::ifstream in(file);
  Json rows = Json::array();
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Json row = parse_shallow(line);
    if (!row.is_array()) {
      problems.push_back({pointer, "line " + std::to_string(number) + " of " + file.string() +
                                       " is no JSON list, as a policy file has"});
      return false;
    }
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    const std::string reason =
        in.is_open() ? "there is nothing in it" : std::string(std::strerror(errno));
    problems.push_back({pointer, "cannot read a policy from " + file.string() + ": " + reason});
    return false;
  }
  scheduler.erase("policy_file");
  scheduler["policy"] = std::move(rows);
  return true;
}

void resolve_program_policy(const std::filesystem::path& base, Json& policy) {
  if (policy.is_array()) {
    for (Json& each : policy) resolve_program_policy(base, each);
    return;
  }
  if (!policy.is_object() || policy.value("type", Json()) != "program") return;
  const auto command = policy.find("command");
  if (command == policy.end() || !command->is_array()) return;
  for (std::size_t i = 0; i < command->size(); ++i) {
    Json& word = (*command)[i];
    if (!word.is_string()) continue;
    const std::string text = word.get<std::string>();
    const auto colon = text.rfind(':');
    const auto is_file = [&](const std::string& name) {
      std::error_code ignored;
      return std::filesystem::is_regular_file(resolve(base, at_home(name)), ignored);
    };
    // A bare name in front is looked up in PATH.
    if (i == 0 && text.find('/') == std::string::npos) continue;
    if (is_file(text)) {
      word = resolve(base, at_home(text)).string();
    } else if (colon != std::string::npos && is_file(text.substr(0, colon))) {
      word = resolve(base, at_home(text.substr(0, colon))).string() + text.substr(colon);
    }
  }
}

}  // namespace tune
