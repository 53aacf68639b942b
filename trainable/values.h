// The values that cross between driver and trainable: configs and metrics, as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace tune {

/// A config, metrics, or the saved state of a policy. Objects keep their keys sorted.
using Json = nlohmann::json;
/// Whose objects keep the order of their members: for files of others that are read by people.
using OrderedJson = nlohmann::ordered_json;

/// `value` as a JSON number, or, because JSON has no word for them, as one of the strings "NaN",
/// "Infinity", "-Infinity".
Json encode_number(double value);

/// The number in `value`: a JSON number, a boolean (0 or 1), or one of the three strings of
/// `encode_number`. Nothing for all else.
std::optional<double> decode_number(const Json& value);

/// A copy of `value` in which every non-finite number, at any depth, is written as
/// `encode_number` does, so that `dump()` does not turn it into `null`.
Json encode_numbers(Json value);

}  // namespace tune
