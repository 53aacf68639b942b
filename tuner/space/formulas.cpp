// Evaluates a config's expressions in the order of their dependencies: repeated passes until all
// have a value.
#include "tuner/space/formulas.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include "tuner/base/exact_number.h"
#include "tuner/base/expression.h"
#include "tuner/base/whole_number.h"
#include "tuner/space/space_match.h"

namespace tune {

namespace {

using Object = SpaceNode::Object;
using List = SpaceNode::List;
using Branches = SpaceNode::Branches;
using Formula = SpaceNode::Formula;

/// Why an expression has no value in one config.
class NoValue : public std::exception {
 public:
  NoValue(const Formula& formula, const std::string& why)
      : sentence_("cannot evaluate " + formula.pointer + " = '" + formula.expression.text() +
                  "': " + why) {}
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// An expression and where its value goes.
struct Open {
  const Formula* formula;
  Json* place;
};

/// The value of `formula`; nothing if it needs that of one of `open`.
std::optional<Json> evaluate(const Formula& formula, const Json& config,
                             const std::vector<Open>& open) {
  bool all_integers = true;
  const auto value = formula.expression.evaluate([&](const std::string& name) {
    const Json* input = find_dotted(config, name);
    if (!input) throw NoValue(formula, "this config has no '" + name + "'");
    const bool is_open = std::any_of(open.begin(), open.end(),
                                     [&](const Open& other) { return other.place == input; });
    if (is_open) return std::optional<ExactNumber>();
    if (!input->is_number() && !input->is_boolean()) {
      throw NoValue(formula, "'" + name + "' is not a number but " + shorten(*input));
    }
    all_integers = all_integers && !input->is_number_float();
    return exact_number(*input);
  });
  if (!value) return std::nullopt;
  if (!std::isfinite(value->value())) throw NoValue(formula, "the result is not a finite number");
  const auto is_integer = [&](const std::string& name) {
    return !find_dotted(config, name)->is_number_float();
  };
  const bool has_whole_form = all_integers || formula.expression.is_whole(is_integer);
  const ExactNumber number = has_whole_form ? *value : value->as_double();
  if (number.is_rounded()) {
    throw NoValue(formula,
                  "a whole number in it would be rounded: it is beyond 2^53 and meets a fraction "
                  "or a function there, or has more than 127 bits");
  }
  constexpr double largest_exact = 0x1p53;
  const bool is_whole = number.whole() || std::abs(number.value()) <= largest_exact;
  const bool has_fraction = number.value() != std::trunc(number.value());
  if (!has_whole_form || !is_whole || has_fraction) return Json(number.value());
  Json json = to_json(number.without_fraction(std::trunc));
  if (!json.is_number_integer()) {
    throw NoValue(formula, "the result is a whole number of more than 64 bits");
  }
  return json;
}

/// Lists the expressions that `value` has.
void find_formulas(const SpaceTree& tree, const SpaceNode& node, const Json& value,
                   std::vector<const Formula*>& formulas) {
  if (const auto* object = std::get_if<Object>(&node.body)) {
    for (const auto& [key, member] : object->members) {
      if (value.contains(key)) find_formulas(tree, member, value[key], formulas);
    }
  } else if (const auto* list = std::get_if<List>(&node.body)) {
    for (std::size_t i = 0; i < std::min(value.size(), list->elements.size()); ++i) {
      find_formulas(tree, list->elements[i], value[i], formulas);
    }
  } else if (const auto* branches = std::get_if<Branches>(&node.body)) {
    const auto index = find_branch(tree.leaves, *branches, value);
    if (index) find_formulas(tree, branches->values[*index], value, formulas);
  } else if (const auto* formula = std::get_if<Formula>(&node.body)) {
    formulas.push_back(formula);
  }
}

}  // namespace

std::vector<const Formula*> formulas_of(const SpaceTree& tree, const Json& config) {
  std::vector<const Formula*> formulas;
  find_formulas(tree, tree.root, config, formulas);
  return formulas;
}

// Passes over them until all have values; each pass finds at least one more.
std::optional<std::string> evaluate_all(const std::vector<const Formula*>& formulas, Json& config) {
  std::optional<std::string> wrong;
  std::vector<Open> open;
  for (const Formula* formula : formulas) {
    open.push_back({formula, &config[Json::json_pointer(formula->pointer)]});
  }
  while (!open.empty()) {
    std::vector<Open> still_open = open;
    for (const Open& one : open) {
      std::optional<Json> value;
      try {
        value = evaluate(*one.formula, config, still_open);
      } catch (const NoValue& reason) {
        if (!wrong) wrong = reason.what();
        value = no_value;
      }
      if (!value) continue;
      *one.place = std::move(*value);
      std::erase_if(still_open, [&](const Open& other) { return other.place == one.place; });
    }
    if (still_open.size() == open.size()) {
      if (!wrong) wrong = NoValue(*open[0].formula, "expressions go round in a circle").what();
      for (const Open& one : open) *one.place = no_value;
      break;
    }
    open = std::move(still_open);
  }
  return wrong;
}

std::vector<Problem> given_without_inputs(const SpaceTree& tree, const Json& preset) {
  const auto formulas = formulas_of(tree, preset);
  Json evaluated = preset;
  (void)evaluate_all(formulas, evaluated);
  const auto is_left_out = [&](const std::string& name) {
    const Json* const input = find_dotted(preset, name);
    return input == nullptr || input->is_null();
  };
  std::vector<Problem> problems;
  for (const Formula* formula : formulas) {
    const Json::json_pointer place(formula->pointer);
    const Json& given = preset.at(place);
    const auto& names = formula->expression.variables();
    const auto lacking = std::find_if(names.begin(), names.end(), is_left_out);
    const bool has_value = std::isfinite(evaluated.at(place).get<double>());
    if (given.is_null() || has_value || lacking == names.end()) continue;
    problems.push_back({formula->pointer, shorten(given) + " cannot be given for '" +
                                              formula->expression.text() +
                                              "', whose value follows from others: leave it "
                                              "out, or give '" +
                                              *lacking + "', too"});
  }
  return problems;
}

}  // namespace tune
