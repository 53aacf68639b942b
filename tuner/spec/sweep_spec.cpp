// Converts W&B sweeps and Katib experiments field by field, and writes the spec with comments about
// what differs.
#include "tuner/spec/sweep_spec.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/space/domain.h"
#include "tuner/spec/foreign_forms.h"
#include "tuner/spec/spec_comment.h"
#include "tuner/spec/spec_fields.h"

namespace tune {

namespace {

using Ordered = OrderedJson;

std::string dumped(const Ordered& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string text_at(const Ordered& object, const char* name) {
  return object.is_object() && object.contains(name) && object[name].is_string()
             ? object[name].get<std::string>()
             : "";
}

/// Empty if there is none.
const Ordered& object_at(const Ordered& object, const char* name) {
  static const Ordered none = Ordered::object();
  return object.is_object() && object.contains(name) && object[name].is_object() ? object[name]
                                                                                 : none;
}

std::optional<double> number_at(const Ordered& object, const char* name) {
  if (!object.is_object() || !object.contains(name)) return std::nullopt;
  const Ordered& value = object[name];
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  // Katib writes its numbers as texts.
  const Json number = parse_shallow(value.get<std::string>(), 0);
  return number.is_number() ? std::optional(number.get<double>()) : std::nullopt;
}

Ordered as_json_number(double value) {
  const bool is_whole = value == std::floor(value) && std::abs(value) < 1e15;
  return is_whole ? Ordered(static_cast<std::int64_t>(value)) : Ordered(value);
}

/// The spec on its way: fields in their order, each with the sentences that stand above it.
class Writer {
 public:
  Writer(std::string tool, const std::string& file)
      : tool_(std::move(tool)),
        head_("// Made of " + clean_text(file) + ", " +
              (tool_ == "W&B" ? "a sweep of W&B" : "an experiment of Katib") +
              ".\n//   tune validate FILE    is it right?       tune preview FILE    what would it "
              "do?\n//   tune run FILE         do it\n{\n") {}

  const std::string& tool() const { return tool_; }

  void comment(const std::string& sentence) { body_ += comment_lines("  ", sentence); }

  /// Said above the next field, and to who runs the command.
  void loss(const std::string& sentence) {
    comment(sentence);
    losses_.push_back(sentence);
  }

  void field(const char* name, const Ordered& value) { raw_field(name, dumped(value)); }

  void raw_field(const char* name, const std::string& json_text) {
    body_ += "  " + dumped(name) + ": " + json_text + ",\n";
  }

  /// Of a param space, whose lines are commented, too.
  void losses_of(const std::vector<std::string>& sentences) {
    losses_.insert(losses_.end(), sentences.begin(), sentences.end());
  }

  SweepSpec spec() const {
    std::string body = body_;
    // JSON has no comma behind the last one.
    body.erase(body.rfind(",\n"), 1);
    return {head_ + body + "}\n", losses_};
  }

 private:
  std::string tool_;
  std::string head_;
  std::string body_;
  std::vector<std::string> losses_;
};

/// A param space, a line for each hyperparameter.
class Space {
 public:
  Space(bool is_grid, const std::string& tool) : is_grid_(is_grid), tool_(tool) {}

  /// `json` is what their tool has for `name`.
  void add(const std::string& name, const Ordered& json, const std::string& indent = "    ") {
    if (json.is_object() && json.contains("parameters") && json["parameters"].is_object()) {
      add_nested(name, json["parameters"], indent);
      return;
    }
    if (json.is_object() && json.contains("value")) {
      line(indent, name, constant(json["value"]));
      return;
    }
    if (!json.is_object()) {
      line(indent, name, constant(json));
      return;
    }
    const auto form = foreign_form(Json(json));
    if (!form) {
      left_out(indent, name, json, "it has none of the forms of " + tool_ + " that are known");
    } else if (!form->domain) {
      left_out(indent, name, json, form->note);
    } else {
      if (!form->note.empty()) lose(indent, name + ": " + form->note + ".");
      write(indent, name, *form);
    }
  }

  bool is_empty() const { return count_ == 0; }
  const std::vector<std::string>& losses() const { return losses_; }

  std::string text() const {
    std::string lines = lines_;
    if (const auto comma = lines.rfind(",\n"); comma != lines.npos) lines.erase(comma, 1);
    return "{\n" + lines + "  }";
  }

 private:
  void add_nested(const std::string& name, const Ordered& parameters, const std::string& indent) {
    std::string before = std::exchange(lines_, "");
    for (const auto& [inner, value] : parameters.items()) add(inner, value, indent + "  ");
    if (const auto comma = lines_.rfind(",\n"); comma != lines_.npos) lines_.erase(comma, 1);
    lines_ = before + indent + dumped(name) + ": {\n" + lines_ + indent + "},\n";
    ++count_;
  }

  /// What looks like a domain of ours must not become one.
  static Ordered constant(const Ordered& value) {
    return value.is_object() ? Ordered{{"value", value}} : value;
  }

  void write(const std::string& indent, const std::string& name, const ForeignForm& form) {
    Json domain = *form.domain;
    if (!form.beside.empty()) {
      // Its name is read in the expression, where no other word is a single letter.
      const std::string helper = helper_name(name);
      std::string expression = domain["expr"].get<std::string>();
      for (std::size_t at = expression.find(form.beside); at != expression.npos;
           at = expression.find(form.beside, at)) {
        const auto is_letter = [&](std::size_t i) {
          return i < expression.size() && std::isalnum(static_cast<unsigned char>(expression[i]));
        };
        if (is_letter(at + 1) || (at > 0 && is_letter(at - 1))) {
          ++at;
        } else {
          expression.replace(at, 1, helper);
          at += helper.size();
        }
      }
      domain["expr"] = expression;
      line(indent, helper, form.beside_domain);
    } else if (is_grid_ && domain.is_object() && domain.contains("choice")) {
      domain = {{"grid_search", domain["choice"]}};
    } else if (is_grid_) {
      lose(indent, name + ": a grid has the values of lists alone; this one is drawn.");
    }
    line(indent, name, domain);
  }

  static std::string helper_name(const std::string& name) {
    std::string helper;
    for (const char c : name) {
      helper += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
    }
    if (helper.empty() || std::isdigit(static_cast<unsigned char>(helper[0])))
      helper.insert(0, "_");
    return helper + "_drawn";
  }

  void line(const std::string& indent, const std::string& name, const Ordered& json) {
    lines_ += indent + dumped(name) + ": " + dumped(json) + ",\n";
    ++count_;
  }

  void lose(const std::string& indent, const std::string& sentence) {
    lines_ += comment_lines(indent, sentence);
    losses_.push_back(sentence);
  }

  void left_out(const std::string& indent, const std::string& name, const Ordered& json,
                const std::string& why) {
    lose(indent, name + " is left out, " + dumped(json) + ": " + why + ".");
  }

  const bool is_grid_;
  const std::string tool_;
  std::string lines_;
  std::vector<std::string> losses_;
  std::size_t count_ = 0;
};

/// The experiment's name, of what their tool calls it.
void write_name(Writer& writer, const std::string& theirs) {
  constexpr std::size_t longest = 100;
  std::string name;
  for (const char c : theirs.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte < 128 && (std::isalnum(byte) || c == '.' || c == '_' || c == '-');
    if (is_plain || (!name.empty() && name.back() != '-')) name += is_plain ? c : '-';
  }
  name.erase(0, std::min(name.find_first_not_of(".-"), name.size()));
  if (name.empty()) {
    if (!theirs.empty()) writer.loss("name is left out: " + dumped(theirs) + ".");
    return;
  }
  if (name != theirs) writer.comment("There it is called " + dumped(theirs) + ".");
  writer.field("name", name);
}

void write_space(Writer& writer, const Space& space) {
  if (space.is_empty()) throw user_error("it has no hyperparameters");
  writer.losses_of(space.losses());
  writer.raw_field("param_space", space.text());
}

bool is_python(const std::string& program) { return program.ends_with(".py"); }

// W&B

Ordered wandb_command(const Ordered& sweep) {
  const std::string program = text_at(sweep, "program");
  Ordered command = Ordered::array();
  if (sweep.contains("command") && sweep["command"].is_array() && !sweep["command"].empty()) {
    for (const Ordered& word : sweep["command"]) {
      const std::string text = word.is_string() ? word.get<std::string>() : dumped(word);
      if (text == "${env}" || text == "/usr/bin/env") continue;
      if (text == "${interpreter}") {
        command.push_back("python3");
      } else if (text == "${program}") {
        if (program.empty()) throw user_error("its command has ${program}, and it names none");
        command.push_back(program);
      } else {
        command.push_back(text);
      }
    }
    return command;
  }
  if (program.empty()) throw user_error("it names no program");
  if (is_python(program)) command.push_back("python3");
  command.push_back(program);
  command.push_back("${args}");
  return command;
}

void wandb_searcher(Writer& writer, const std::string& method) {
  if (method == "random") {
    writer.field("searcher", "random");
  } else if (method == "bayes") {
    writer.comment("A Gaussian process, as W&B's bayes is one.");
    writer.field("searcher", "gp");
  } else if (method != "grid" && !method.empty()) {
    writer.loss("W&B's method " + quote(method) +
                " is not known: the searcher is the one that fits.");
  }
}

void wandb_scheduler(Writer& writer, const Ordered& sweep) {
  if (!sweep.contains("early_terminate") || sweep["early_terminate"].is_null()) return;
  const Ordered& rule = object_at(sweep, "early_terminate");
  const std::string type = text_at(rule, "type");
  if (type != "hyperband") {
    writer.loss("early_terminate: the type " + quote(type) + " is not known, and left out.");
    return;
  }
  // There, brackets are at min_iter * eta^k, or from max_iter down in s steps.
  const double eta = number_at(rule, "eta").value_or(3);
  Ordered scheduler = {{"type", "asha"}, {"reduction_factor", as_json_number(eta)}};
  const auto max_iter = number_at(rule, "max_iter");
  double grace = number_at(rule, "min_iter").value_or(1);
  if (max_iter) {
    const double s = number_at(rule, "s").value_or(1);
    if (!number_at(rule, "min_iter"))
      grace = std::max(1.0, std::floor(*max_iter / std::pow(eta, s)));
    scheduler["max_t"] = as_json_number(*max_iter);
  }
  scheduler["grace_period"] = as_json_number(grace);
  if (max_iter) {
    scheduler["stop_last_trials"] = false;
  } else {
    writer.comment("Give it max_t, the iterations of a whole training, if that is not 100.");
    scheduler["stop_last_trials"] = false;
  }
  writer.loss(
      "early_terminate: W&B's hyperband ends a run that is not among the best 1/eta at a bracket; "
      "asha "
      "is nearest to it. Iterations are results of the metric here, and calls of wandb.log there.");
  writer.field("scheduler", scheduler);
}

SweepSpec of_wandb(const Ordered& sweep, const std::string& file) {
  Writer writer("W&B", file);
  write_name(writer, text_at(sweep, "name"));
  writer.comment(
      "The program, started once for each trial. Its metric is read from what it prints: what it "
      "only gives to wandb.log is not seen. To print it, add: print(f\"NAME: {value}\").");
  writer.field("trainable",
               Ordered{{"command", wandb_command(sweep)}, {"plain", Ordered::object()}});

  const std::string method = text_at(sweep, "method");
  Space space(method == "grid", "W&B");
  for (const auto& [name, json] : object_at(sweep, "parameters").items()) space.add(name, json);
  write_space(writer, space);

  const Ordered& metric = object_at(sweep, "metric");
  if (const std::string name = text_at(metric, "name"); !name.empty()) {
    writer.field("metric", name);
    writer.field("mode", text_at(metric, "goal") == "maximize" ? "max" : "min");
    if (const auto target = number_at(metric, "target")) {
      writer.loss("metric.target: a search does not end at a value; \"stop\" ends a trial at one.");
    }
  } else if (method != "random" && method != "grid") {
    throw user_error("it names no metric, which the method " + quote(method) + " needs");
  }

  if (const auto cap = number_at(sweep, "run_cap"); cap && method != "grid") {
    writer.field("num_samples", as_json_number(*cap));
  } else if (method == "grid") {
    writer.comment("Each point of the grid once.");
    writer.field("num_samples", 1);
    if (cap) writer.loss("run_cap: a grid is run as a whole here.");
  } else {
    writer.comment("Without run_cap a sweep goes on until it is stopped; -1 does so, too.");
    writer.field("num_samples", -1);
  }
  wandb_searcher(writer, method);
  wandb_scheduler(writer, sweep);
  static const std::set<std::string> known = {"program",    "command",         "method",  "metric",
                                              "parameters", "early_terminate", "run_cap", "name"};
  for (const auto& [name, value] : sweep.items()) {
    if (!known.contains(name)) writer.loss(name + " is left out: " + dumped(value) + ".");
  }
  writer.comment("What each trial takes; as many run at one time as fit on this machine.");
  writer.field("resources_per_trial", Ordered{{"cpu", 1}});
  return writer.spec();
}

// Katib

/// The container's command and arguments, wherever the job's kind has them.
const Ordered* find_container(const Ordered& json, int depth = 0) {
  constexpr int most_depth = 32;
  if (depth > most_depth) return nullptr;
  if (json.is_object()) {
    if (json.contains("containers") && json["containers"].is_array()) {
      for (const Ordered& container : json["containers"]) {
        if (container.is_object() &&
            (container.contains("command") || container.contains("args"))) {
          return &container;
        }
      }
    }
  }
  if (json.is_structured()) {
    for (const Ordered& each : json) {
      if (const Ordered* found = find_container(each, depth + 1)) return found;
    }
  }
  return nullptr;
}

Ordered katib_command(Writer& writer, const Ordered& spec) {
  const Ordered& shape = object_at(spec, "trialTemplate");
  const Ordered* const container = find_container(object_at(shape, "trialSpec"));
  if (container == nullptr) throw user_error("its trialTemplate has no container with a command");
  std::vector<std::pair<std::string, std::string>> names;
  if (shape.contains("trialParameters") && shape["trialParameters"].is_array()) {
    for (const Ordered& each : shape["trialParameters"]) {
      names.emplace_back("${trialParameters." + text_at(each, "name") + "}",
                         "${config." + text_at(each, "reference") + "}");
    }
  }
  Ordered command = Ordered::array();
  for (const char* part : {"command", "args"}) {
    if (!container->contains(part) || !(*container)[part].is_array()) continue;
    for (const Ordered& each : (*container)[part]) {
      std::string word = each.is_string() ? each.get<std::string>() : dumped(each);
      for (const auto& [theirs, ours] : names) {
        for (auto at = word.find(theirs); at != word.npos;
             at = word.find(theirs, at + ours.size())) {
          word.replace(at, theirs.size(), ours);
        }
      }
      command.push_back(word);
    }
  }
  if (command.empty()) throw user_error("its container has an empty command");
  if (const std::string image = text_at(*container, "image"); !image.empty()) {
    writer.loss("The command ran in the container " + quote(image) +
                ": here it runs on this machine, where its files must be.");
  }
  return command;
}

std::string katib_searcher(const std::string& algorithm) {
  static const std::vector<std::pair<std::string_view, const char*>> table = {
      {"random", "random"}, {"tpe", "tpe"},     {"multivariate-tpe", "tpe"},
      {"cmaes", "cma_es"},  {"sobol", "sobol"}, {"bayesianoptimization", "gp"},
      {"grid", ""}};
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const auto& row) { return row.first == algorithm; });
  return found == table.end() ? "?" : found->second;
}

/// [{"name": "start_step", "value": "5"}]
std::optional<double> setting(const Ordered& object, const std::string& name) {
  if (!object.contains("algorithmSettings") || !object["algorithmSettings"].is_array()) {
    return std::nullopt;
  }
  for (const Ordered& each : object["algorithmSettings"]) {
    if (text_at(each, "name") == name) return number_at(each, "value");
  }
  return std::nullopt;
}

void katib_objective(Writer& writer, const Ordered& objective) {
  const std::string metric = text_at(objective, "objectiveMetricName");
  if (metric.empty()) throw user_error("its objective names no metric");
  writer.comment("Read from what the program prints, \"NAME=VALUE\" or \"NAME: VALUE\".");
  writer.field("metric", metric);
  const bool is_max = text_at(objective, "type") != "minimize";
  writer.field("mode", is_max ? "max" : "min");
  if (const auto goal = number_at(objective, "goal")) {
    writer.loss("objective.goal: there it ends the experiment, here the trial that comes to it.");
    writer.field("stop",
                 Ordered{{"metric", metric}, {is_max ? ">=" : "<=", as_json_number(*goal)}});
  }
}

SweepSpec of_katib(const Ordered& experiment, const std::string& file) {
  const Ordered& spec = object_at(experiment, "spec");
  Writer writer("Katib", file);
  write_name(writer, text_at(object_at(experiment, "metadata"), "name"));
  Ordered command = katib_command(writer, spec);
  writer.comment("The program, started once for each trial.");
  writer.field("trainable", Ordered{{"command", std::move(command)}, {"plain", Ordered::object()}});

  const Ordered& algorithm = object_at(spec, "algorithm");
  const std::string name = text_at(algorithm, "algorithmName");
  Space space(name == "grid", "Katib");
  if (spec.contains("parameters") && spec["parameters"].is_array()) {
    for (const Ordered& each : spec["parameters"]) space.add(text_at(each, "name"), each);
  }
  write_space(writer, space);
  katib_objective(writer, object_at(spec, "objective"));

  if (const auto most = number_at(spec, "maxTrialCount"); most && name != "grid") {
    writer.field("num_samples", as_json_number(*most));
  } else {
    writer.field("num_samples", name == "grid" ? 1 : -1);
  }
  if (const auto parallel = number_at(spec, "parallelTrialCount")) {
    writer.field("max_concurrent_trials", as_json_number(*parallel));
  }
  if (number_at(spec, "maxFailedTrialCount")) {
    writer.loss(
        "maxFailedTrialCount: trials that fail end alone; \"max_failures_in_a_row\" of "
        "failure_config says when all pause.");
  }
  const std::string searcher = katib_searcher(name);
  if (searcher == "?") {
    writer.loss("algorithm: Katib's " + quote(name) +
                " is no searcher here; the one that fits is taken, and hyperband and pbt are "
                "schedulers.");
  } else if (!searcher.empty()) {
    writer.field("searcher", searcher);
  }
  if (const Ordered& stopping = object_at(spec, "earlyStopping"); !stopping.empty()) {
    if (text_at(stopping, "algorithmName") == "medianstop") {
      writer.field(
          "scheduler",
          Ordered{{"type", "median_stopping"},
                  {"grace_period", as_json_number(setting(stopping, "start_step").value_or(4))},
                  {"min_samples_required",
                   as_json_number(setting(stopping, "min_trials_required").value_or(3))}});
    } else {
      writer.loss("earlyStopping: " + quote(text_at(stopping, "algorithmName")) + " is left out.");
    }
  }
  writer.comment("What each trial takes; as many run at one time as fit on this machine.");
  writer.field("resources_per_trial", Ordered{{"cpu", 1}});
  return writer.spec();
}

}  // namespace

SweepSpec spec_of_sweep(const Ordered& sweep, const std::string& file) {
  try {
    if (text_at(sweep, "kind") == "Experiment" && sweep.contains("spec")) {
      return of_katib(sweep, file);
    }
    if (sweep.is_object() && sweep.contains("parameters") && sweep["parameters"].is_object()) {
      return of_wandb(sweep, file);
    }
  } catch (const Error& error) {
    throw user_error(file + ": " + error.what());
  }
  throw user_error(file +
                   " is neither a sweep of W&B, which has \"parameters\", nor an experiment of "
                   "Katib, whose \"kind\" is Experiment");
}

}  // namespace tune
