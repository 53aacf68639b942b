// What can be said of an expression's value without calculating with doubles.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tuner/core/expression.h"

namespace tune {

struct ExpressionForm {
  /// Whether the value is a whole number, whatever the values of its names: "floor(x)",
  /// "x > 3 ? 10 : 2", "2 * n" if n is one.
  bool is_whole = false;
  /// The value, if it comes of whole numbers by steps that keep them exact: beyond 2^53, where a
  /// double rounds, too.
  std::optional<std::int64_t> exact = {};
  /// Whether such a number was lost on the way: it left the 64 bits, or was beyond 2^53 where the
  /// next step is one of doubles.
  bool is_rounded = false;
  /// Whether doubles, which calculate all that is not exact from the beginning, would meet such a
  /// number on the way: then `exact` is right and what they make of it is not.
  bool misleads_doubles = false;
};

/// Of a number or truth in a config; of anything else, and of null, nothing is known.
ExpressionForm form_of_value(const Json* value);

/// Of `expression`, from those of its names.
ExpressionForm form_of(const Expression& expression,
                       const std::function<ExpressionForm(const std::string& name)>& form_of_name);

}  // namespace tune
