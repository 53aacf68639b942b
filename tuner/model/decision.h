// What is decided when a trial has reported a result: the answer of a scheduler, as an event has
// it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tuner/model/rationale.h"
#include "tuner/model/resources.h"
#include "tuner/model/trial.h"

namespace tune {

/// What follows from a result. Stop beats exploit beats pause beats continue.
enum class Action { proceed, pause, exploit, stop };
const char* to_string(Action action);  ///< "continue", "pause", ...
std::optional<Action> parse_action(std::string_view text);

/// A trial goes on as a copy of another one: from its newest checkpoint, with a config of its own.
/// In an order it may also be its own donor: it goes on where it would have, with another config.
struct Exploit {
  TrialId donor{};
  std::string config;  ///< JSON text
  std::string tag;     ///< the values in it, short, for tables; empty: as it was
  bool operator==(const Exploit&) const = default;
};

struct Decision {
  Action action = Action::proceed;
  bool checkpoint = false;  ///< save at this iteration, whatever else is due
  bool by_rule = false;     ///< it is a stop rule that ends the trial; not the scheduler's to say
  bool at_max = false;      ///< of a stop: no trial trains longer, so that this one has not lost
  std::optional<Exploit> exploit;  ///< set if and only if `action` says so
  /// From its next attempt on the trial takes these. Only with a pause, which it needs for that.
  std::optional<Resources> resources;
  /// What the policy went by, also if the trial goes on: empty if it did not judge.
  Rationale why;
  /// Without `why`: who gives the same answer for another reason gives the same answer.
  bool operator==(const Decision& other) const {
    return action == other.action && checkpoint == other.checkpoint && by_rule == other.by_rule &&
           at_max == other.at_max && exploit == other.exploit && resources == other.resources;
  }
};

}  // namespace tune
