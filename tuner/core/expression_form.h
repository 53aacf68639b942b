// What can be said of an expression's value from its form alone.
#pragma once

#include <functional>
#include <string>

namespace tune {

/// Whether the value of `text`, an expression as in expression.h, is a whole number, whatever the
/// values of its names: "floor(x)", "x > 3 ? 10 : 2", "2 * n" if `is_whole` says so of n.
bool is_whole_by_form(const std::string& text,
                      const std::function<bool(const std::string& name)>& is_whole);

}  // namespace tune
