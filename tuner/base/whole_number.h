// Integers out of JSON, where people also write 1e3.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trainable/values.h"

namespace tune {

/// The integer in `value` if there is one and Int can hold it: a JSON integer, or a float without a
/// fraction up to 2^53.
template <class Int>
std::optional<Int> whole_number(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (std::in_range<Int>(number)) return static_cast<Int>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (std::in_range<Int>(number)) return static_cast<Int>(number);
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (std::abs(number) <= 0x1p53 && number == std::trunc(number)) {
      return whole_number<Int>(Json(static_cast<std::int64_t>(number)));
    }
  }
  return std::nullopt;
}

/// The same of what a program has written: std::invalid_argument if there is none.
template <class Int>
Int load_whole(const Json& value) {
  const auto number = whole_number<Int>(value);
  if (!number) throw std::invalid_argument("no integer, or too large a one: " + value.dump());
  return *number;
}

}  // namespace tune
