// Requests to a running driver and its answers, as values and as lines on the control socket: one
// line of JSON each (docs/file_formats.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/values.h"
#include "tuner/model/trial.h"

namespace tune {

inline constexpr const char* control_socket_name = "control.sock";  ///< in the experiment directory

struct ControlRequest {
  enum class Kind {
    stop,        ///< end the experiment, or one trial: TERMINATED
    pause,       ///< save everything and leave; or save one trial, which then waits
    unpause,     ///< one that was paused so goes on
    checkpoint,  ///< save at the next result
    set,         ///< change fields of the spec
    add,         ///< a trial with a config that is given
    waits,       ///< changes nothing: what the driver waits for, in all or of one trial
  };
  Kind kind = Kind::stop;
  std::optional<TrialId> trial;  ///< this one only
  /// An object. Of `set`: top-level fields of the spec by name; of `add`: the config.
  Json fields = {};
};

struct ControlAnswer {
  bool accepted = false;
  std::string sentence;                   ///< what will happen, or why the request is refused
  std::vector<TrialId> trials;            ///< the trials concerned; of `waits`: those that hang
  std::vector<std::string> notices = {};  ///< of `waits`: sentences about steps that hang
  std::vector<std::string> said = {};     ///< of `waits`: what the driver has told its user last
  /// Of `waits`: nodes that get no trials since they fail there, each with the last error.
  std::vector<std::string> left_out = {};
};

/// Identifies a request; never used twice in one driver.
enum class ControlId : std::uint64_t {};

/// Without a newline.
std::string format(const ControlRequest& request);
std::string format(const ControlAnswer& answer);

/// Throws std::invalid_argument with a sentence.
ControlRequest parse_control_request(std::string_view line);
ControlAnswer parse_control_answer(std::string_view line);

}  // namespace tune
