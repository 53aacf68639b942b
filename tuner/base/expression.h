// An arithmetic or logical expression over named numbers ("val_accuracy > 0.9 && lr < 0.1"),
// parsed once and evaluated often. Whoever evaluates it looks the names up.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"
#include "tuner/base/exact_number.h"
#include "tuner/base/expression_tree.h"

namespace tune {

/// Syntax: as Python has it: + - * / // % **, comparisons, and or not, a if c else b; and as C:
/// && || !, c ? a : b. `^` is a power, too. Functions are those of expression_functions.h;
/// round(2.5) is 3. Constants are _pi and _e. Names are letters, digits, '_' and '.', and do not
/// begin with a digit or '.'. Truth is 1 and 0.
///
/// Whole numbers are exact as in Python: under + - * // % **, comparisons and what rounds, up to
/// 127 bits, and a quotient of two is the nearest double, if it is not whole.
class Expression {
 public:
  /// Throws std::invalid_argument: a sentence with the text and, where it can be told, the place of
  /// the mistake.
  explicit Expression(const std::string& text);

  const std::string& text() const { return text_; }

  /// The names it uses, each once, sorted.
  const std::vector<std::string>& variables() const { return tree_.names; }

  using Lookup = std::function<std::optional<ExactNumber>(const std::string& name)>;
  /// The value; nothing if `lookup` has none for one of the variables. May be NaN or infinite.
  std::optional<ExactNumber> evaluate(const Lookup& lookup) const;

  /// Whether its form makes the value a whole number, whatever the values of its names: "floor(x)",
  /// "x > 3 ? 10 : 2", "2 * n" if n is one. `name_is`: whether a name is.
  bool is_whole(const std::function<bool(const std::string& name)>& name_is) const;

 private:
  std::string text_;
  ExpressionTree tree_;
};

/// The config's value with the dotted name `name` ("model.layers.0"), seen from `json`; null if
/// there is none. A key may itself contain dots.
const Json* find_dotted(const Json& json, const std::string& name);

}  // namespace tune
