// Recognises a form by its tool's syntax: objects of Katib, NNI, Keras Tuner, Ax, Optuna, W&B,
// ConfigSpace and NePS, and calls in Python.
#include "tuner/spec/foreign_forms.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/base/json_limits.h"
#include "tuner/space/domain.h"
#include "tuner/space/prior.h"
#include "tuner/spec/foreign_conversion.h"

// Names of its own: those of other files in this room would be hidden by these.
namespace tune::foreign {

namespace {

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
    std::string type = text_at(object, "value_type");
    if (const std::string kind = text_at(object, "type"); type.empty() && kind != "range")
      type = kind;
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

std::optional<ForeignForm> wandb(const Json& object) {
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
  if (find_row("W&B", kind) == nullptr) {
    const bool is_whole = has_range && are_whole(object, "min", "max");
    kind = has_values             ? "categorical"
           : kind == "float"      ? "uniform"
           : is_bell              ? "normal"
           : is_whole             ? "int_uniform"
           : object.contains("q") ? "q_uniform"
                                  : "uniform";
  }
  return converted(find_row("W&B", kind), named(object));
}

/// Our own domain, with names for its bounds: those of ConfigSpace, Optuna or W&B.
std::optional<ForeignForm> own(const Json& object) {
  const std::string type = text_at(object, "type");
  for (const auto& [lower, upper] :
       {std::pair("lower", "upper"), {"low", "high"}, {"min", "max"}}) {
    if (type.empty() || !has_only(object, {"type", "name", lower, upper, "q"}) ||
        !object.contains(lower) || !object.contains(upper)) {
      continue;
    }
    Json list = {object[lower], object[upper]};
    if (object.contains("q")) list.push_back(object["q"]);
    const Json domain = {{type, std::move(list)}};
    std::vector<Problem> problems;
    if (!parse_domain(domain, "", problems) || !problems.empty()) return std::nullopt;
    return ForeignForm{"", "", domain, "", {}, ""};
  }
  return std::nullopt;
}

/// NePS's prior beside what it is a prior of; none where it would be wrong here.
std::optional<ForeignForm> with_prior(std::optional<ForeignForm> form, const Json& object) {
  if (!form || !form->domain || !object.contains("prior")) return form;
  Json believed = *form->domain;
  believed["prior"] = object["prior"];
  if (object.contains("prior_confidence")) {
    believed["prior"] = {{"value", object["prior"]}, {"confidence", object["prior_confidence"]}};
  }
  std::vector<Problem> problems;
  const auto domain = parse_domain(believed, "", problems);
  if (domain && parse_prior(believed, *domain, "", problems)) form->domain = believed;
  return form;
}

/// Bounds called `lower` and `upper`, as in ConfigSpace and NePS; our own domains, too.
std::optional<ForeignForm> bounded(const Json& object) {
  const bool has_range = object.contains("lower") && object.contains("upper");
  const bool has_values = object.contains("choices") || object.contains("sequence");
  const std::set<std::string> known = {
      "type",          "name",       "lower",    "upper",       "log",     "q",
      "step",          "choices",    "sequence", "weights",     "default", "default_value",
      "default_index", "confidence", "meta",     "is_fidelity", "prior",   "prior_confidence"};
  if (!has_only(object, known) || !(has_range || has_values)) return std::nullopt;
  if (object.value("is_fidelity", Json()) == true) {
    return ForeignForm{
        "NePS", "is_fidelity",
        {},     "",
        {},     "how long a trial trains is no hyperparameter: a scheduler's max_t says it"};
  }
  const std::string type = text_at(object, "type");
  const Row* row = find_row("ConfigSpace", type);
  if (has_values && object.contains("weights") && object["weights"].is_array()) {
    row = find_row("ConfigSpace", "weighted");
  }
  if (row == nullptr) row = find_row("NePS", type);
  if (row == nullptr && has_range && !type.empty()) {
    Json bare = {{"type", type}, {"lower", object["lower"]}, {"upper", object["upper"]}};
    if (object.contains("q")) bare["q"] = object["q"];
    return with_prior(own(bare), object);
  }
  if (row == nullptr) {
    row = has_range ? find_row("NePS", are_whole(object, "lower", "upper") ? "int" : "float")
                    : find_row("ConfigSpace", "categorical");
  }
  return with_prior(converted(row, named(object)), object);
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

std::optional<ForeignForm> any_form(const Json& json) {
  if (json.is_string()) return call(json.get<std::string>());
  if (!json.is_object()) return std::nullopt;
  for (const auto& reader : {own, katib, nni, keras, optuna, wandb, ax, bounded}) {
    if (auto form = reader(json)) return form;
  }
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

std::optional<ForeignForm> foreign_form(const Json& json) { return foreign::any_form(json); }

}  // namespace tune
