#include "tuner/core/expression_form.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <limits>
#include <set>
#include <string_view>
#include <vector>

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
Exact quotient_of(Exact a, Exact b) {
  const bool overflows = b == -1 && a == std::numeric_limits<std::int64_t>::min();
  if (!a || !b || *b == 0 || overflows || *a % *b != 0) return std::nullopt;
  return *a / *b;
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
    if (!condition.exact) return {is_whole};
    return {is_whole, *condition.exact != 0 ? first.exact : second.exact};
  }

 private:
  /// By levels, of the loosest first; within a level longer signs come before their beginnings.
  static constexpr std::array<std::array<std::string_view, 6>, 6> levels = {
      {{"||"}, {"&&"}, {"<=", ">=", "==", "!=", "<", ">"}, {"+", "-"}, {"*", "/"}, {"^"}}};

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
    if (sign == "+") return {are_whole, sum_of(a.exact, b.exact)};
    if (sign == "-") return {are_whole, difference_of(a.exact, b.exact)};
    if (sign == "*") return {are_whole, product_of(a.exact, b.exact)};
    if (sign == "/") return {false, quotient_of(a.exact, b.exact)};
    if (sign == "^") return {};
    if (!a.exact || !b.exact) return {true};
    return {true, truth_of(*a.exact, sign, *b.exact) ? 1 : 0};
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
    if (take("!")) {
      const Form form = unary();
      return {true, form.exact ? Exact(*form.exact == 0 ? 1 : 0) : std::nullopt};
    }
    if (take("-")) {
      const Form form = unary();
      return {form.is_whole, difference_of(0, form.exact)};
    }
    if (take("+")) return unary();
    return primary();
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
    return {true, read.ec == std::errc() ? Exact(number) : std::nullopt};
  }

  Form call(const std::string& function) {
    std::vector<Form> arguments = {choice()};
    while (take(",")) arguments.push_back(choice());
    take(")");
    static const std::set<std::string> rounds = {"floor", "ceil", "round", "rint"};
    if (rounds.contains(function)) return {true, arguments[0].exact};
    if (function == "sign") return {true};
    static const std::set<std::string> keeps = {"abs", "min", "max", "sum"};
    if (!keeps.contains(function)) return {};
    Form result = arguments[0];
    if (function == "abs" && result.exact && *result.exact < 0) {
      result.exact = difference_of(0, result.exact);
    }
    for (std::size_t i = 1; i < arguments.size(); ++i) {
      const Form& next = arguments[i];
      result.is_whole = result.is_whole && next.is_whole;
      result.exact = function == "sum"              ? sum_of(result.exact, next.exact)
                     : !result.exact || !next.exact ? std::nullopt
                     : function == "min"            ? std::min(result.exact, next.exact)
                                                    : std::max(result.exact, next.exact);
    }
    return result;
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

ExpressionForm form_of(const std::string& text, const FormReader::FormOfName& form_of_name) {
  return FormReader(text, form_of_name).choice();
}

}  // namespace tune
