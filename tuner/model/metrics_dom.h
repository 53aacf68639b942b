// The part of metrics.cpp that event.cpp shares: numbers out of a parsed object. Private to the
// model: it exposes simdjson.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string_view>

#include "tuner/model/metrics.h"

namespace tune {

/// Adds the numbers in `object`, flattened, to `metrics`; `object` was accepted before.
void flatten(simdjson::dom::object object, Metrics& metrics);

/// The number that `element` stands for: booleans are 0 and 1, "NaN" and the infinities are
/// strings. Nothing for all else.
std::optional<double> number_in(simdjson::dom::element element);

/// The object in `text`, which we wrote; valid until this thread parses the next one. It may have
/// more levels than any writer makes, and whole numbers of any length, as old snapshots have: what
/// was once accepted can be read back.
simdjson::simdjson_result<simdjson::dom::object> parse_record(std::string_view text);

}  // namespace tune
