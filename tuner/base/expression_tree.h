// Parses the text of an expression into a tree (AST).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tuner/base/exact_number.h"
#include "tuner/base/expression_functions.h"

namespace tune {

struct ExpressionNode {
  enum class Kind {
    number,
    name,
    function,   ///< of all parts
    negation,   ///< of a sign: -x
    inversion,  ///< of a truth: not x
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    less,
    less_equal,
    equal,
    not_equal,
    both,    ///< a and b: a if that is not true, else b
    either,  ///< a or b: a if that is true, else b
    choice,  ///< its parts: condition, what is taken if it is true, and if not
  };
  Kind kind = Kind::number;
  ExactNumber number = 0.0;
  std::size_t name = 0;  ///< position in ExpressionTree::names
  const ExpressionFunction* function = nullptr;
  std::vector<std::size_t> parts;  ///< positions in ExpressionTree::nodes
};

struct ExpressionTree {
  std::vector<ExpressionNode> nodes;  ///< parts before their whole; the last one is all of it
  std::vector<std::string> names;     ///< each once, sorted
};

/// Throws std::invalid_argument: a sentence with the text and the place of the mistake.
ExpressionTree parse_expression(const std::string& text);

}  // namespace tune
