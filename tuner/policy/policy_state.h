// What policies share when they load their state.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/error.h"
#include "tuner/base/whole_number.h"

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

/// Several of them, and back.
inline Json save_numbers(const std::vector<double>& numbers) {
  Json json = Json::array();
  for (const double number : numbers) json.push_back(encode_number(number));
  return json;
}
inline std::vector<double> load_numbers(const Json& json) {
  std::vector<double> numbers;
  for (const Json& number : json) numbers.push_back(load_number(number));
  return numbers;
}

}  // namespace tune
