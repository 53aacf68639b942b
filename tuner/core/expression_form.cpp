#include "tuner/core/expression_form.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <initializer_list>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

#include "tuner/core/whole_number.h"

namespace tune {

namespace {

using Exact = std::optional<std::int64_t>;
using Form = ExpressionForm;

Exact sum_of(Exact a, Exact b) {
  std::int64_t result = 0;
  return a && b && !__builtin_add_overflow(*a, *b, &result) ? Exact(result) : std::nullopt;
}
Exact difference_of(Exact a, Exact b) {
  std::int64_t result = 0;
  return a && b && !__builtin_sub_overflow(*a, *b, &result) ? Exact(result) : std::nullopt;
}
Exact product_of(Exact a, Exact b) {
  std::int64_t result = 0;
  return a && b && !__builtin_mul_overflow(*a, *b, &result) ? Exact(result) : std::nullopt;
}
bool can_divide(Exact a, Exact b) {
  const bool overflows = b == -1 && a == std::numeric_limits<std::int64_t>::min();
  return a && b && *b != 0 && !overflows;
}
Exact quotient_of(Exact a, Exact b) {
  return can_divide(a, b) && *a % *b == 0 ? Exact(*a / *b) : std::nullopt;
}
/// With the divisor's sign, as Python has it.
Exact modulo_of(Exact a, Exact b) {
  if (!can_divide(a, b)) return std::nullopt;
  const std::int64_t rest = *a % *b;
  return rest != 0 && (rest < 0) != (*b < 0) ? rest + *b : rest;
}
Exact floor_quotient_of(Exact a, Exact b) {
  return quotient_of(difference_of(a, modulo_of(a, b)), b);
}
Exact power_of(Exact base, Exact exponent) {
  if (!base || !exponent || *exponent < 0) return std::nullopt;
  if (*base == 0 || *base == 1) return *exponent == 0 ? 1 : *base;
  if (*base == -1) return *exponent % 2 == 0 ? 1 : -1;
  Exact result = 1;
  for (std::int64_t i = 0; i < *exponent && result; ++i) result = product_of(result, base);
  return result;
}

/// Whether it is a whole number that is another one as a double.
bool is_beyond(const Form& form) {
  if (!form.exact) return false;
  const auto as_double = static_cast<double>(*form.exact);
  return as_double >= 0x1p63 || static_cast<std::int64_t>(as_double) != *form.exact;
}

/// `result`, which doubles have calculated from `parts` unless it is exact.
Form made_of(Form result, std::initializer_list<Form> parts, bool has_overflown = false) {
  result.is_rounded = result.is_rounded || has_overflown;
  for (const Form& part : parts) {
    const bool misleads = part.misleads_doubles || is_beyond(part);
    result.misleads_doubles = result.misleads_doubles || misleads;
    result.is_rounded = result.is_rounded || part.is_rounded || (!result.exact && misleads);
  }
  return result;
}

/// Reads a text that muparser has accepted, so no mistakes are looked for.
class FormReader {
 public:
  using FormOfName = std::function<Form(const std::string& name)>;

  FormReader(std::string_view text, const FormOfName& form_of_name)
      : rest_(text), form_of_name_(form_of_name) {}

  Form choice() {
    const Form condition = binary(0);
    if (!take("?")) return condition;
    const Form first = choice();
    take(":");
    const Form second = choice();
    const bool is_whole = first.is_whole && second.is_whole;
    if (!condition.exact) return made_of({is_whole}, {condition, first, second});
    const Form& chosen = *condition.exact != 0 ? first : second;
    Form result = made_of({is_whole, chosen.exact}, {condition, chosen});
    if (chosen.exact) result.is_rounded = chosen.is_rounded;
    return result;
  }

 private:
  /// By levels, of the loosest first; within a level longer signs come before their beginnings.
  static constexpr std::array<std::array<std::string_view, 6>, 5> levels = {
      {{"||"}, {"&&"}, {"<=", ">=", "==", "!=", "<", ">"}, {"+", "-"}, {"*", "//", "/", "%"}}};
  static constexpr std::size_t comparisons = 2;

  Form binary(std::size_t level) {
    if (level == levels.size()) return unary();
    Form left = binary(level + 1);
    for (auto sign = take_one_of(levels[level]); !sign.empty(); sign = take_one_of(levels[level])) {
      left = combined(left, sign, binary(level + 1));
    }
    return left;
  }

  static Form combined(const Form& a, std::string_view sign, const Form& b) {
    const bool are_whole = a.is_whole && b.is_whole;
    if (sign == "/") return made_of({false, quotient_of(a.exact, b.exact)}, {a, b});
    if (sign == "//") {
      const Exact quotient = floor_quotient_of(a.exact, b.exact);
      return made_of({true, quotient}, {a, b}, a.exact && b.exact && *b.exact != 0 && !quotient);
    }
    if (sign == "%") return made_of({are_whole, modulo_of(a.exact, b.exact)}, {a, b});
    if (sign == "+" || sign == "-" || sign == "*") {
      const auto calculate = sign == "+" ? sum_of : sign == "-" ? difference_of : product_of;
      return of_whole_numbers({are_whole, calculate(a.exact, b.exact)}, a, b);
    }
    if (!a.exact || !b.exact) return made_of({true}, {a, b});
    return made_of({true, truth_of(*a.exact, sign, *b.exact) ? 1 : 0}, {a, b});
  }

  /// What can have no exact value only because that is too large.
  static Form of_whole_numbers(const Form& result, const Form& a, const Form& b) {
    return made_of(result, {a, b}, a.exact && b.exact && !result.exact);
  }

  static bool truth_of(std::int64_t a, std::string_view sign, std::int64_t b) {
    if (sign == "||") return a != 0 || b != 0;
    if (sign == "&&") return a != 0 && b != 0;
    if (sign == "<=") return a <= b;
    if (sign == ">=") return a >= b;
    if (sign == "==") return a == b;
    if (sign == "!=") return a != b;
    return sign == "<" ? a < b : a > b;
  }

  Form unary() {
    if (take("!")) {  // of all up to the next && or ||
      const Form form = binary(comparisons);
      return made_of({true, form.exact ? Exact(*form.exact == 0 ? 1 : 0) : std::nullopt}, {form});
    }
    if (take("-")) return combined({true, 0}, "-", unary());
    if (take("+")) return unary();
    return power();
  }

  Form power() {
    const Form base = primary();
    if (!take("^")) return base;
    const Form exponent = unary();
    if (!exponent.exact || *exponent.exact < 0) return made_of({}, {base, exponent});
    const bool is_whole = base.is_whole && exponent.is_whole;
    return of_whole_numbers({is_whole, power_of(base.exact, exponent.exact)}, base, exponent);
  }

  Form primary() {
    if (take("(")) {
      const Form form = choice();
      take(")");
      return form;
    }
    const std::string word = take_word();
    if (take("(")) return call(word);
    if (word.empty() || word.front() == '_') return {};
    if (!is_digit(word.front()) && word.front() != '.') return form_of_name_(word);
    if (word.find_first_not_of("0123456789") != word.npos) return {};
    std::int64_t number = 0;
    const auto read = std::from_chars(word.data(), word.data() + word.size(), number);
    const bool fits = read.ec == std::errc();
    return {true, fits ? Exact(number) : std::nullopt, !fits};
  }

  Form call(const std::string& function) {
    std::vector<Form> arguments = {choice()};
    while (take(",")) arguments.push_back(choice());
    take(")");
    Form result = arguments[0];
    static const std::set<std::string> rounds = {"floor", "ceil", "round", "rint", "int"};
    if (rounds.contains(function)) return made_of({true, result.exact}, {result});
    if (function == "abs") {
      return result.exact && *result.exact < 0 ? combined({true, 0}, "-", result) : result;
    }
    const bool is_extreme = function == "min" || function == "max";
    if (!is_extreme && function != "sum") {
      result = {function == "sign"};
      for (const Form& each : arguments) result = made_of(result, {each});
      return result;
    }
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      const Form& next = arguments[i];
      result = is_extreme ? extreme_of(function, result, next) : combined(result, "+", next);
    }
    return result;
  }

  static Form extreme_of(const std::string& function, const Form& a, const Form& b) {
    const bool are_whole = a.is_whole && b.is_whole;
    if (!a.exact || !b.exact) return made_of({are_whole}, {a, b});
    const Exact extreme =
        function == "min" ? std::min(a.exact, b.exact) : std::max(a.exact, b.exact);
    return made_of({are_whole, extreme}, {a, b});
  }

  void skip_blanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_.front()))) {
      rest_.remove_prefix(1);
    }
  }

  bool take(std::string_view sign) {
    skip_blanks();
    if (!rest_.starts_with(sign)) return false;
    rest_.remove_prefix(sign.size());
    return true;
  }

  std::string_view take_one_of(const std::array<std::string_view, 6>& level) {
    for (const std::string_view sign : level) {
      if (!sign.empty() && take(sign)) return sign;
    }
    return {};
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  /// A name, or a number with its exponent.
  std::string take_word() {
    skip_blanks();
    std::size_t end = 0;
    while (end < rest_.size()) {
      const char c = rest_[end];
      const bool is_sign_of_exponent = (c == '-' || c == '+') && end > 0 &&
                                       is_digit(rest_.front()) &&
                                       (rest_[end - 1] == 'e' || rest_[end - 1] == 'E');
      const bool is_word = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
      if (!is_word && !is_sign_of_exponent) break;
      ++end;
    }
    const std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return word;
  }

  std::string_view rest_;
  const FormOfName& form_of_name_;
};

}  // namespace

ExpressionForm form_of_value(const Json* value) {
  if (value == nullptr || value->is_number_float()) return {};
  if (value->is_boolean()) return {true, value->get<bool>() ? 1 : 0};
  const auto number = whole_number<std::int64_t>(*value);
  return {true, number, !number};
}

ExpressionForm form_of(const Expression& expression, const FormReader::FormOfName& form_of_name) {
  return FormReader(expression.in_signs(), form_of_name).choice();
}

}  // namespace tune
