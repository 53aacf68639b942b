// The part of metrics.cpp that event.cpp shares: numbers out of a parsed object. Not for others:
// it lets simdjson through.
#pragma once

#include <simdjson.h>

#include <optional>
#include <vector>

#include "tuner/core/metrics.h"

namespace tune {

/// Appends the numbers in `object`, flattened, to `numbers`.
void flatten(simdjson::dom::object object, std::vector<Metric>& numbers);

/// The number that `element` stands for: booleans are 0 and 1, "NaN" and the infinities are
/// strings. Nothing for all else.
std::optional<double> number_in(simdjson::dom::element element);

/// This thread's parser: its buffers are worth keeping between lines.
simdjson::dom::parser& json_parser();

}  // namespace tune
