// A recursive-descent parser with limits on length and depth.
#include "tuner/base/expression_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tuner/base/decimal.h"
#include "tuner/base/nearest_name.h"

namespace tune {

namespace {

/// Which nobody comes near.
constexpr std::size_t longest_text = 4096;
/// Of calls of the parser by itself; a bracket takes three.
constexpr std::size_t deepest_nesting = 300;

struct OperatorSign {
  using Kind = ExpressionNode::Kind;
  std::string_view text;
  Kind kind;
  bool is_swapped = false;  ///< a > b is b < a
};
/// Longer ones come before their beginnings.
constexpr std::array comparisons = {OperatorSign{"<=", ExpressionNode::Kind::less_equal},
                                    OperatorSign{">=", ExpressionNode::Kind::less_equal, true},
                                    OperatorSign{"==", ExpressionNode::Kind::equal},
                                    OperatorSign{"!=", ExpressionNode::Kind::not_equal},
                                    OperatorSign{"<", ExpressionNode::Kind::less},
                                    OperatorSign{">", ExpressionNode::Kind::less, true}};
constexpr std::array sums = {OperatorSign{"+", ExpressionNode::Kind::add},
                             OperatorSign{"-", ExpressionNode::Kind::subtract}};
constexpr std::array products = {OperatorSign{"*", ExpressionNode::Kind::multiply},
                                 OperatorSign{"//", ExpressionNode::Kind::floor_divide},
                                 OperatorSign{"/", ExpressionNode::Kind::divide},
                                 OperatorSign{"%", ExpressionNode::Kind::modulo}};

bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}

class TreeParser {
  using Node = ExpressionNode;
  using Kind = ExpressionNode::Kind;

 public:
  explicit TreeParser(const std::string& text) : text_(text) {}

  ExpressionTree whole() {
    if (text_.size() > longest_text) {
      throw std::invalid_argument("an expression is longer than " + std::to_string(longest_text) +
                                  " characters: '" + text_.substr(0, 20) + "...'");
    }
    skip_blanks();
    if (at_end()) throw std::invalid_argument(mistake("it is empty"));
    choice();
    skip_blanks();
    if (rest().starts_with(",")) throw std::invalid_argument(mistake("it has several values"));
    if (!at_end()) throw unexpected();
    sort_names();
    return std::move(tree_);
  }

 private:
  /// One call deeper.
  class Level {
   public:
    explicit Level(TreeParser& parser) : levels_(parser.levels_) {
      if (++levels_ > deepest_nesting) {
        throw std::invalid_argument(parser.mistake("it is nested too deep"));
      }
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --levels_; }

   private:
    std::size_t& levels_;
  };

  /// All of these add nodes, and answer with the position of the one that is the whole of what was
  /// read.
  std::size_t choice() {
    const Level level(*this);
    const std::size_t first = disjunction();
    if (take_word("if")) {
      const std::size_t condition = disjunction();
      if (!take_word("else")) {
        throw std::invalid_argument(mistake("an 'if' has no 'else' behind it"));
      }
      const std::size_t other = choice();
      return add(Kind::choice, {condition, first, other});
    }
    if (!take("?")) return first;
    const std::size_t taken = choice();
    if (!take(":")) throw missing("':' behind '?'");
    const std::size_t other = choice();
    return add(Kind::choice, {first, taken, other});
  }

  std::size_t disjunction() {
    std::size_t left = conjunction();
    for (;;) {
      if (take("||")) {
        left = truth_of(add(Kind::either, {left, conjunction()}));
      } else if (take_word("or")) {
        left = add(Kind::either, {left, conjunction()});
      } else {
        return left;
      }
    }
  }

  std::size_t conjunction() {
    std::size_t left = inversion();
    for (;;) {
      if (take("&&")) {
        left = truth_of(add(Kind::both, {left, inversion()}));
      } else if (take_word("and")) {
        left = add(Kind::both, {left, inversion()});
      } else {
        return left;
      }
    }
  }

  /// 1 or 0: C's signs answer this, and Python's words one of their two values.
  std::size_t truth_of(std::size_t node) {
    return add(Kind::inversion, {add(Kind::inversion, {node})});
  }

  bool take_not() { return (!rest().starts_with("!=") && take("!")) || take_word("not"); }

  /// Of all up to the next "and" or "or".
  std::size_t inversion() {
    const Level level(*this);
    skip_blanks();
    return take_not() ? add(Kind::inversion, {inversion()}) : comparison();
  }

  std::size_t comparison() {
    const std::size_t left = sum();
    const OperatorSign* const sign = take_one_of(comparisons);
    if (sign == nullptr) {
      skip_blanks();
      if (!rest().starts_with("=")) return left;
      throw std::invalid_argument(mistake("'=' assigns, write '==' to compare", place_));
    }
    const std::size_t right = sum();
    if (take_one_of(comparisons) != nullptr) {
      throw std::invalid_argument(
          mistake("it has two comparisons in a row: write 'a < b and b < c', or put one in "
                  "brackets"));
    }
    return sign->is_swapped ? add(sign->kind, {right, left}) : add(sign->kind, {left, right});
  }

  std::size_t sum() {
    std::size_t left = product();
    while (const OperatorSign* const sign = take_one_of(sums))
      left = add(sign->kind, {left, product()});
    return left;
  }

  std::size_t product() {
    std::size_t left = signed_power();
    while (const OperatorSign* const sign = take_one_of(products)) {
      left = add(sign->kind, {left, signed_power()});
    }
    return left;
  }

  /// A sign before a power is of all of it: -2 ** 2 is -4.
  std::size_t signed_power() {
    const Level level(*this);
    if (take("-")) return add(Kind::negation, {signed_power()});
    if (take("+")) return signed_power();
    if (take_not()) return add(Kind::inversion, {inversion()});  // as C has it: 1 + !x
    const std::size_t base = operand();
    if (!take("**") && !take("^")) return base;
    const std::size_t exponent = signed_power();
    return add(Kind::power, {base, exponent});
  }

  std::size_t operand() {
    if (take("(")) {
      const std::size_t inside = choice();
      if (!take(")")) throw missing("')'");
      return inside;
    }
    skip_blanks();
    const bool is_fraction = rest().size() > 1 && rest()[0] == '.' && is_decimal_digit(rest()[1]);
    if (!at_end() && (is_decimal_digit(rest()[0]) || is_fraction)) return number();
    const std::size_t begin = place_;
    const std::string_view word = word_here();
    const bool is_name = !word.empty() && word[0] != '.' && word != "if" && word != "else" &&
                         word != "and" && word != "or";
    if (!is_name) throw unexpected();
    place_ += word.size();
    return take("(") ? call(word, begin) : name(word);
  }

  std::size_t number() {
    const std::string_view text = rest();
    std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const bool is_whole =
        digits > 0 && (digits == text.size() ||
                       std::string_view(".eE").find(text[digits]) == std::string_view::npos);
    const Decimal decimal = read_decimal(text);
    const std::size_t length = is_whole ? digits : decimal.length;
    place_ += length;
    if (!at_end() && is_of_word(rest()[0])) throw unexpected();
    Node node;
    node.number = is_whole ? whole_number_of(text.substr(0, digits)) : ExactNumber(decimal.value);
    return add(std::move(node));
  }

  static ExactNumber whole_number_of(std::string_view digits) {
    ExactNumber number = ExactNumber::of_whole(0);
    const ExactNumber ten = ExactNumber::of_whole(10);
    for (const char digit : digits) number = number * ten + ExactNumber::of_whole(digit - '0');
    return number.is_rounded() ? ExactNumber::rounded(read_decimal(digits).value) : number;
  }

  std::size_t name(std::string_view word) {
    Node node;
    if (const auto constant = find_constant(word)) {
      node.number = *constant;
      return add(std::move(node));
    }
    auto& names = tree_.names;
    const auto known = std::find(names.begin(), names.end(), word);
    node.kind = Kind::name;
    node.name = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.emplace_back(word);
    return add(std::move(node));
  }

  /// Behind the bracket. `begin`: where its name is.
  std::size_t call(std::string_view word, std::size_t begin) {
    const ExpressionFunction* const function = find_function(word);
    if (function == nullptr) {
      const std::string unknown = unknown_name("function", std::string(word), function_names());
      throw std::invalid_argument(mistake(unknown, begin));
    }
    Node node{.kind = Kind::function, .function = function};
    if (!take(")")) {
      do node.parts.push_back(choice());
      while (take(","));
      if (!take(")")) throw missing("')'");
    }
    const std::size_t given = node.parts.size();
    if (given < function->fewest || given > function->most) {
      const std::size_t wanted = given < function->fewest ? function->fewest : function->most;
      throw std::invalid_argument(mistake(
          std::string(word) + "() wants " + (function->most > function->fewest ? "at least " : "") +
              std::to_string(wanted) + (wanted == 1 ? " value" : " values") + ", got " +
              std::to_string(given),
          begin));
    }
    return add(std::move(node));
  }

  std::size_t add(Node node) {
    tree_.nodes.push_back(std::move(node));
    return tree_.nodes.size() - 1;
  }
  std::size_t add(Kind kind, std::vector<std::size_t> parts) {
    return add(Node{.kind = kind, .parts = std::move(parts)});
  }

  void sort_names() {
    const std::vector<std::string> met = tree_.names;
    std::sort(tree_.names.begin(), tree_.names.end());
    for (Node& node : tree_.nodes) {
      if (node.kind != Kind::name) continue;
      const auto sorted = std::lower_bound(tree_.names.begin(), tree_.names.end(), met[node.name]);
      node.name = static_cast<std::size_t>(sorted - tree_.names.begin());
    }
  }

  std::string_view rest() const { return std::string_view(text_).substr(place_); }
  bool at_end() const { return place_ == text_.size(); }

  void skip_blanks() {
    while (!at_end() && std::isspace(static_cast<unsigned char>(text_[place_])) != 0) ++place_;
  }

  bool take(std::string_view sign) {
    skip_blanks();
    if (!rest().starts_with(sign)) return false;
    place_ += sign.size();
    return true;
  }

  std::string_view word_here() const {
    const std::string_view text = rest();
    const auto* const end = std::find_if_not(text.begin(), text.end(), is_of_word);
    return text.substr(0, static_cast<std::size_t>(end - text.begin()));
  }

  bool take_word(std::string_view word) {
    skip_blanks();
    return word_here() == word && take(word);
  }

  template <std::size_t size>
  const OperatorSign* take_one_of(const std::array<OperatorSign, size>& signs) {
    skip_blanks();
    for (const OperatorSign& sign : signs) {
      // "**" is tighter than "*", and was looked for before.
      if (rest().starts_with(sign.text) && take(sign.text)) return &sign;
    }
    return nullptr;
  }

  std::string mistake(const std::string& reason) const {
    return "'" + text_ + "' is not an expression: " + reason;
  }
  std::string mistake(const std::string& reason, std::size_t place) const {
    return mistake(reason) + " at character " + std::to_string(place + 1);
  }

  std::invalid_argument missing(const std::string& what) const {
    return std::invalid_argument(mistake("there is no " + what, place_));
  }

  /// Of what stands here.
  std::invalid_argument unexpected() {
    skip_blanks();
    if (at_end()) return std::invalid_argument(mistake("unexpected end of expression", place_));
    std::string_view token = word_here();
    if (token == "else") {
      return std::invalid_argument(mistake("an 'else' has no 'if' before it"));
    }
    if (token.empty()) {  // one character, be it of several bytes
      std::size_t size = 1;
      while (size < rest().size() && (static_cast<unsigned char>(rest()[size]) & 0xC0) == 0x80)
        ++size;
      token = rest().substr(0, size);
    }
    return std::invalid_argument(mistake("unexpected '" + std::string(token) + "'", place_));
  }

  const std::string& text_;
  std::size_t place_ = 0;
  std::size_t levels_ = 0;
  ExpressionTree tree_;
};

}  // namespace

ExpressionTree parse_expression(const std::string& text) { return TreeParser(text).whole(); }

}  // namespace tune
