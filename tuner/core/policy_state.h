// What policies share when they load their state. Knows no policy.
#pragma once

#include <stdexcept>
#include <string>

#include "trainable/values.h"
#include "tuner/core/error.h"
#include "tuner/core/whole_number.h"

namespace tune {

/// Runs `read` on a saved state. What does not fit, as the json library or a std::invalid_argument
/// says, becomes an Error: "the saved state of OWNER is not its own".
template <class Read>
void load_state(const std::string& owner, Read read) {
  const auto refuse = [&] { throw user_error("the saved state of " + owner + " is not its own"); };
  try {
    read();
  } catch (const Json::exception&) {
    refuse();
  } catch (const std::invalid_argument&) {
    refuse();
  }
}

/// A number that `encode_number` has written.
inline double load_number(const Json& json) {
  const auto number = decode_number(json);
  return number ? *number : json.get<double>();
}

}  // namespace tune
