// Names of the triggers of a save, to text and back.
#include "tuner/model/checkpoint.h"

#include <utility>

namespace tune {

namespace {
constexpr std::pair<Trigger, std::string_view> trigger_names[] = {
    {Trigger::frequency, "frequency"}, {Trigger::at_end, "at_end"},
    {Trigger::result, "result"},       {Trigger::callback, "callback"},
    {Trigger::scheduler, "scheduler"}, {Trigger::pause, "pause"},
    {Trigger::interrupt, "interrupt"}, {Trigger::user, "user"},
    {Trigger::at_start, "at_start"},   {Trigger::clone, "clone"},
};
constexpr std::string_view after_result = "after_result", before_result = "before_result";
}  // namespace

std::string_view to_string(SavedWhen when) {
  return when == SavedWhen::before_result ? before_result : after_result;
}

std::optional<SavedWhen> parse_saved_when(std::string_view text) {
  if (text == before_result) return SavedWhen::before_result;
  return text == after_result ? std::optional(SavedWhen::after_result) : std::nullopt;
}

std::string iteration_text(const Checkpoint& checkpoint) {
  return iteration_text(checkpoint.iteration, checkpoint.is_guess);
}

std::string iteration_text(std::int64_t iteration, bool is_guess) {
  return std::to_string(iteration) + (is_guess ? " or later" : "");
}

std::string Triggers::to_string() const {
  std::string text;
  for (const auto& [trigger, name] : trigger_names) {
    if (!has(trigger)) continue;
    if (!text.empty()) text += ',';
    text += name;
  }
  return text;
}

Triggers Triggers::parse(std::string_view text) {
  Triggers triggers;
  while (!text.empty()) {
    const auto comma = text.find(',');
    for (const auto& [trigger, name] : trigger_names) {
      if (text.substr(0, comma) == name) triggers.add(trigger);
    }
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return triggers;
}

}  // namespace tune
