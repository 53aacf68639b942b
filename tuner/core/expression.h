// An arithmetic or logical expression over named numbers ("val_accuracy > 0.9 && lr < 0.1"),
// parsed once and evaluated often. Knows neither configs nor trials: names are looked up by
// whoever evaluates.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune {

/// Syntax: that of muparser (+ - * / ^, comparisons, && ||, c ? a : b, sin, exp, ln, log10, sqrt,
/// abs, min, max, sum, avg, rint, sign ..., the constants _pi and _e), and pow(x, y), floor(x),
/// ceil(x), round(x), int(x), !; and what Python has: a // b and a % b, which round down, a ** b,
/// and or not, a if c else b. Names are letters, digits, '_' and '.', and do not begin with a digit
/// or '.'. Truth is 1 and 0. Not for two threads at once.
class Expression {
 public:
  /// Throws std::invalid_argument: a sentence with the text and, where it can be told, the place of
  /// the mistake.
  explicit Expression(const std::string& text);
  Expression(const Expression& other);
  Expression& operator=(const Expression& other);
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;
  ~Expression();

  const std::string& text() const;
  /// The same without words of Python (expression_words.h).
  const std::string& in_signs() const;

  /// The names it uses, each once, sorted.
  const std::vector<std::string>& variables() const;

  using Lookup = std::function<std::optional<double>(const std::string& name)>;
  /// The value; nothing if `lookup` has none for one of the variables. May be NaN or infinite.
  std::optional<double> evaluate(const Lookup& lookup) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

/// The config's value with the dotted name `name` ("model.layers.0"), seen from `json`; null if
/// there is none. A key may itself contain dots.
const Json* find_dotted(const Json& json, const std::string& name);

}  // namespace tune
