// The forms of other tools, a row each, and the roles of their arguments.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "trainable/values.h"

namespace tune::foreign {

/// What a form draws.
enum class Draws {
  real,          ///< between two bounds
  log,           ///< the same, its logarithm uniform
  exponents,     ///< e to the power of a number between the bounds
  negated,       ///< e to the power of minus a number between the bounds
  whole,         ///< integers, both bounds included
  whole_below,   ///< integers, the upper bound not included
  rounded,       ///< a real number, rounded to a multiple of q
  rounded_log,   ///< the same of a logarithmic one
  rounded_exp,   ///< the same of an exponential one
  spaced,        ///< so many numbers, the same distance apart
  spaced_log,    ///< so many numbers, the same factor apart
  reversed_log,  ///< 1 - x, where x is logarithmic
  normal,
  rounded_normal,
  log_normal,
  rounded_log_normal,
  choice,
  ordered,   ///< a choice whose values have an order
  weighted,  ///< a choice with probabilities
  truth,     ///< true or false
  constant,
  none,
};

struct Row {
  const char* tool;
  const char* name;
  Draws draws;
  const char* arguments;      ///< their roles, in their order
  bool stands_alone = false;  ///< its name alone, as the only key of an object, says what is meant
  const char* why_none = "";
};

/// Nullptr if there is none.
const Row* find_row(std::string_view tool, std::string_view name);
/// Of those that stand alone.
const Row* find_alone(std::string_view name);

/// Arguments by their roles: those of the rows, and "log", "weights".
using Arguments = std::map<std::string, Json>;

/// A text that is a number, as Katib has them, is one.
Json as_number(const Json& json);

/// The role of an argument that is called `name`; empty: it has none.
std::string role_of(const std::string& name);

/// Of an object: those of its members that have a role.
Arguments named(const Json& object);

/// Of a list: in the order of the row, where a list of values may stand as it is.
Arguments positional(const Row& row, const Json& list);

}  // namespace tune::foreign
