// The part of a spec about programs that know nothing of the driver.
#include <algorithm>
#include <cctype>
#include <csignal>

#include "tuner/base/nearest_name.h"
#include "tuner/plain/command_words.h"
#include "tuner/plain/metric_reader.h"
#include "tuner/space/domain.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr const char* all_args = "${args}";

bool brings_config(const ExperimentSpec& spec) {
  const auto brings = [](const std::string& text) { return tune::brings_config(text); };
  return std::any_of(spec.command.begin(), spec.command.end(), brings) ||
         std::any_of(spec.env.begin(), spec.env.end(),
                     [&](const auto& variable) { return brings(variable.second); });
}

/// Nobody could print, or name, another one.
bool is_metric_name(const std::string& name) {
  return !name.empty() && std::none_of(name.begin(), name.end(),
                                       [](unsigned char c) { return std::iscntrl(c) != 0; });
}
constexpr const char* not_a_metric_name =
    "the name of a metric must have a character, and no control characters";

void parse_metrics(const FieldReader& fields, PlainProgram& plain, std::vector<Problem>& problems) {
  const Json* const json = fields.find("metrics");
  if (json == nullptr) return;
  const std::string place = "/trainable/plain/metrics";
  if (json->is_object()) {
    for (const auto& [name, value] : json->items()) {
      const auto expression = to_text(value);
      const std::string wrong =
          expression ? complaint_about_expression(*expression)
                     : "expected an RE2 expression with one group, got " + describe(value);
      if (!is_metric_name(name)) {
        problems.push_back({append_pointer(place, name), not_a_metric_name});
      } else if (wrong.empty()) {
        plain.metrics.push_back({name, *expression});
      } else {
        problems.push_back(
            {append_pointer(place, name),
             "the expression for metric " + quote(name) + " is not right: " + wrong});
      }
    }
    return;
  }
  bool is_list = json->is_array();
  for (std::size_t i = 0; is_list && i < json->size(); ++i) {
    const auto name = to_text(json->at(i));
    is_list = name.has_value();
    if (name && !is_metric_name(*name)) {
      problems.push_back({append_pointer(place, std::to_string(i)), not_a_metric_name});
    } else if (name) {
      plain.metrics.push_back({*name, ""});
    }
  }
  if (is_list) return;
  fields.wrong("metrics",
               "a list of names, or an object of names and RE2 expressions with one group", *json);
}

bool uses_checkpoint_dir(const ExperimentSpec& spec) {
  const auto uses = [](const std::string& text) { return has_word(text, "checkpoint_dir"); };
  return std::any_of(spec.command.begin(), spec.command.end(), uses) ||
         std::any_of(spec.env.begin(), spec.env.end(),
                     [&](const auto& variable) { return uses(variable.second); });
}

/// Fills in what it says of saving; nothing if the program is not known to save.
void parse_saving(const FieldReader& fields, const ExperimentSpec& spec, PlainProgram& plain) {
  static constexpr const char* names[] = {
      "checkpoints", "complete", "resume", "save_signal", "checkpoint_exit_code", "saved"};
  PlainCheckpoints saving;
  fields.read("checkpoints", "a pattern of file names, like \"checkpoint-*\"", to_text,
              saving.pattern);
  const std::string wrong = complaint_about_checkpoints(saving.pattern);
  if (!wrong.empty()) {
    fields.complain("checkpoints",
                    "checkpoints must be a pattern of names below the checkpoint "
                    "directory, like \"checkpoint-*\", got " +
                        quote(saving.pattern) + ": " + wrong);
  }
  fields.read("complete", "the name of a file in each checkpoint", to_text, saving.complete);
  std::string odd = complaint_about_checkpoints(saving.complete);
  if (saving.complete.find_first_of("*?[") != saving.complete.npos) {
    odd = "it is one name, and no pattern";
  }
  if (!odd.empty()) {
    fields.complain("complete", "complete must be the name of a file in each checkpoint, got " +
                                    quote(saving.complete) + ": " + odd);
  }
  const auto to_arguments = [](const Json& json) -> std::optional<std::vector<std::string>> {
    std::vector<std::string> arguments;
    if (!json.is_array()) return std::nullopt;
    for (const Json& each : json) {
      const auto text = to_text(each);
      if (!text) return std::nullopt;
      arguments.push_back(*text);
    }
    return arguments;
  };
  fields.read("resume", "a list of arguments, like [\"--resume\", \"${checkpoint}\"]", to_arguments,
              saving.resume);
  fields.read("save_signal", "a signal's name or number like \"SIGUSR1\"", to_signal,
              saving.save_signal);
  if (saving.save_signal == SIGKILL || saving.save_signal == SIGSTOP) {
    fields.complain("save_signal", "save_signal must be one that a program can catch, got " +
                                       from_signal(*saving.save_signal).get<std::string>());
  }
  const auto to_exit_code = [](const Json& json) {
    constexpr int last = 255;
    const auto code = to_int(json, 1);
    return code && *code <= last ? code : std::nullopt;
  };
  fields.read("checkpoint_exit_code", "an integer from 1 to 255", to_exit_code, saving.exit_code);
  const auto to_saved = [](const Json& json) -> std::optional<SavedWhen> {
    return json.is_string() ? parse_saved_when(json.get<std::string>()) : std::nullopt;
  };
  fields.read("saved", "\"before_result\" or \"after_result\"", to_saved, saving.saved);
  if (uses_checkpoint_dir(spec)) {
    plain.checkpoints = std::move(saving);
    return;
  }
  saving.in_working_directory = true;
  if (plain.directory.empty() && !saving.pattern.empty()) {
    plain.checkpoints = std::move(saving);
    return;
  }
  for (const char* const name : names) {
    const Json* const given = fields.find(name);
    if (given == nullptr || given->is_null() || given->empty()) continue;
    fields.complain(name, std::string(name) +
                              " needs a place where the program saves: put ${checkpoint_dir} into "
                              "the command or env, or set working_directory to \"trial\" and "
                              "checkpoints to a pattern");
    return;
  }
}

void parse_typed(const FieldReader& fields, PlainProgram& plain) {
  const auto to_typed = [](const Json& json) -> std::optional<TypedNumbers> {
    if (!json.is_object()) return std::nullopt;
    TypedNumbers typed;
    for (const auto& [name, texts] : json.items()) {
      if (!texts.is_array()) return std::nullopt;
      for (const Json& each : texts) {
        const auto text = to_text(each);
        if (!text) return std::nullopt;
        typed[name].push_back(*text);
      }
    }
    return typed;
  };
  fields.read("typed", "lists of numbers as text, by hyperparameter, like {\"v\": [\"3.10\"]}",
              to_typed, plain.typed);
}

fs::path directory_of(const FieldReader& fields, const fs::path* base) {
  std::string text = "spec";
  fields.read("working_directory", "\"spec\", \"trial\" or the path of a directory", to_text, text);
  if (text == "trial") return {};
  if (base == nullptr) return text;
  if (text == "spec") return resolve(*base, ".");
  const fs::path directory = resolve(*base, at_home(text));
  std::error_code ignored;
  if (!fs::is_directory(directory, ignored)) {
    fields.complain("working_directory", "working_directory must be a directory that exists, got " +
                                             describe(directory.string()));
  }
  return directory;
}

/// The texts in which words stand.
std::vector<std::string> texts_with_words(const ExperimentSpec& spec) {
  std::vector<std::string> texts = spec.command;
  for (const auto& [name, value] : spec.env) texts.push_back(value);
  if (spec.plain && spec.plain->checkpoints) {
    const auto& resume = spec.plain->checkpoints->resume;
    texts.insert(texts.end(), resume.begin(), resume.end());
  }
  return texts;
}

/// A value of the param space, by its dotted name.
struct Hyperparameter {
  std::string name;
  const Json* json = nullptr;
  bool is_drawn = false;
};

void add_hyperparameters(const Json& json, const std::string& name,
                         std::vector<Hyperparameter>& all) {
  std::vector<Problem> ignored;
  const auto domain = parse_domain(json, "", ignored);
  const bool is_meant_so = json.is_object() && json.size() == 1 && json.contains("value");
  if (domain || is_meant_so || !json.is_object()) {
    all.push_back({name, &json, domain && !std::holds_alternative<Expr>(*domain)});
    return;
  }
  for (const auto& [key, value] : json.items()) {
    add_hyperparameters(value, name.empty() ? key : name + "." + key, all);
  }
}

/// Whether `a` is `b`, or one lies within the other.
bool is_part_of(const std::string& a, const std::string& b) {
  const std::string& shorter = a.size() < b.size() ? a : b;
  const std::string& longer = a.size() < b.size() ? b : a;
  return longer.starts_with(shorter) &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.');
}

/// Whether an expression within `json` may use the value of that name.
bool uses(const Json& json, const std::string& name) {
  const std::string text = json.dump();
  const auto is_in_word = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (text.find("\"expr\"") == text.npos) return false;
  for (auto at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if (!is_in_word(static_cast<unsigned char>(text[at - 1])) &&
        !is_in_word(static_cast<unsigned char>(text[end]))) {
      return true;
    }
  }
  return false;
}

}  // namespace

NotGiven not_given(const ExperimentSpec& spec) {
  if (!spec.plain || !spec.param_space.is_object()) return {};
  std::vector<std::string> named;
  for (const std::string& text : texts_with_words(spec)) {
    const auto names = config_names_in(text);
    // A list word gives all.
    if (names.empty() && tune::brings_config(text)) return {};
    named.insert(named.end(), names.begin(), names.end());
  }
  std::vector<Hyperparameter> rest;
  add_hyperparameters(spec.param_space, "", rest);
  const bool is_drawn =
      std::any_of(rest.begin(), rest.end(), [](auto& each) { return each.is_drawn; });
  // What is given, and what that is calculated from.
  std::vector<Hyperparameter> given;
  const auto reaches = [&](const Hyperparameter& each) {
    return std::any_of(named.begin(), named.end(),
                       [&](const std::string& name) { return is_part_of(name, each.name); }) ||
           std::any_of(given.begin(), given.end(),
                       [&](const Hyperparameter& other) { return uses(*other.json, each.name); });
  };
  for (bool is_new = true; is_new;) {
    const auto left = std::stable_partition(rest.begin(), rest.end(), reaches);
    is_new = left != rest.begin();
    given.insert(given.end(), rest.begin(), left);
    rest.erase(rest.begin(), left);
  }
  NotGiven found;
  found.is_all_drawn = is_drawn && std::none_of(given.begin(), given.end(),
                                                [](auto& each) { return each.is_drawn; });
  for (const Hyperparameter& each : rest) {
    if (!each.name.starts_with('_')) found.names.push_back(each.name);
  }
  return found;
}

namespace {

/// A command that is not a plain program's is started as it is written: a word in it would reach
/// the program as "${lr}", in each trial. Text with spaces may be a shell's, with a variable of
/// that name.
void check_unexpanded_words(const ExperimentSpec& spec, std::vector<Problem>& problems) {
  for (std::size_t i = 0; i < spec.command.size(); ++i) {
    const std::string& text = spec.command[i];
    if (text.find(' ') != text.npos) continue;
    const auto wrong = [&](const std::string& word, const std::string& instead) {
      problems.push_back({append_pointer("/trainable/command", std::to_string(i)),
                          "'${" + word + "}' stands for nothing here, " + instead});
    };
    const std::size_t before = problems.size();
    for (const auto& [name, domain] : spec.param_space.items()) {
      if (has_word(text, name)) wrong(name, "write '${config." + name + "}'");
    }
    for (const char* word : {"checkpoint_dir", "checkpoint", "trial_dir", "trial_id"}) {
      if (has_word(text, word)) {
        wrong(word,
              "only in the command of a program that prints its metrics: put \"plain\": {} "
              "beside it, or a word of the config into it, as ${args}");
      }
    }
    std::string complaint = complaint_about_words(text, true);
    if (problems.size() > before || complaint.empty()) continue;
    // No word is replaced here, so nothing stands for one either.
    complaint.erase(std::min(complaint.find(" ($$"), complaint.size()));
    problems.push_back({append_pointer("/trainable/command", std::to_string(i)), complaint});
  }
}

}  // namespace

void check_config_names(const ExperimentSpec& spec, std::vector<Problem>& problems) {
  if (!spec.param_space.is_object()) return;
  if (!spec.plain) return check_unexpanded_words(spec, problems);
  std::vector<std::string> known;
  for (const auto& [name, domain] : spec.param_space.items()) known.push_back(name);
  const auto is_known = [&known](const std::string& name) {
    return std::any_of(known.begin(), known.end(), [&name](const std::string& top) {
      return name.starts_with(top) && (name.size() == top.size() || name[top.size()] == '.');
    });
  };
  const auto check = [&](const std::string& pointer, const std::string& text) {
    for (const std::string& name : config_names_in(text)) {
      if (name.empty() || is_known(name)) continue;
      const auto near = nearest_name(name, known);
      problems.push_back({pointer, "param_space has no " + quote(name) +
                                       (near ? ", did you mean " + quote(*near) + "?" : "") +
                                       ": '${config." + shown(name) + "}' stands for nothing"});
    }
  };
  for (std::size_t i = 0; i < spec.command.size(); ++i) {
    check(append_pointer("/trainable/command", std::to_string(i)), spec.command[i]);
  }
  for (const auto& [name, value] : spec.env) check(append_pointer("/trainable/env", name), value);
  const NotGiven missing = not_given(spec);
  if (!missing.is_all_drawn || missing.names.empty()) return;
  problems.push_back({"/trainable/command",
                      "no word gives the program what is drawn, so all trials would be the same: "
                      "put ${args} into the command, or ${config." +
                          shown(missing.names.front()) + "}"});
}

void check_plain_words(const ExperimentSpec& spec, std::vector<Problem>& problems) {
  if (!spec.plain) return;
  for (std::size_t i = 0; i < spec.command.size(); ++i) {
    const std::string wrong = complaint_about_words(spec.command[i], i > 0);
    if (!wrong.empty()) {
      problems.push_back({append_pointer("/trainable/command", std::to_string(i)), wrong});
    }
  }
  const std::size_t resume = spec.plain->checkpoints ? spec.plain->checkpoints->resume.size() : 0;
  for (std::size_t i = 0; i < resume; ++i) {
    const std::string wrong = complaint_about_words(spec.plain->checkpoints->resume[i], true);
    if (!wrong.empty()) {
      problems.push_back({append_pointer("/trainable/plain/resume", std::to_string(i)), wrong});
    }
  }
  for (const auto& [name, value] : spec.env) {
    const std::string wrong = complaint_about_words(value, false);
    if (!wrong.empty()) problems.push_back({append_pointer("/trainable/env", name), wrong});
  }
  if (!spec.resume_from_checkpoint.empty() && !spec.plain->checkpoints) {
    problems.push_back({"/resume_from_checkpoint",
                        "this plain program would not see resume_from_checkpoint: have it load "
                        "from ${checkpoint_dir}, a word for its command or env"});
  }
}

void parse_plain(const FieldReader& trainable, const fs::path* base, ExperimentSpec& spec,
                 std::vector<Problem>& problems) {
  static const Json defaults = Json::object();
  const Json* json = trainable.find("plain");
  if (json == nullptr || json->is_null()) {
    // As it was recorded; before there were such programs a command could have anything in it.
    if (base == nullptr || !brings_config(spec)) return;
    json = &defaults;
  }
  if (!json->is_object()) {
    trainable.wrong("plain", "an object, {} for its defaults", *json);
    return;
  }
  const FieldReader fields(*json, "/trainable/plain", problems);
  PlainProgram plain;
  parse_metrics(fields, plain, problems);
  plain.directory = directory_of(fields, base);
  parse_saving(fields, spec, plain);
  parse_typed(fields, plain);
  spec.plain = std::move(plain);
  if (base == nullptr) return;
  check_plain_words(spec, problems);
  if (!spec.command.empty() && !brings_config(spec)) spec.command.emplace_back(all_args);
}

Json plain_to_json(const PlainProgram& plain) {
  Json metrics = Json::array();
  const bool has_expressions =
      std::any_of(plain.metrics.begin(), plain.metrics.end(),
                  [](const PlainMetric& metric) { return !metric.expression.empty(); });
  for (const PlainMetric& metric : plain.metrics) {
    if (has_expressions) {
      metrics = metrics.is_array() ? Json::object() : std::move(metrics);
      metrics[metric.name] = metric.expression;
    } else {
      metrics.push_back(metric.name);
    }
  }
  Json json = {{"metrics", metrics},
               {"working_directory",
                plain.directory.empty() ? std::string("trial") : plain.directory.string()}};
  if (!plain.typed.empty()) json["typed"] = plain.typed;
  if (const auto& saving = plain.checkpoints) {
    if (!saving->pattern.empty()) json["checkpoints"] = saving->pattern;
    if (!saving->complete.empty()) json["complete"] = saving->complete;
    if (!saving->resume.empty()) json["resume"] = saving->resume;
    if (saving->save_signal) json["save_signal"] = from_signal(*saving->save_signal);
    if (saving->exit_code) json["checkpoint_exit_code"] = *saving->exit_code;
    if (saving->saved) json["saved"] = to_string(*saving->saved);
  }
  return json;
}

void check_plain(const FieldReader& top, const ExperimentSpec& spec) {
  if (!spec.plain) return;
  const bool has_expression = std::any_of(spec.plain->metrics.begin(), spec.plain->metrics.end(),
                                          [](const auto& m) { return !m.expression.empty(); });
  // A metric that is given and not right has been said to be so, or its mode has.
  const bool is_given = top.find("metric") != nullptr;
  if (spec.objectives.empty() && !is_given && !has_expression && spec.plain->metrics.empty()) {
    top.complain("metric",
                 "metric must be given for a plain program: by its name it is found in what the "
                 "program prints");
  }
  if (spec.reuse_processes.value_or(false)) {
    top.complain("reuse_processes",
                 "reuse_processes is not for a plain program, which trains once");
  }
  if (spec.keep_paused) {
    top.complain("keep_paused",
                 "keep_paused is not for a plain program, which trains on whoever waits for it");
  }
  const CheckpointConfig& checkpoints = spec.checkpoint_config;
  if (checkpoints.checkpoint_frequency > 0 || checkpoints.checkpoint_at_end ||
      checkpoints.checkpoint_at_start) {
    top.complain("checkpoint_config",
                 "a plain program saves when it likes: remove checkpoint_frequency, "
                 "checkpoint_at_end and checkpoint_at_start");
  }
  const std::string scheduler = spec.scheduler.is_object() && spec.scheduler.contains("type") &&
                                        spec.scheduler["type"].is_string()
                                    ? spec.scheduler["type"].get<std::string>()
                                    : "";
  if (scheduler.starts_with("pb") && !spec.plain->checkpoints) {
    top.complain("scheduler",
                 "scheduler '" + scheduler +
                     "' copies trials from their checkpoints, and those of this plain program are "
                     "not known: have it save in ${checkpoint_dir}, a word for its command or env");
  }
}

}  // namespace tune
