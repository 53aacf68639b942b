#include "tuner/spec/foreign_forms.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/core/json_limits.h"
#include "tuner/space/domain.h"

// Names of its own: those of other files in this room would be hidden by these.
namespace tune::foreign {

namespace {

/// What a form draws.
enum class Draws {
  real,          ///< between two bounds
  log,           ///< the same, its logarithm uniform
  exponents,     ///< e to the power of a number between the bounds
  negated,       ///< e to the power of minus a number between the bounds
  whole,         ///< integers, both bounds included
  whole_below,   ///< integers, the upper bound not included
  rounded,       ///< a real number, rounded to a multiple of q
  rounded_log,   ///< the same of a logarithmic one
  rounded_exp,   ///< the same of an exponential one
  spaced,        ///< so many numbers, the same distance apart
  spaced_log,    ///< so many numbers, the same factor apart
  reversed_log,  ///< 1 - x, where x is logarithmic
  normal,
  rounded_normal,
  log_normal,
  rounded_log_normal,
  choice,
  ordered,   ///< a choice whose values have an order
  weighted,  ///< a choice with probabilities
  truth,     ///< true or false
  constant,
  none,
};

struct Row {
  const char* tool;
  const char* name;
  Draws draws;
  const char* arguments;      ///< their roles, in their order
  bool stands_alone = false;  ///< its name alone, as the only key of an object, says what is meant
  const char* why_none = "";
};

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

/// Arguments by their roles: those of `table`, and "log", "weights".
using Arguments = std::map<std::string, Json>;

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

/// A text that is a number, as Katib has them, is one.
Json as_number(const Json& json) {
  if (!json.is_string()) return json;
  const Json number = parse_shallow(json.get<std::string>(), 0);
  return number.is_number() ? number : json;
}

/// The role of an argument that is called `name`; empty: it has none.
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
                                                           {"probabilities", "weights"}};
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

/// Of a list: in the order of the row, where a list of values may stand as it is.
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

/// One form with its arguments, on its way to what it is here.
class Conversion {
 public:
  Conversion(const Row& row, Arguments arguments) : row_(row), arguments_(std::move(arguments)) {
    form_.tool = row.tool;
    form_.name = row.name;
  }

  /// Nothing: its arguments are not those of such a form.
  std::optional<ForeignForm> form() {
    if (row_.draws == Draws::none) return none(row_.why_none);
    return is_converted() ? std::optional(form_) : std::nullopt;
  }

 private:
  static constexpr std::size_t most_listed = 50;

  bool has(const char* role) const { return arguments_.contains(role); }
  const Json& at(const char* role) const { return arguments_.at(role); }
  bool has_numbers(std::initializer_list<const char*> roles) const {
    return std::all_of(roles.begin(), roles.end(),
                       [&](const char* role) { return has(role) && at(role).is_number(); });
  }
  double number(const char* role) const { return at(role).get<double>(); }
  bool is_log() const { return has("log") && at("log") == true; }
  bool is_step() const { return has("q") && at("q").is_number() && number("q") > 0; }

  bool write(const Json& domain, std::string note = "") {
    // What is not right there is not right here.
    std::vector<Problem> problems;
    const bool is_domain = parse_domain(domain, "", problems).has_value() && problems.empty();
    form_.domain = is_domain ? domain : Json{{"uniform", {"LOWER", "UPPER"}}};
    form_.note = std::move(note);
    return true;
  }

  /// An expression over a hyperparameter of its own.
  bool write_over(const std::string& expression, const char* name, const Json& domain) {
    form_.domain = Json{{"expr", expression}};
    form_.beside = name;
    form_.beside_domain = domain;
    return true;
  }

  std::optional<ForeignForm> none(const std::string& why) {
    form_.domain.reset();
    form_.note = why;
    return form_;
  }

  static std::string text(const Json& number) { return number.dump(); }

  bool is_converted() {
    switch (row_.draws) {
      case Draws::real:
      case Draws::log:
        return has_numbers({"lower", "upper"}) && real(row_.draws == Draws::log || is_log());
      case Draws::exponents:
      case Draws::negated:
        return has_numbers({"lower", "upper"}) && exponential(row_.draws == Draws::negated);
      case Draws::whole:
      case Draws::whole_below:
        return has_numbers({"lower", "upper"}) && whole();
      case Draws::rounded:
      case Draws::rounded_log:
      case Draws::rounded_exp:
        return has_numbers({"lower", "upper"}) && rounded();
      case Draws::spaced:
      case Draws::spaced_log:
        return has_numbers({"lower", "upper", "size"}) && spaced();
      case Draws::reversed_log:
        return has_numbers({"lower", "upper"}) &&
               write_over("1 - z", "z",
                          {{"loguniform", {1 - number("upper"), 1 - number("lower")}}});
      case Draws::normal:
      case Draws::rounded_normal:
      case Draws::log_normal:
      case Draws::rounded_log_normal:
        return has_numbers({"mean", "sd"}) && bell_shaped();
      case Draws::choice:
      case Draws::ordered:
      case Draws::weighted:
        return has("values") && at("values").is_array() && !at("values").empty() && chosen();
      case Draws::truth:
        return write({{"choice", {true, false}}});
      case Draws::constant:
        if (!has("value")) return false;
        form_.domain = at("value");
        return true;
      case Draws::none:
        break;
    }
    return false;
  }

  bool real(bool log) {
    if (!is_step()) return write({{log ? "loguniform" : "uniform", {at("lower"), at("upper")}}});
    return log ? factors() : stepped("quniform");
  }

  bool exponential(bool negated) {
    const double lower = negated ? -number("upper") : number("lower");
    const double upper = negated ? -number("lower") : number("upper");
    return write({{"loguniform", {std::exp(lower), std::exp(upper)}}});
  }

  static bool is_multiple(double value, double q) {
    constexpr double tolerance = 1e-9;
    return std::abs(value / q - std::round(value / q)) <= tolerance;
  }

  /// From the lower bound on in steps of q, up to the upper one.
  bool stepped(const char* domain) {
    const double q = number("q"), lower = number("lower");
    const double count = std::floor((number("upper") - lower) / q + 1e-9);
    if (!(count >= 1)) return write({{domain, {at("lower"), at("upper"), at("q")}}});
    const bool ends_there = is_multiple(number("upper") - lower, q);
    const bool is_whole = at("lower").is_number_integer() && at("q").is_number_integer();
    const auto value = [&](double i) {
      return is_whole ? Json(at("lower").get<std::int64_t>() +
                             static_cast<std::int64_t>(i) * at("q").get<std::int64_t>())
                      : Json(std::stod(text_of(lower + i * q)));
    };
    if (is_multiple(lower, q)) {
      const Json last = ends_there ? at("upper") : value(count);
      return write({{domain, {at("lower"), last, at("q")}}},
                   ends_there ? "" : "its last step is " + text(last));
    }
    if (count >= most_listed) {
      return write_over(text(at("lower")) + " + " + text(at("q")) + " * n", "n",
                        {{"randint", {0, static_cast<std::int64_t>(count) + 1}}});
    }
    Json values = Json::array();
    for (double i = 0; i <= count; ++i) values.push_back(value(i));
    return write({{"choice", values}});
  }

  /// Twelve digits, so that 0.1 + 2 * 0.1 is 0.3.
  static std::string text_of(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.12g", value);
    return buffer;
  }

  /// With a logarithmic scale a step is a factor (Keras Tuner).
  bool factors() {
    Json values = Json::array();
    double value = number("lower");
    for (; value <= number("upper") * (1 + 1e-9) && values.size() < most_listed;
         value *= number("q")) {
      values.push_back(row_.draws == Draws::whole ? Json(static_cast<std::int64_t>(value))
                                                  : Json(std::stod(text_of(value))));
      if (!(number("q") > 1) || !(value > 0)) break;
    }
    return write({{"choice", values}});
  }

  bool whole() {
    const Json &lower = at("lower"), &upper = at("upper");
    const bool is_below = row_.draws == Draws::whole_below;
    const bool fits = lower.is_number_integer() && upper.is_number_integer() &&
                      upper < std::numeric_limits<std::int64_t>::max();
    if (!fits) return write({{is_log() ? "loguniform" : "uniform", {lower, upper}}});
    const Json end = upper.get<std::int64_t>() + (is_below ? 0 : 1);
    if (!is_step() || at("q") == 1) {
      return write({{is_log() ? "lograndint" : "randint", {lower, end}}});
    }
    return is_log() ? factors() : stepped("qrandint");
  }

  bool rounded() {
    const bool is_exponent = row_.draws == Draws::rounded_exp;
    const char* const domain = row_.draws == Draws::rounded ? "quniform" : "qloguniform";
    // W&B takes 1 for it.
    const Json q = is_step() ? at("q") : Json(1);
    const auto rounded_to = [&](const char* role) -> Json {
      const double bound = is_exponent ? std::exp(number(role)) : number(role);
      if (!is_exponent && is_multiple(bound, q.get<double>())) return at(role);
      const double multiple = std::round(bound / q.get<double>()) * q.get<double>();
      return q.is_number_integer() ? Json(static_cast<std::int64_t>(multiple))
                                   : Json(std::stod(text_of(multiple)));
    };
    return write(
        {{domain, {rounded_to("lower"), rounded_to("upper"), q}}},
        std::string("in ") + row_.tool +
            " a bound is rounded to from one side alone, here it has a whole step's share");
  }

  bool spaced() {
    const double size = number("size");
    if (!(size >= 2) || size != std::floor(size)) return false;
    const double lower = number("lower"), upper = number("upper");
    const bool is_log = row_.draws == Draws::spaced_log;
    if (size > static_cast<double>(most_listed)) {
      const std::string last = text(Json(static_cast<std::int64_t>(size) - 1));
      const std::string first = text(at("lower")), end = text(at("upper"));
      return write_over(is_log ? first + " * pow(" + end + " / " + first + ", n / " + last + ")"
                               : first + " + (" + end + " - " + first + ") * n / " + last,
                        "n", {{"randint", {0, static_cast<std::int64_t>(size)}}});
    }
    Json values = Json::array();
    for (double i = 0; i < size; ++i) {
      const double part = i / (size - 1);
      values.push_back(std::stod(text_of(is_log ? lower * std::pow(upper / lower, part)
                                                : lower + (upper - lower) * part)));
    }
    return write({{"choice", values}});
  }

  bool bell_shaped() {
    const Json normal = {{"randn", {at("mean"), at("sd")}}};
    const std::string q = is_step() ? text(at("q")) : "1";
    switch (row_.draws) {
      case Draws::normal:
        return write(normal);
      case Draws::rounded_normal:
        return write({{"qrandn", {at("mean"), at("sd"), is_step() ? at("q") : Json(1)}}});
      case Draws::log_normal:
        return write_over("exp(z)", "z", normal);
      default:
        return write_over(q + " * round(exp(z) / " + q + ")", "z", normal);
    }
  }

  bool chosen() {
    const Json domain = {{"choice", at("values")}};
    if (has("weights")) {
      return write(domain,
                   "there are no probabilities here: each value is equally likely, and one that is "
                   "listed twice comes twice as often where nothing is learnt");
    }
    if (row_.draws == Draws::ordered) return write(domain, "the order of the values is not used");
    return write(domain);
  }

  const Row& row_;
  const Arguments arguments_;
  ForeignForm form_;
};

std::optional<ForeignForm> converted(const Row* row, Arguments arguments) {
  return row != nullptr ? Conversion(*row, std::move(arguments)).form() : std::nullopt;
}

std::string text_at(const Json& object, const char* name) {
  return object.contains(name) && object[name].is_string() ? object[name].get<std::string>() : "";
}

bool has_only(const Json& object, const std::set<std::string>& known) {
  return std::all_of(object.items().begin(), object.items().end(),
                     [&](const auto& item) { return known.contains(item.key()); });
}

bool are_whole(const Json& object, const char* a, const char* b) {
  return object[a].is_number_integer() && object[b].is_number_integer();
}

std::optional<ForeignForm> katib(const Json& object) {
  if (!object.contains("feasibleSpace") || !object["feasibleSpace"].is_object()) {
    return std::nullopt;
  }
  const Json& space = object["feasibleSpace"];
  std::string type = text_at(object, "parameterType");
  if (type.empty()) type = space.contains("list") ? "categorical" : "double";
  Arguments arguments = named(space);
  if (type == "discrete" && arguments.contains("values") && arguments["values"].is_array()) {
    for (Json& value : arguments["values"]) value = as_number(value);
  }
  const std::string distribution = text_at(space, "distribution");
  if (distribution == "logUniform") arguments["log"] = true;
  if (distribution == "normal" || distribution == "logNormal") {
    return ForeignForm{
        "Katib", distribution, {},
        "",      {},           "a normal distribution has no bounds here: randn draws one without"};
  }
  return converted(find_row("Katib", type), std::move(arguments));
}

std::optional<ForeignForm> nni(const Json& object) {
  if (!object.contains("_type") || !object.contains("_value")) return std::nullopt;
  const Json& value = object["_value"];
  const Row* row = find_row("NNI", text_at(object, "_type"));
  if (row == nullptr || !value.is_array()) return std::nullopt;
  const bool are_numbers = std::all_of(value.begin(), value.end(),
                                       [](const Json& one) { return as_number(one).is_number(); });
  if (!are_numbers) row = find_row("NNI", "choice");
  return converted(row, positional(*row, value));
}

std::optional<ForeignForm> keras(const Json& object) {
  const Json* config = &object;
  std::string kind = text_at(object, "class_name");
  if (!kind.empty()) {
    if (!object.contains("config") || !object["config"].is_object()) return std::nullopt;
    config = &object["config"];
  } else {
    if (!object.contains("min_value") || !object.contains("max_value") ||
        !has_only(object, {"min_value", "max_value", "step", "sampling", "name", "default",
                           "conditions"})) {
      return std::nullopt;
    }
    kind = are_whole(object, "min_value", "max_value") ? "Int" : "Float";
  }
  Arguments arguments = named(*config);
  const std::string sampling = text_at(*config, "sampling");
  if (sampling == "log") arguments["log"] = true;
  if (sampling == "reverse_log") {
    return ForeignForm{"Keras Tuner",
                       "reverse_log",
                       {},
                       "",
                       {},
                       "there is no scale that is fine at its upper end: an expression over a "
                       "loguniform, like \"1 - z\", can be one"};
  }
  return converted(find_row("Keras Tuner", kind), std::move(arguments));
}

std::optional<ForeignForm> ax(const Json& object) {
  const bool has_bounds =
      object.contains("bounds") && object["bounds"].is_array() && object["bounds"].size() == 2;
  const std::set<std::string> known = {"name",   "type",         "bounds",     "value_type",
                                       "values", "log_scale",    "is_ordered", "is_fidelity",
                                       "value",  "target_value", "digits",     "sort_values"};
  if (!has_only(object, known)) return std::nullopt;
  if (has_bounds) {
    Arguments arguments = named(object);
    arguments["lower"] = object["bounds"][0];
    arguments["upper"] = object["bounds"][1];
    const std::string type = text_at(object, "value_type");
    const bool is_whole =
        type == "int" || (type.empty() && object["bounds"][0].is_number_integer() &&
                          object["bounds"][1].is_number_integer());
    // Integers of Ax have both bounds, as Optuna's.
    auto form = converted(is_whole ? find_row("Optuna", "int") : find_row("Ax", "range"),
                          std::move(arguments));
    if (form) form->tool = "Ax", form->name = "range";
    return form;
  }
  const std::string type = text_at(object, "type");
  return type == "choice" || type == "fixed" ? converted(find_row("Ax", type), named(object))
                                             : std::nullopt;
}

std::optional<ForeignForm> optuna(const Json& object) {
  const std::string distribution = text_at(object, "name");
  if (object.contains("attributes") && object["attributes"].is_object()) {
    return converted(find_row("Optuna", distribution), named(object["attributes"]));
  }
  const bool has_range = object.contains("low") && object.contains("high");
  const bool has_values = object.contains("choices") && object["choices"].is_array();
  if (!has_only(object, {"low", "high", "log", "step", "type", "name", "choices"}) ||
      !(has_range || has_values)) {
    return std::nullopt;
  }
  std::string type = text_at(object, "type");
  if (has_values) type = "categorical";
  if (type != "categorical" && (type.empty() || find_row("Optuna", type) == nullptr)) {
    type = are_whole(object, "low", "high") ? "int" : "float";
  }
  return converted(find_row("Optuna", type), named(object));
}

std::optional<ForeignForm> wandb(const std::string& key, const Json& object) {
  const bool has_range = object.contains("min") && object.contains("max");
  const bool has_values = object.contains("values") && object["values"].is_array();
  const bool is_bell = object.contains("mu") && object.contains("sigma");
  std::string kind = text_at(object, "distribution");
  if (kind.empty()) kind = text_at(object, "type");
  const bool is_named = find_row("W&B", kind) != nullptr;
  if (!has_only(object, {"min", "max", "values", "value", "probabilities", "distribution", "mu",
                         "sigma", "q", "a", "b", "type", "name"}) ||
      !(has_range || has_values || is_bell || is_named)) {
    return std::nullopt;
  }
  if (!is_named && find_row("W&B", key) != nullptr && has_range) kind = key;
  if (find_row("W&B", kind) == nullptr) {
    const bool is_whole = has_range && are_whole(object, "min", "max");
    kind = has_values             ? "categorical"
           : is_bell              ? "normal"
           : is_whole             ? "int_uniform"
           : object.contains("q") ? "q_uniform"
                                  : "uniform";
  }
  return converted(find_row("W&B", kind), named(object));
}

/// {"log_uniform_values": [1e-4, 0.1]}, {"suggest_int": {"low": 1, "high": 8}}
std::optional<ForeignForm> alone(const Json& object) {
  if (object.size() != 1) return std::nullopt;
  const Json& value = object.begin().value();
  const Row* const row = find_alone(object.begin().key());
  if (row == nullptr || !(value.is_array() || value.is_object())) return std::nullopt;
  return converted(row, value.is_object() ? named(value) : positional(*row, value));
}

std::vector<std::string> split_arguments(const std::string& text) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0) {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  for (std::string& piece : pieces) {
    piece.erase(0, std::min(piece.find_first_not_of(" \t"), piece.size()));
    piece.erase(piece.find_last_not_of(" \t") + 1);
  }
  return pieces;
}

/// A literal of Python or JSON; discarded if it is none.
Json literal(std::string text) {
  if (text == "True" || text == "False") return text == "True";
  std::replace(text.begin(), text.end(), '\'', '"');
  return parse_shallow(text, most_config_levels);
}

/// "trial.suggest_float('lr', 1e-5, 0.1, log=True)", "hp.loguniform('lr', -10, 0)",
/// "tag(log, interval(1, 10))"
std::optional<ForeignForm> call(const std::string& text) {
  const auto open = text.find('(');
  if (open == text.npos || open == 0 || !text.ends_with(')')) return std::nullopt;
  const auto dot = text.rfind('.', open);
  const std::string before = dot == text.npos ? "" : text.substr(0, dot);
  const std::string name =
      text.substr(dot == text.npos ? 0 : dot + 1, open - (dot == text.npos ? 0 : dot + 1));
  const auto pieces = split_arguments(text.substr(open + 1, text.size() - open - 2));
  if (name == "tag" && pieces.size() == 2 && pieces[0] == "log" &&
      pieces[1].starts_with("interval(") && pieces[1].ends_with(')')) {
    const auto inner = split_arguments(pieces[1].substr(9, pieces[1].size() - 10));
    if (inner.size() != 2) return std::nullopt;
    return converted(find_row("Hydra", "interval"),
                     {{"lower", literal(inner[0])}, {"upper", literal(inner[1])}, {"log", true}});
  }
  if (name == "int" && pieces.size() == 1 && pieces[0].starts_with("interval(")) {
    auto form = call(pieces[0]);
    const Json inner = form && form->domain ? *form->domain : Json();
    if (!inner.is_object() || !inner.contains("uniform")) return std::nullopt;
    form = converted(find_row("Optuna", "int"),
                     {{"lower", inner["uniform"][0]}, {"upper", inner["uniform"][1]}});
    if (form) form->tool = "Hydra", form->name = "interval";
    return form;
  }
  Json list = Json::array();
  Arguments arguments;
  for (const std::string& piece : pieces) {
    const auto equals = piece.find('=');
    const bool is_named =
        equals != piece.npos && equals > 0 && piece.find_first_of("'\"[{") > equals;
    Json value = literal(is_named ? piece.substr(equals + 1) : piece);
    if (value.is_discarded()) return std::nullopt;
    if (!is_named) {
      list.push_back(std::move(value));
    } else if (const std::string role = role_of(piece.substr(0, equals)); !role.empty()) {
      arguments[role] = std::move(value);
    }
  }
  const bool is_hyperopt = before == "hp" || before.ends_with(".hp");
  const Row* row = is_hyperopt                    ? find_row("hyperopt", name)
                   : name.starts_with("suggest_") ? find_row("Optuna", name)
                   : name == "interval"           ? find_row("Hydra", name)
                                                  : find_alone(name);
  if (row == nullptr) {
    // Our own names, as in Ray Tune: tune.uniform(0, 1).
    const bool is_list = list.size() == 1 && list[0].is_array();
    if (list.empty()) return std::nullopt;
    const Json domain = {{name, is_list ? list[0] : list}};
    std::vector<Problem> problems;
    if (!parse_domain(domain, "", problems) || !problems.empty()) return std::nullopt;
    return ForeignForm{"", "", domain, "", {}, ""};
  }
  const bool has_label = (is_hyperopt || row->tool == std::string_view("Optuna")) &&
                         !list.empty() && list[0].is_string();
  if (has_label) list.erase(0);
  for (auto& [role, value] : positional(*row, list)) arguments.emplace(role, value);
  return converted(row, std::move(arguments));
}

std::optional<ForeignForm> any_form(const std::string& key, const Json& json) {
  if (json.is_string()) return call(json.get<std::string>());
  if (!json.is_object()) return std::nullopt;
  for (const auto& reader : {katib, nni, keras, optuna}) {
    if (auto form = reader(json)) return form;
  }
  if (auto form = wandb(key, json)) return form;
  if (auto form = ax(json)) return form;
  return alone(json);
}

}  // namespace

}  // namespace tune::foreign

namespace tune {

std::string ForeignForm::text() const {
  if (!domain) return "";
  const std::string alone = domain->dump();
  return beside.empty() ? alone
                        : alone + " beside " + Json(beside).dump() + ": " + beside_domain.dump();
}

std::optional<ForeignForm> foreign_form(const std::string& key, const Json& json) {
  return foreign::any_form(key, json);
}

}  // namespace tune
