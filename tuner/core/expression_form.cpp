#include "tuner/core/expression_form.h"

#include <array>
#include <cctype>
#include <cstddef>
#include <set>
#include <string_view>

namespace tune {

namespace {

/// Reads a text that muparser has accepted, so no mistakes are looked for.
class FormReader {
 public:
  using IsWhole = std::function<bool(const std::string& name)>;

  FormReader(std::string_view text, const IsWhole& is_whole) : rest_(text), is_whole_(is_whole) {}

  bool choice() {
    const bool condition = binary(0);
    if (!take("?")) return condition;
    const bool first = choice();
    take(":");
    const bool second = choice();
    return first && second;
  }

 private:
  enum class Kind { truth, sum, other };
  struct Operator {
    std::string_view sign;
    Kind kind;
  };
  /// Of the loosest first; within a level longer signs come before their beginnings.
  static constexpr std::array<std::array<Operator, 6>, 6> levels = {
      {{{{"||", Kind::truth}}},
       {{{"&&", Kind::truth}}},
       {{{"<=", Kind::truth},
         {">=", Kind::truth},
         {"==", Kind::truth},
         {"!=", Kind::truth},
         {"<", Kind::truth},
         {">", Kind::truth}}},
       {{{"+", Kind::sum}, {"-", Kind::sum}}},
       {{{"*", Kind::sum}, {"/", Kind::other}}},
       {{{"^", Kind::other}}}}};

  bool binary(std::size_t level) {
    if (level == levels.size()) return unary();
    bool whole = binary(level + 1);
    while (const Operator* const found = take_one_of(levels[level])) {
      const bool right = binary(level + 1);
      whole = found->kind == Kind::truth || (found->kind == Kind::sum && whole && right);
    }
    return whole;
  }

  bool unary() {
    if (take("!")) {
      unary();
      return true;
    }
    if (take("-") || take("+")) return unary();
    return primary();
  }

  bool primary() {
    if (take("(")) {
      const bool whole = choice();
      take(")");
      return whole;
    }
    const std::string word = take_word();
    if (take("(")) return call(word);
    const bool is_number = !word.empty() && word.find_first_not_of("0123456789") == word.npos;
    return is_number ||
           (!word.empty() && word.front() != '_' && !is_digit(word.front()) && is_whole_(word));
  }

  bool call(const std::string& function) {
    bool arguments = choice();
    while (take(",")) arguments = choice() && arguments;
    take(")");
    static const std::set<std::string> rounds = {"floor", "ceil", "round", "rint", "sign"};
    static const std::set<std::string> keeps = {"abs", "min", "max", "sum"};
    return rounds.contains(function) || (keeps.contains(function) && arguments);
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

  const Operator* take_one_of(const std::array<Operator, 6>& level) {
    for (const Operator& one : level) {
      if (!one.sign.empty() && take(one.sign)) return &one;
    }
    return nullptr;
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
  const IsWhole& is_whole_;
};

}  // namespace

bool is_whole_by_form(const std::string& text, const FormReader::IsWhole& is_whole) {
  return FormReader(text, is_whole).choice();
}

}  // namespace tune
