// The interpreter: evaluates the tree recursively, with short-circuit for and, or and the
// conditional.
#include "tuner/base/expression.h"

#include <algorithm>
#include <utility>

namespace tune {

namespace {

/// One calculation: what the nodes of the tree come to with these values of its names.
class Calculation {
  using Node = ExpressionNode;
  using Kind = ExpressionNode::Kind;

 public:
  Calculation(const std::vector<Node>& nodes, const std::vector<ExactNumber>& values)
      : nodes_(nodes), values_(values) {}

  ExactNumber of(std::size_t position) const {
    const Node& node = nodes_[position];
    switch (node.kind) {
      case Kind::number:
        return node.number;
      case Kind::name:
        return values_[node.name];
      case Kind::function: {
        std::vector<ExactNumber> arguments;
        for (const std::size_t each : node.parts) arguments.push_back(of(each));
        return node.function->of(arguments);
      }
      case Kind::negation:
        return -part(node, 0);
      case Kind::inversion: {
        const ExactNumber inverted = part(node, 0);
        return truth(!inverted.is_true(), {inverted});
      }
      case Kind::both:
      case Kind::either:
        return joined(node);
      case Kind::choice: {
        const ExactNumber condition = part(node, 0);
        const ExactNumber chosen = part(node, condition.is_true() ? 1 : 2);
        return condition.is_rounded() ? ExactNumber::rounded(chosen.value()) : chosen;
      }
      default:
        return of_two(node.kind, part(node, 0), part(node, 1));
    }
  }

 private:
  ExactNumber part(const Node& node, std::size_t i) const { return of(node.parts[i]); }

  static ExactNumber truth(bool is_true, std::initializer_list<ExactNumber> from) {
    const bool is_rounded = std::any_of(
        from.begin(), from.end(), [](const ExactNumber& number) { return number.is_rounded(); });
    return is_rounded ? ExactNumber::rounded(is_true ? 1 : 0) : ExactNumber::of_truth(is_true);
  }

  /// The second part is not looked at where the first one decides.
  ExactNumber joined(const Node& node) const {
    const ExactNumber first = part(node, 0);
    if (first.is_true() == (node.kind == Kind::either)) return first;
    const ExactNumber second = part(node, 1);
    return first.is_rounded() ? ExactNumber::rounded(second.value()) : second;
  }

  static ExactNumber of_two(Kind kind, const ExactNumber& a, const ExactNumber& b) {
    switch (kind) {
      case Kind::add:
        return a + b;
      case Kind::subtract:
        return a - b;
      case Kind::multiply:
        return a * b;
      case Kind::divide:
        return a / b;
      case Kind::floor_divide:
        return floor_quotient(a, b);
      case Kind::modulo:
        return modulo(a, b);
      case Kind::power:
        return power(a, b);
      case Kind::less:
        return truth(a < b, {a, b});
      case Kind::less_equal:
        return truth(a < b || a == b, {a, b});
      case Kind::equal:
        return truth(a == b, {a, b});
      default:
        return truth(!(a == b), {a, b});
    }
  }

  const std::vector<Node>& nodes_;
  const std::vector<ExactNumber>& values_;
};

}  // namespace

Expression::Expression(const std::string& text) : text_(text), tree_(parse_expression(text)) {}

std::optional<ExactNumber> Expression::evaluate(const Lookup& lookup) const {
  std::vector<ExactNumber> values;
  for (const std::string& name : tree_.names) {
    const std::optional<ExactNumber> value = lookup(name);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return Calculation(tree_.nodes, values).of(tree_.nodes.size() - 1);
}

bool Expression::is_whole(const std::function<bool(const std::string& name)>& name_is) const {
  using Kind = ExpressionNode::Kind;
  std::vector<bool> are_whole;  // by node: parts come before their whole
  for (const ExpressionNode& node : tree_.nodes) {
    const auto all = [&](std::size_t from) {
      return std::all_of(node.parts.begin() + static_cast<std::ptrdiff_t>(from), node.parts.end(),
                         [&](std::size_t part) { return are_whole[part]; });
    };
    switch (node.kind) {
      case Kind::number:
        are_whole.push_back(node.number.whole() || node.number.is_rounded());
        break;
      case Kind::name:
        are_whole.push_back(name_is(tree_.names[node.name]));
        break;
      case Kind::function: {
        using Form = ExpressionFunction::Form;
        const Form form = node.function->form;
        are_whole.push_back(form == Form::whole || (form == Form::as_arguments && all(0)));
        break;
      }
      case Kind::divide:
        are_whole.push_back(false);
        break;
      case Kind::power: {
        const auto exponent = tree_.nodes[node.parts[1]].number.whole();
        const bool is_count = tree_.nodes[node.parts[1]].kind == Kind::number && exponent;
        are_whole.push_back(all(0) && is_count);
        break;
      }
      case Kind::choice:
        are_whole.push_back(all(1));
        break;
      case Kind::negation:
      case Kind::add:
      case Kind::subtract:
      case Kind::multiply:
      case Kind::modulo:
      case Kind::both:
      case Kind::either:
        are_whole.push_back(all(0));
        break;
      default:  // what rounds down, and truths
        are_whole.push_back(true);
    }
  }
  return are_whole.back();
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
