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
  bool by_rule = false;     ///< a stop rule ends the trial, whatever the scheduler says
  bool at_max = false;      ///< of a stop: it reached the limit for all trials, it was not pruned
  std::optional<Exploit> exploit;  ///< set if and only if `action` says so
  /// The trial takes these from its next attempt on. Only with a pause: resources change at a
  /// launch.
  std::optional<Resources> resources;
  /// Why the policy decided so, also if the trial goes on; empty if the policy did not judge.
  Rationale why;
  /// Without `why`: the reason is for people, and does not make another answer of it.
  bool operator==(const Decision& other) const {
    return action == other.action && checkpoint == other.checkpoint && by_rule == other.by_rule &&
           at_max == other.at_max && exploit == other.exploit && resources == other.resources;
  }
};

}  // namespace tune
