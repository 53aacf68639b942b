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
};

/// Of `expression`, from those of its names.
ExpressionForm form_of(const Expression& expression,
                       const std::function<ExpressionForm(const std::string& name)>& form_of_name);

}  // namespace tune
