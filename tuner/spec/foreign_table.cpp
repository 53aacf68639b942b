// The table of forms, and the assignment of arguments to roles by name or position.
#include "tuner/spec/foreign_table.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "tuner/base/json_limits.h"

namespace tune::foreign {

namespace {

constexpr const char* no_beta = "there is no beta distribution";
constexpr const char* bounds = "lower upper";
constexpr const char* steps = "lower upper q";
constexpr const char* bell = "mean sd";
constexpr const char* stepped_bell = "mean sd q";

constexpr Row table[] = {
    {"W&B", "uniform", Draws::real, bounds},
    {"W&B", "int_uniform", Draws::whole, bounds, true},
    {"W&B", "q_uniform", Draws::rounded, steps, true},
    {"W&B", "log_uniform_values", Draws::log, bounds, true},
    {"W&B", "q_log_uniform_values", Draws::rounded_log, steps, true},
    {"W&B", "inv_log_uniform_values", Draws::log, bounds, true},
    {"W&B", "log_uniform", Draws::exponents, bounds, true},
    {"W&B", "q_log_uniform", Draws::rounded_exp, steps, true},
    {"W&B", "inv_log_uniform", Draws::negated, bounds, true},
    {"W&B", "normal", Draws::normal, bell, true},
    {"W&B", "q_normal", Draws::rounded_normal, stepped_bell, true},
    {"W&B", "log_normal", Draws::log_normal, bell, true},
    {"W&B", "q_log_normal", Draws::rounded_log_normal, stepped_bell, true},
    {"W&B", "beta", Draws::none, "a b", true, no_beta},
    {"W&B", "q_beta", Draws::none, "a b q", true, no_beta},
    {"W&B", "categorical", Draws::choice, "values", true},
    {"W&B", "categorical_w_probabilities", Draws::weighted, "values", true},
    {"W&B", "constant", Draws::constant, "value"},

    {"NNI", "choice", Draws::choice, "values"},
    {"NNI", "randint", Draws::whole_below, bounds},
    {"NNI", "uniform", Draws::real, bounds},
    {"NNI", "quniform", Draws::rounded, steps},
    {"NNI", "loguniform", Draws::log, bounds},
    {"NNI", "qloguniform", Draws::rounded_log, steps},
    {"NNI", "normal", Draws::normal, bell, true},
    {"NNI", "qnormal", Draws::rounded_normal, stepped_bell, true},
    {"NNI", "lognormal", Draws::log_normal, bell, true},
    {"NNI", "qlognormal", Draws::rounded_log_normal, stepped_bell, true},

    {"Optuna", "float", Draws::real, steps},
    {"Optuna", "int", Draws::whole, steps},
    {"Optuna", "categorical", Draws::choice, "values"},
    {"Optuna", "suggest_float", Draws::real, steps, true},
    {"Optuna", "suggest_int", Draws::whole, steps, true},
    {"Optuna", "suggest_categorical", Draws::choice, "values", true},
    {"Optuna", "suggest_uniform", Draws::real, bounds, true},
    {"Optuna", "suggest_loguniform", Draws::log, bounds, true},
    {"Optuna", "suggest_discrete_uniform", Draws::real, steps, true},
    {"Optuna", "FloatDistribution", Draws::real, steps, true},
    {"Optuna", "IntDistribution", Draws::whole, steps, true},
    {"Optuna", "CategoricalDistribution", Draws::choice, "values", true},

    {"Katib", "double", Draws::real, steps},
    {"Katib", "int", Draws::whole, steps},
    {"Katib", "discrete", Draws::choice, "values"},
    {"Katib", "categorical", Draws::choice, "values"},

    {"Syne Tune", "finrange", Draws::spaced, "lower upper size", true},
    {"Syne Tune", "logfinrange", Draws::spaced_log, "lower upper size", true},
    {"Syne Tune", "reverseloguniform", Draws::reversed_log, bounds, true},
    {"Syne Tune", "ordinal", Draws::ordered, "values", true},
    {"Syne Tune", "logordinal", Draws::ordered, "values", true},

    {"Keras Tuner", "Float", Draws::real, steps},
    {"Keras Tuner", "Int", Draws::whole, steps},
    {"Keras Tuner", "Choice", Draws::choice, "values"},
    {"Keras Tuner", "Boolean", Draws::truth, ""},
    {"Keras Tuner", "Fixed", Draws::constant, "value"},

    {"ConfigSpace", "uniform_float", Draws::real, steps, true},
    {"ConfigSpace", "uniform_int", Draws::whole, steps, true},
    {"ConfigSpace", "categorical", Draws::choice, "values"},
    {"ConfigSpace", "weighted", Draws::weighted, "values"},
    {"ConfigSpace", "ordinal", Draws::ordered, "values"},
    {"ConfigSpace", "constant", Draws::constant, "value"},

    {"NePS", "float", Draws::real, steps},
    {"NePS", "int", Draws::whole, steps},
    {"NePS", "integer", Draws::whole, steps},

    {"Ax", "range", Draws::real, bounds},
    {"Ax", "choice", Draws::choice, "values"},
    {"Ax", "fixed", Draws::constant, "value"},

    {"Hydra", "interval", Draws::real, bounds},
    {"Hydra", "choice", Draws::choice, "values"},

    {"hyperopt", "uniform", Draws::real, bounds},
    {"hyperopt", "quniform", Draws::rounded, steps},
    {"hyperopt", "loguniform", Draws::exponents, bounds},
    {"hyperopt", "qloguniform", Draws::rounded_exp, steps},
    {"hyperopt", "normal", Draws::normal, bell},
    {"hyperopt", "qnormal", Draws::rounded_normal, stepped_bell},
    {"hyperopt", "lognormal", Draws::log_normal, bell},
    {"hyperopt", "qlognormal", Draws::rounded_log_normal, stepped_bell},
    {"hyperopt", "randint", Draws::whole_below, bounds},
    {"hyperopt", "uniformint", Draws::whole, bounds, true},
    {"hyperopt", "choice", Draws::choice, "values"},
    {"hyperopt", "pchoice", Draws::none, "values", true,
     "here all values of a choice are equally likely"},
};

std::vector<std::string> roles_of(const Row& row) {
  std::vector<std::string> roles;
  std::string_view rest = row.arguments;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    roles.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return roles;
}

}  // namespace

const Row* find_row(std::string_view tool, std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const Row& row) {
    return row.tool == tool && row.name == name;
  });
  return found == std::end(table) ? nullptr : found;
}

const Row* find_alone(std::string_view name) {
  const auto found = std::find_if(std::begin(table), std::end(table), [&](const Row& row) {
    return row.stands_alone && row.name == name;
  });
  return found == std::end(table) ? nullptr : found;
}

Json as_number(const Json& json) {
  if (!json.is_string()) return json;
  const Json number = parse_shallow(json.get<std::string>(), 0);
  return number.is_number() ? number : json;
}

std::string role_of(const std::string& name) {
  static const std::map<std::string, std::string> roles = {{"min", "lower"},
                                                           {"low", "lower"},
                                                           {"lower", "lower"},
                                                           {"min_value", "lower"},
                                                           {"max", "upper"},
                                                           {"high", "upper"},
                                                           {"upper", "upper"},
                                                           {"max_value", "upper"},
                                                           {"q", "q"},
                                                           {"step", "q"},
                                                           {"values", "values"},
                                                           {"choices", "values"},
                                                           {"list", "values"},
                                                           {"sequence", "values"},
                                                           {"mu", "mean"},
                                                           {"mean", "mean"},
                                                           {"loc", "mean"},
                                                           {"sigma", "sd"},
                                                           {"sd", "sd"},
                                                           {"scale", "sd"},
                                                           {"size", "size"},
                                                           {"value", "value"},
                                                           {"log", "log"},
                                                           {"log_scale", "log"},
                                                           {"a", "a"},
                                                           {"categories", "values"},
                                                           {"b", "b"},
                                                           {"probabilities", "weights"},
                                                           {"weights", "weights"}};
  const auto found = roles.find(name);
  return found == roles.end() ? "" : found->second;
}

Arguments named(const Json& object) {
  Arguments arguments;
  for (const auto& [name, value] : object.items()) {
    const std::string role = role_of(name);
    if (!role.empty() && !value.is_null()) arguments[role] = as_number(value);
  }
  return arguments;
}

Arguments positional(const Row& row, const Json& list) {
  const auto roles = roles_of(row);
  if (roles.empty()) return {};
  const bool is_flat = roles[0] == "values" && !(list.size() == 1 && list[0].is_array());
  if (is_flat) return {{"values", list}};
  Arguments arguments;
  for (std::size_t i = 0; i < std::min(roles.size(), list.size()); ++i) {
    arguments[roles[i]] = as_number(list[i]);
  }
  return arguments;
}

}  // namespace tune::foreign
