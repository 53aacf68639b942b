// Limits for JSON that policies, callbacks and plugins make, so that the driver and trainables can
// always read it again.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "trainable/json_levels.h"
#include "trainable/values.h"

namespace tune {

/// The deepest nesting of a config: one less than that of the message that carries it to
/// trainables.
constexpr std::size_t most_config_levels = 63;
/// The most bytes of a config: half of a message's.
constexpr std::size_t most_config_bytes = 8 << 20;
/// So many levels the saved state of a callback may have. Readers of records take twice as many.
constexpr std::size_t most_state_levels = 512;
/// And so many any file of an experiment, which holds such states some levels down.
constexpr std::size_t most_file_levels = 2 * most_state_levels;

/// `text`, which anybody may have written, as JSON; discarded (Json::is_discarded) if it is none,
/// or nested deeper than that. Any depth can be parsed, and what copies, compares or writes it
/// takes as much stack as it is deep.
Json parse_shallow(std::string_view text, std::size_t most_levels = most_file_levels);

/// `text`, which somebody else wrote, as JSON. Throws std::invalid_argument if it is none, or if a
/// key stands twice in an object: readers differ in which of the two they take.
Json parse_unambiguous(std::string_view text);

/// The config in one line, non-finite numbers as strings. Throws std::invalid_argument, saying what
/// is wrong, if it is no object, nested too deeply, too long, or holds text that is not UTF-8.
std::string config_text(Json config);
/// The same for the state of a callback.
std::string state_text(Json state);

}  // namespace tune
