// What people write behind an option, as JSON or in pieces.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainable/values.h"

namespace tune {

/// What is no JSON, or nested too deep, is a text; but ".5" and "5." are numbers.
Json json_or_text(const std::string& text);

/// `text` if it must be JSON, because it begins like an object or a list. Error (user) if it is
/// none then; `name` is the option.
std::optional<Json> structured(const std::string& name, const std::string& text);

/// Error (user) if there is no '=', or nothing before it: `name` must be `expected`.
std::pair<std::string, std::string> split_at_equals(const std::string& name,
                                                    const std::string& text,
                                                    const std::string& expected);

std::vector<std::string> split_at_commas(const std::string& text);

}  // namespace tune
