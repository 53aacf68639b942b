#include "tuner/core/expression.h"

#include <muParser.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>
#include <stdexcept>

#include "tuner/core/expression_words.h"

namespace tune {

namespace {

constexpr const char* name_characters =
    "0123456789_.abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

double power(double base, double exponent) { return std::pow(base, exponent); }
double floor_of(double x) { return std::floor(x); }
double ceil_of(double x) { return std::ceil(x); }
double round_of(double x) { return std::round(x); }
double int_of(double x) { return std::trunc(x); }
double not_of(double x) { return x == 0 ? 1 : 0; }

/// As Python has it: of the divisor's sign.
double modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}
/// By what is left over, since a / b may be rounded up to the next whole number.
double floor_quotient(double a, double b) { return std::round((a - modulo(a, b)) / b); }

/// Which nobody comes near, and whose brackets can be read by recursion.
constexpr std::size_t longest_text = 4096;

std::invalid_argument syntax_error(const std::string& text, const std::string& reason,
                                   int position) {
  std::string sentence = "'" + text + "' is not an expression: " + reason;
  if (position >= 0) {
    const auto end = static_cast<int>(text.size());
    sentence += " at character " + std::to_string(std::min(position, end) + 1);
  }
  return std::invalid_argument(sentence);
}

/// muparser's "=" assigns to a variable; nobody who writes a filter or a formula wants that.
void refuse_assignment(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    if (i + 1 < text.size() && text[i + 1] == '=') {
      ++i;
    } else if (i == 0 || std::string("<>!").find(text[i - 1]) == std::string::npos) {
      throw syntax_error(text, "'=' assigns, write '==' to compare", static_cast<int>(i));
    }
  }
}

/// muparser's message without its own mention of the place, which counts from 0.
std::string reason_of(const mu::ParserError& error) {
  static const std::regex place(" (found )?at (expression )?position \\$?[0-9]+");
  static const std::regex full_stop("\\.$");
  std::string reason = std::regex_replace(error.GetMsg(), place, "");
  reason = std::regex_replace(reason, full_stop, "");
  if (!reason.empty()) reason[0] = static_cast<char>(std::tolower(reason[0]));
  return reason;
}

}  // namespace

struct Expression::Parsed {
  std::string text;
  std::string in_signs;
  std::vector<std::string> names;
  std::vector<double> values;  ///< what the parser's variables point at
  mu::Parser parser;
};

Expression::Expression(const std::string& text) : parsed_(std::make_unique<Parsed>()) {
  if (text.size() > longest_text) {
    throw std::invalid_argument("an expression is longer than " + std::to_string(longest_text) +
                                " characters: '" + text.substr(0, 20) + "...'");
  }
  refuse_assignment(text);
  Parsed& parsed = *parsed_;
  parsed.text = text;
  try {
    parsed.in_signs = tune::in_signs(text);
  } catch (const std::invalid_argument& error) {
    throw syntax_error(text, error.what(), -1);
  }
  try {
    parsed.parser.DefineNameChars(name_characters);
    parsed.parser.DefineFun("pow", power);
    parsed.parser.DefineFun("floor", floor_of);
    parsed.parser.DefineFun("ceil", ceil_of);
    parsed.parser.DefineFun("round", round_of);
    parsed.parser.DefineFun("int", int_of);
    parsed.parser.DefineOprt("//", floor_quotient, mu::prMUL_DIV, mu::oaLEFT, true);
    parsed.parser.DefineOprt("%", modulo, mu::prMUL_DIV, mu::oaLEFT, true);
    parsed.parser.DefineInfixOprt("!", not_of, mu::prLOGIC);  // weaker than a comparison
    parsed.parser.SetExpr(parsed.in_signs);
    for (const auto& [name, unused] : parsed.parser.GetUsedVar()) parsed.names.push_back(name);
    parsed.values.resize(parsed.names.size());
    for (std::size_t i = 0; i < parsed.names.size(); ++i) {
      parsed.parser.DefineVar(parsed.names[i], &parsed.values[i]);
    }
    parsed.parser.Eval();
  } catch (const mu::ParserError& error) {
    const bool is_at_its_place = parsed.in_signs.size() == text.size();
    throw syntax_error(text, reason_of(error), is_at_its_place ? error.GetPos() : -1);
  }
  if (parsed.parser.GetNumResults() != 1) throw syntax_error(text, "it has several values", -1);
}

Expression::Expression(const Expression& other) : Expression(other.text()) {}
Expression& Expression::operator=(const Expression& other) { return *this = Expression(other); }
Expression::Expression(Expression&&) noexcept = default;
Expression& Expression::operator=(Expression&&) noexcept = default;
Expression::~Expression() = default;

const std::string& Expression::text() const { return parsed_->text; }
const std::string& Expression::in_signs() const { return parsed_->in_signs; }
const std::vector<std::string>& Expression::variables() const { return parsed_->names; }

std::optional<double> Expression::evaluate(const Lookup& lookup) const {
  for (std::size_t i = 0; i < parsed_->names.size(); ++i) {
    const std::optional<double> value = lookup(parsed_->names[i]);
    if (!value) return std::nullopt;
    parsed_->values[i] = *value;
  }
  return parsed_->parser.Eval();
}

namespace {

const Json* find_child(const Json& json, const std::string& key) {
  if (json.is_object()) {
    const auto found = json.find(key);
    return found == json.end() ? nullptr : &*found;
  }
  if (!json.is_array()) return nullptr;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (std::to_string(i) == key) return &json[i];
  }
  return nullptr;
}

}  // namespace

const Json* find_dotted(const Json& json, const std::string& name) {
  if (const Json* found = find_child(json, name)) return found;
  for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const Json* child = find_child(json, name.substr(0, dot));
    const Json* found = child ? find_dotted(*child, name.substr(dot + 1)) : nullptr;
    if (found) return found;
  }
  return nullptr;
}

}  // namespace tune
