#include "tuner/core/expression_words.h"

#include <array>
#include <cctype>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace tune {

namespace {

/// As long as what they stand for, so that the place of a mistake is the one in the text.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> signs = {
    {{"and", "&& "}, {"or", "||"}, {"not", "!  "}, {"**", "^ "}}};

std::string_view sign_of(std::string_view word) {
  for (const auto& [from, sign] : signs) {
    if (word == from) return sign;
  }
  return word;
}

bool is_comparison(std::string_view token) {
  return token == "<" || token == ">" || token == "<=" || token == ">=" || token == "==" ||
         token == "!=";
}

/// What binds weaker than a comparison, and so ends one.
bool ends_comparison(std::string_view sign) {
  return sign == "&& " || sign == "&&" || sign == "||" || sign == "!  " || sign == "!" ||
         sign == "?" || sign == ":";
}

class Translator {
 public:
  explicit Translator(std::string_view text) : rest_(text) {}

  std::string whole() {
    std::string result;
    while (true) {
      result += part();
      if (rest_.empty()) return result;
      result += take_token();  // a bracket that nothing has opened, or a comma
    }
  }

 private:
  /// Up to a comma, a closing bracket or the end.
  std::string part() {
    std::string first = up_to_word();
    if (word_ == "else") throw std::invalid_argument("an 'else' has no 'if' before it");
    if (word_.empty()) return first;
    const std::string condition = up_to_word();
    if (word_ != "else") throw std::invalid_argument("an 'if' has no 'else' behind it");
    return "(" + condition + ") ? (" + first + ") : (" + part() + ")";
  }

  /// Up to where a part ends, or behind an "if" or "else", which is then in `word_`.
  std::string up_to_word() {
    word_ = {};
    std::string result;
    bool has_compared = false;
    while (!rest_.empty() && rest_.front() != ')' && rest_.front() != ',') {
      const std::string_view token = take_token();
      if (token == "if" || token == "else") {
        word_ = token;
        return result;
      }
      const std::string_view sign = sign_of(token);
      if (is_comparison(sign) && std::exchange(has_compared, true)) {
        throw std::invalid_argument(
            "it has two comparisons in a row: write 'a < b and b < c', or put one in brackets");
      }
      if (ends_comparison(sign)) has_compared = false;
      result += sign;
      if (sign == "(") result += inside();
    }
    return result;
  }

  /// The parts in brackets, and the closing one, if it is there.
  std::string inside() {
    std::string result;
    do {
      result += part();
      if (!rest_.empty()) result += take_token();
    } while (result.ends_with(',') && !rest_.empty());
    word_ = {};
    return result;
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }

  /// A name or number, a sign of two characters, or one character.
  std::string_view take_token() {
    std::size_t size = 0;
    while (size < rest_.size() && is_word(rest_[size])) ++size;
    if (size == 0) size = is_long_sign(rest_.substr(0, 2)) ? 2 : 1;
    const std::string_view token = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return token;
  }

  static bool is_long_sign(std::string_view two) {
    return two == "**" || two == "&&" || two == "||" || (is_comparison(two) && two.size() == 2);
  }

  std::string_view rest_;
  std::string_view word_;
};

}  // namespace

std::string in_signs(const std::string& text) { return Translator(text).whole(); }

}  // namespace tune
