// The functions and constants that an expression may name.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/exact_number.h"

namespace tune {

struct ExpressionFunction {
  /// Whether its value is a whole number: always, or if all its arguments are.
  enum class Form { fraction, whole, as_arguments };

  std::string_view name;
  std::size_t fewest = 1, most = 1;  ///< arguments
  Form form = Form::fraction;
  ExactNumber (*of)(const std::vector<ExactNumber>& arguments) = nullptr;
};

/// Null if there is none of that name.
const ExpressionFunction* find_function(std::string_view name);
/// All names of functions.
std::vector<std::string> function_names();

/// "_pi", "_e".
std::optional<double> find_constant(std::string_view name);

}  // namespace tune
