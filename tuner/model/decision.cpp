// Names of the actions, to text and back.
#include "tuner/model/decision.h"

#include <utility>

namespace tune {

namespace {
constexpr std::pair<Action, std::string_view> action_names[] = {
    {Action::proceed, "continue"},
    {Action::pause, "pause"},
    {Action::exploit, "exploit"},
    {Action::stop, "stop"},
};
}  // namespace

const char* to_string(Action action) {
  for (const auto& [value, name] : action_names) {
    if (value == action) return name.data();
  }
  return "?";
}

std::optional<Action> parse_action(std::string_view text) {
  for (const auto& [value, name] : action_names) {
    if (name == text) return value;
  }
  return std::nullopt;
}

}  // namespace tune
