#include "apps/tune/spec_options.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <system_error>

#include "tuner/checkpoint_reference.h"
#include "tuner/core/clean_text.h"
#include "tuner/core/error.h"
#include "tuner/core/json_limits.h"
#include "tuner/core/nearest_name.h"
#include "tuner/core/quoted.h"
#include "tuner/exec/program.h"
#include "tuner/plain/command_words.h"
#include "tuner/preflight.h"
#include "tuner/space/domain.h"
#include "tuner/spec/spec_fields.h"
#include "tuner/spec/typed_numbers.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

constexpr SpecOption options[] = {
    {"--name", "/name", ValueKind::text, "NAME",
     "Name of the experiment and of its directory [the spec file's name without its ending]"},
    {"--storage-path", "/storage_path", ValueKind::text, "DIR", "Where experiments go [results]"},
    {"--metric", "/metric", ValueKind::list, "NAME[,NAME]", "The metric that counts, or several"},
    {"--mode", "/mode", ValueKind::list, "min|max[,...]", "Which values of each are better"},
    {"--constraint", "/constraints", ValueKind::item, "TEXT",
     "One more that configs or results have to fulfil: 'latency <= 20'; may be given several "
     "times"},
    {"--num-samples", "/num_samples", ValueKind::json, "N",
     "How many configs to draw, -1: endless [1]"},
    {"--max-concurrent-trials", "/max_concurrent_trials", ValueKind::json, "N",
     "Trials at one time, if not as many as fit"},
    {"--resources-per-trial", "/resources_per_trial", ValueKind::amounts, "cpu=1,gpu=0.5",
     "What each trial takes [cpu=1]"},
    {"--num-workers", "/num_workers", ValueKind::json, "N",
     "Processes that train a trial together, each with its rank [one, without a rank]"},
    {"--resources-per-worker", "/resources_per_worker", ValueKind::amounts, "cpu=1,gpu=1",
     "What each of them takes [cpu=1]"},
    {"--resources", "/resources", ValueKind::amounts, "cpu=8,gpu=2",
     "What there is, instead of what is found"},
    {"--time-budget-s", "/time_budget_s", ValueKind::json, "SECONDS",
     "Ends everything after so much running time"},
    {"--stop", "/stop", ValueKind::rules, "RULES",
     "What ends a trial: training_iteration=20 (that or more), 'val_loss<=0.1', or JSON"},
    {"--seed", "/seed", ValueKind::json, "N", "Of everything random [0]"},
    {"--searcher", "/searcher", ValueKind::typed, "NAME|JSON", "Which config comes next [auto]"},
    {"--scheduler", "/scheduler", ValueKind::typed, "NAME|JSON",
     "Which trials go on, pause or end [fifo]"},
    {"--checkpoint-frequency", "/checkpoint_config/checkpoint_frequency", ValueKind::json, "N",
     "A checkpoint every N iterations [0: none]"},
    {"--checkpoint-at-end", "/checkpoint_config/checkpoint_at_end", ValueKind::flag, "",
     "A checkpoint when a trial ends"},
    {"--checkpoint-at-start", "/checkpoint_config/checkpoint_at_start", ValueKind::flag, "",
     "A checkpoint before a trial's first step"},
    {"--num-to-keep", "/checkpoint_config/num_to_keep", ValueKind::json, "K",
     "Checkpoints to keep of a trial: the best K and the latest [all]"},
    {"--checkpoint-score-attribute", "/checkpoint_config/checkpoint_score_attribute",
     ValueKind::text, "METRIC", "What makes a checkpoint better [the metric]"},
    {"--checkpoint-score-order", "/checkpoint_config/checkpoint_score_order", ValueKind::text,
     "min|max", "Which scores are better [the metric's mode]"},
    {"--max-checkpoint-bytes", "/checkpoint_config/max_checkpoint_bytes", ValueKind::json, "BYTES",
     "Of all trials' checkpoints together: 50GB [no limit]"},
    {"--max-failures-in-a-row", "/failure_config/max_failures_in_a_row", ValueKind::json, "N",
     "So many trials that fail in a row are a fault of the machine, -1: never [8]"},
    {"--max-failures", "/failure_config/max_failures", ValueKind::json, "N",
     "Retries of a failed trial, -1: for ever [0]"},
    {"--fail-fast", "/failure_config/fail_fast", ValueKind::flag, "",
     "The first failure ends all trials; --fail-fast=raise: at once"},
    {"--remote", "/remote/path", ValueKind::text, "REMOTE",
     "Where rclone keeps a copy: s3:bucket/prefix, or an absolute path [nowhere]"},
    {"--callback", "/callbacks", ValueKind::item, "NAME|JSON",
     "One more callback; may be given several times"},
    {"--reuse-processes", "/reuse_processes", ValueKind::flag, "",
     "A trial takes over the process of one that ended"},
    {"--keep-paused", "/keep_paused", ValueKind::json, "N|BYTES",
     "So many processes of paused trials wait in memory, 0: none [a quarter of what is free]"},
    {"--max-log-bytes", "/max_log_bytes", ValueKind::json, "BYTES",
     "What stdout.log and stderr.log of a trial may take each: begin and end stay [no limit]"},
    {"--min-free-bytes", "/min_free_bytes", ValueKind::json, "BYTES",
     "No trial is launched while the disk has less free, 0: never mind [256MiB]"},
    {"--snapshot-period-s", "/snapshot_period_s", ValueKind::json, "SECONDS",
     "Between snapshots of the whole state [adapts]"},
    {"--launch-timeout-s", "/launch_timeout_s", ValueKind::json, "SECONDS",
     "From a trial's launch to its hello [60]"},
    {"--trial-timeout-s", "/trial_timeout_s", ValueKind::json, "SECONDS",
     "A trial that is silent for so long has failed [never]"},
    {"--stop-grace-s", "/stop_grace_s", ValueKind::json, "SECONDS",
     "From \"stop\" to SIGTERM, and from there to SIGKILL [10]"},
    {"--last-result-grace-s", "/last_result_grace_s", ValueKind::json, "SECONDS",
     "After the time budget or tune stop: until what runs has reported and saved [300]"},
    {"--merge-output", "/trainable/merge_output", ValueKind::flag, "",
     "A trial's stderr goes into its stdout.log"},
    {"--preload", "/trainable/preload", ValueKind::list, "MODULES",
     "Python modules that are loaded once for all trials: torch,numpy"},
    {"--env", "/trainable/env", ValueKind::variable, "NAME=VALUE",
     "One more environment variable of the trials; may be given several times"},
    {"--resume-from-checkpoint", "/resume_from_checkpoint", ValueKind::checkpoint, "CHECKPOINT",
     "The checkpoint that every trial starts from: a directory, digits:3, digits:3@10, "
     "digits:best"},
};

Json json_or_text(const std::string& text) {
  if (levels_of(text) > most_file_levels) return text;
  Json json = Json::parse(text, nullptr, false, true);
  return json.is_discarded() ? Json(text) : json;
}

/// `text` if it must be JSON, because it begins like an object or a list.
std::optional<Json> structured(const std::string& name, const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t\n");
  if (first == std::string::npos || (text[first] != '{' && text[first] != '[')) return {};
  if (levels_of(text) > most_file_levels) {
    throw user_error(name + ": it is nested deeper than " + std::to_string(most_file_levels) +
                     " levels");
  }
  try {
    return Json::parse(text, nullptr, true, true);
  } catch (const Json::parse_error& error) {
    throw user_error(name + ": this is no JSON, at byte " + std::to_string(error.byte) + ": " +
                     shortened(text));
  }
}

std::pair<std::string, std::string> split_at_equals(const std::string& name,
                                                    const std::string& text,
                                                    const std::string& expected) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw user_error(name + " must be " + expected + ", got " + as_quoted(text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    items.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return items;
}

Json amounts(const SpecOption& option, const std::string& text) {
  if (auto json = structured(option.name, text)) return *std::move(json);
  Json object = Json::object();
  for (const auto& item : split_at_commas(text)) {
    const auto [key, value] =
        split_at_equals(option.name, item, std::string("like ") + option.placeholder + " or JSON");
    if (object.contains(key)) {
      throw user_error(std::string(option.name) + " has " + shortened(key) + " twice");
    }
    object[key] = json_or_text(value);
  }
  return object;
}

/// Bounds alone are one object, as people write it; comparisons are rules of their own.
Json rules(const SpecOption& option, const std::string& text) {
  if (auto json = structured(option.name, text)) return *std::move(json);
  Json bounds = Json::object();
  Json list = Json::array();
  for (const auto& item : split_at_commas(text)) {
    const std::size_t sign = item.find_first_of("<>=");
    const std::size_t value =
        sign == std::string::npos ? sign : item.find_first_not_of("<>=", sign);
    if (sign == 0 || value == std::string::npos) {
      throw user_error(std::string(option.name) +
                       " must be like training_iteration=20, 'val_loss<=0.1' or JSON, got " +
                       as_quoted(text));
    }
    const std::string metric = trimmed(item.substr(0, sign));
    const std::string comparison = item.substr(sign, value - sign);
    const Json bound = json_or_text(trimmed(item.substr(value)));
    if (comparison == "=" && bounds.contains(metric)) {
      throw user_error(std::string(option.name) + " has " + shortened(metric) + " twice");
    }
    if (comparison == "=") {
      bounds[metric] = bound;
    } else {
      list.push_back({{"metric", metric}, {comparison, bound}});
    }
  }
  if (list.empty()) return bounds;
  if (!bounds.empty()) list.push_back(std::move(bounds));
  return list;
}

/// "a", or ["a", "b"] for "a,b".
Json one_or_list(const std::string& text) {
  const auto items = split_at_commas(text);
  return items.size() == 1 ? Json(text) : Json(items);
}

Json to_json_value(const SpecOption& option, const std::string& text) {
  switch (option.kind) {
    case ValueKind::text:
    case ValueKind::variable:
      return text;
    case ValueKind::path:
      return fs::absolute(text).string();
    case ValueKind::checkpoint: {
      // An experiment that is not here is one of those in storage_path.
      std::error_code ignored;
      const bool is_here = text.find(':') == std::string::npos || fs::exists(text, ignored) ||
                           fs::exists(text.substr(0, text.rfind(':')), ignored);
      return text.starts_with("~/") || !is_here ? text : fs::absolute(text).string();
    }
    case ValueKind::json:
    case ValueKind::flag:
      return json_or_text(text);
    case ValueKind::typed:
    case ValueKind::item:
      return structured(option.name, text).value_or(text);
    case ValueKind::list:
      return structured(option.name, text).value_or(one_or_list(text));
    case ValueKind::amounts:
      return amounts(option, text);
    case ValueKind::rules:
      return rules(option, text);
  }
  return nullptr;
}

/// Puts `value` where `pointer` says, through objects that are made on the way.
void put(Json& document, const std::string& name, const std::string& pointer, Json value) {
  try {
    document[Json::json_pointer(pointer)] = std::move(value);
  } catch (const Json::exception&) {
    throw user_error(name + ": the spec has no place for " + as_quoted(pointer) +
                     ": a part of it is no object, or no such item of a list");
  }
}

void apply(SpecDocument& document, const GivenOption& given) {
  const SpecOption& option = *given.option;
  std::string pointer = option.pointer;
  Json value;
  if (option.kind == ValueKind::variable) {
    const auto [name, text] = split_at_equals(option.name, given.value, "NAME=VALUE");
    pointer = append_pointer(pointer, name);
    value = text;
  } else {
    value = to_json_value(option, given.value);
  }
  if (option.kind == ValueKind::item) {
    Json& list = document.json[Json::json_pointer(pointer)];
    if (list.is_null()) list = Json::array();
    pointer = append_pointer(pointer, list.is_array() ? std::to_string(list.size()) : "0");
  }
  put(document.json, option.name, pointer, std::move(value));
  document.origins.emplace_back(pointer, option.name);
}

/// Trials run in directories of their own, but `python3 train.py` means the file that is here.
std::string word_of_command(const std::string& word) {
  std::error_code ignored;
  return fs::is_regular_file(word, ignored) ? fs::absolute(word).string() : word;
}

/// What `--set` gives for the command, or for one of its words: what stands behind "--" would be
/// another command, and files are those that are here, as they are there.
Json command_setting(const std::string& path, Json value, bool is_given) {
  if (is_given) {
    throw user_error("--set " + path +
                     ": the command is given already, by a program in the spec's place or behind "
                     "'--': give one of the two");
  }
  const bool is_one_word = value.is_string();
  Json words = is_one_word ? Json::array({value}) : std::move(value);
  const bool begins = !is_one_word || path.ends_with("/0");
  for (std::size_t i = 0; words.is_array() && i < words.size(); ++i) {
    if (!words[i].is_string()) continue;
    const auto word = words[i].get<std::string>();
    // A bare name of a program is looked up in PATH.
    const bool is_name = i == 0 && begins && word.find('/') == word.npos;
    if (!is_name) words[i] = word_of_command(word);
  }
  return is_one_word ? words[0] : words;
}

void set(SpecDocument& document, const std::string& setting, bool has_command,
         std::set<std::string>& paths) {
  const auto [path, text] = split_at_equals("--set", setting, "like searcher/gamma=0.25");
  if (!paths.insert(path).second) throw user_error("--set " + shortened(path) + " is given twice");
  const std::string outer = path.substr(0, path.find('.'));
  const auto& fields = spec_fields().at("");
  if (outer.size() < path.size() && path.find('/') == std::string::npos &&
      std::find(fields.begin(), fields.end(), outer) != fields.end()) {
    std::string with_slashes = path;
    std::replace(with_slashes.begin(), with_slashes.end(), '.', '/');
    throw user_error("--set " + path +
                     ": a field within another is named with '/': " + with_slashes);
  }
  const std::string pointer = path.front() == '/' ? path : "/" + path;
  // A policy that is only named takes options too.
  for (const char* const policy : {"searcher", "scheduler"}) {
    const bool is_below = pointer.starts_with(std::string("/") + policy + "/");
    const auto found = document.json.find(policy);
    if (is_below && found != document.json.end() && found->is_string()) {
      *found = Json{{"type", *found}};
    }
  }
  constexpr std::string_view command = "/trainable/command";
  Json value = json_or_text(text);
  if (pointer == command || pointer.starts_with(std::string(command) + "/")) {
    value = command_setting(path, std::move(value), has_command);
  }
  if (pointer == "/trainable" && has_command) command_setting(path, {}, true);
  put(document.json, "--set " + path, pointer, std::move(value));
  document.origins.emplace_back(pointer, "--set " + path);
}

Json command_of(std::vector<std::string> command) {
  for (std::size_t i = 1; i < command.size(); ++i) command[i] = word_of_command(command[i]);
  // A bare name is looked up in PATH.
  const bool is_path = command[0].find('/') != std::string::npos;
  if (is_path) command[0] = fs::absolute(command[0]).string();
  return command;
}

/// "loguniform:1e-5,1e-3" as {"loguniform": [1e-5, 0.001]}; what names no domain is a value.
Error without_arguments(const std::string& domain) {
  return user_error("-p: the domain " + as_quoted(domain) + " has no arguments: " + domain +
                    (domain == "choice" || domain == "grid_search" ? ":16,32" : ":0,1") +
                    "; a text is given as JSON: \"" + domain + "\"");
}

/// Error (user) for what is a domain in another language: "loguniform(1e-4, 0.1)", "1e-4..0.1".
void refuse_other_forms(const std::string& text) {
  const std::string as_text = "; a text is given as JSON: '\"" + shortened(text) + "\"'";
  const std::size_t bracket = text.find('(');
  if (bracket != std::string::npos && text.ends_with(')')) {
    const std::string word = text.substr(0, bracket);
    const std::string called = word.substr(word.rfind('.') + 1);
    const auto& kinds = domain_names();
    if (std::find(kinds.begin(), kinds.end(), called) == kinds.end()) return;
    std::string arguments = text.substr(bracket + 1, text.size() - bracket - 2);
    std::erase(arguments, ' ');
    throw user_error("-p: a domain is written with a colon, " + called + ":" +
                     shortened(arguments) + ", got " + as_quoted(text) + as_text);
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos || !json_or_text(text.substr(0, dots)).is_number() ||
      !json_or_text(text.substr(dots + 2)).is_number()) {
    return;
  }
  throw user_error("-p: a range is written uniform:" + text.substr(0, dots) + "," +
                   text.substr(dots + 2) + ", or loguniform, randint ... (docs/spec.md), got " +
                   as_quoted(text) + as_text);
}

Json domain(const std::string& name, const std::string& text, TypedNumbers& typed) {
  if (auto json = structured("-p", text)) {
    add_typed_numbers_of_value(name, text, typed);
    return *std::move(json);
  }
  refuse_other_forms(text);
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const auto& kinds = domain_names();
  if (colon == std::string::npos || std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
    auto near = nearest_name(kind, std::span(kinds));
    // Or its beginning alone.
    constexpr std::size_t least_letters = 3;
    const auto longer = std::find_if(kinds.begin(), kinds.end(),
                                     [&](const auto& each) { return each.starts_with(kind); });
    if (!near && kind.size() >= least_letters && longer != kinds.end()) near = *longer;
    if (near && colon != std::string::npos) {
      throw user_error("-p: unknown domain " + as_quoted(kind) + ", did you mean '" + *near +
                       "'? A text is given as JSON: \"" + shortened(text) + "\"");
    }
    if (near && *near == kind) throw without_arguments(kind);
    add_typed_numbers_of_value(name, text, typed);
    return json_or_text(text);
  }
  const std::string rest = text.substr(colon + 1);
  if (rest.empty()) throw without_arguments(kind);
  if (kind == "expr") return {{kind, rest}};
  const bool is_listed = kind == "choice" || kind == "grid_search";
  if (auto json = structured("-p", rest)) {
    if (is_listed) add_typed_numbers_of_value(name, rest, typed);
    return {{kind, *std::move(json)}};
  }
  Json values = Json::array();
  for (const auto& item : split_at_commas(rest)) {
    values.push_back(json_or_text(trimmed(item)));
    if (is_listed) add_typed_numbers_of_value(name, trimmed(item), typed);
  }
  return {{kind, std::move(values)}};
}

void add_domain(SpecDocument& document, const std::string& given, std::set<std::string>& names) {
  const auto [name, text] = split_at_equals("-p", given, "like lr=loguniform:1e-5,1e-1");
  if (!names.insert(name).second) throw user_error("-p " + shortened(name) + " is given twice");
  std::string pointer = "/param_space";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    pointer = append_pointer(pointer, name.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::string top = name.substr(0, name.find('.'));
  if (top == name) document.typed.erase(name);
  put(document.json, "-p " + name, pointer, domain(top, text, document.typed));
  document.origins.emplace_back(pointer, "-p " + name);
}

/// A spec for a training program in a spec's place; what stands behind "--" are its arguments.
void put_program(SpecDocument& document, std::vector<std::string> start, const std::string& label,
                 const std::vector<std::string>& arguments) {
  start.insert(start.end(), arguments.begin(), arguments.end());
  Json command = command_of(std::move(start));
  const auto brings = [](const Json& word) {
    return brings_config(word.get_ref<const std::string&>());
  };
  if (std::none_of(command.begin(), command.end(), brings)) command.push_back("${args}");
  document.json["trainable"] = {{"command", std::move(command)}, {"plain", Json::object()}};
  document.origins.emplace_back("/trainable", label);
}

/// For a plain program, the only one that is given texts. What a recorded spec has stays.
void keep_typed(SpecDocument& document) {
  const auto trainable = document.json.find("trainable");
  if (document.typed.empty() || trainable == document.json.end() || !trainable->is_object()) return;
  Json& plain = (*trainable)["plain"];
  const Json command = trainable->value("command", Json());
  const bool is_plain =
      plain.is_object() ||
      (command.is_array() && std::any_of(command.begin(), command.end(), [](const Json& word) {
         return word.is_string() && brings_config(word.get_ref<const std::string&>());
       }));
  if (!is_plain) {
    if (plain.is_null()) trainable->erase("plain");
    return;
  }
  for (const auto& [name, as_typed] : document.typed) plain["typed"][name] = as_typed;
}

/// Whether a program of that name is started without a path.
bool is_in_path(const fs::path& name) {
  if (name.has_parent_path()) return false;
  try {
    (void)resolve_program({.argv = {name.string()}}, inherited_environment());
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// What the command line says, over what is there.
void apply(SpecDocument& document, const SpecSource& source) {
  if (!source.param_space.empty()) {
    std::string text;
    document.json["param_space"] = read_json_file(source.param_space, &text);
    document.typed.clear();
    add_typed_numbers_of_space(text, document.typed);
    document.origins.emplace_back("/param_space", source.param_space);
  }
  std::set<std::string> names;
  for (const std::string& given : source.domains) add_domain(document, given, names);
  if (!source.command.empty() && !document.is_program) {
    put(document.json, "the command", "/trainable/command", command_of(source.command));
    document.origins.emplace_back("/trainable/command", "command line");
    for (std::size_t i = 0; i < source.command.size(); ++i) {
      document.origins.emplace_back("/trainable/command/" + std::to_string(i), "command line");
    }
  }
  if (!source.plugins.empty()) {
    Json& plugins = document.json["plugins"] = Json::array();
    for (const auto& plugin : source.plugins) plugins.push_back(fs::absolute(plugin).string());
    document.origins.emplace_back("/plugins", "--plugin");
  }
  for (const auto& given : source.options) apply(document, given);
  const bool has_command = document.is_program || !source.command.empty();
  std::set<std::string> paths;
  for (const auto& setting : source.settings) set(document, setting, has_command, paths);
  keep_typed(document);
}

}  // namespace

Json field_value(const std::string& field, const std::string& text) {
  for (const SpecOption& option : spec_options()) {
    if (option.pointer == "/" + field) return to_json_value(option, text);
  }
  return json_or_text(text);
}

std::span<const SpecOption> spec_options() { return options; }

std::vector<std::string> start_of_program(const fs::path& file) {
  static constexpr std::pair<const char*, const char*> interpreters[] = {
      {".py", "python3"}, {".sh", "bash"}, {".R", "Rscript"}, {".jl", "julia"},
      {".pl", "perl"},    {".rb", "ruby"}, {".lua", "lua"},   {".js", "node"}};
  for (const auto& [ending, interpreter] : interpreters) {
    if (file.extension() == ending) return {interpreter, file.string()};
  }
  std::error_code ignored;
  if (!fs::exists(file, ignored) && is_in_path(file)) return {file.string()};
  if (!fs::is_regular_file(file, ignored)) return {};
  std::string magic(4, '\0');
  std::ifstream(file, std::ios::binary).read(magic.data(), 4);
  if (!magic.starts_with("#!") && magic !=
                                      "\x7f"
                                      "ELF")
    return {};
  return {fs::absolute(file).string()};
}

SpecDocument assemble_spec(const SpecSource& source) {
  SpecDocument document;
  document.json = Json::object();
  document.base = fs::current_path();
  document.label = "command line";
  if (!source.file.empty()) {
    const fs::path file = source.file;
    auto start = start_of_program(file);
    document.is_program = !start.empty();
    if (document.is_program) {
      if (std::error_code ignored; !fs::exists(file, ignored) && !is_in_path(file)) {
        throw user_error("there is no file " + as_quoted(source.file));
      }
      document.label = "command line";
      document.json["name"] = file.stem().string();
      document.origins.emplace_back(
          "/name", source.file + ": the experiment is called as the file, unless --name is given");
      put_program(document, std::move(start), source.file, source.command);
      apply(document, source);
      return document;
    }
    std::string text;
    document.json = read_json_file(file, &text);
    add_typed_numbers(text, document.typed);
    document.base = fs::absolute(file).parent_path();
    document.label = source.file;
    // Not an object: parse_spec says so, and nothing can be put into it.
    if (!document.json.is_object()) return document;
    if (!document.json.contains("name")) {
      document.json["name"] = file.stem().string();
      document.origins.emplace_back(
          "/name", source.file + ": the experiment is called as the file, unless --name is given");
    }
  }
  apply(document, source);
  return document;
}

SpecDocument assemble_changes(Json recorded, std::string label, const SpecSource& source) {
  SpecDocument document;
  document.json = std::move(recorded);
  document.base = fs::current_path();
  document.label = std::move(label);
  if (document.json.is_object()) apply(document, source);
  return document;
}

std::string to_line(const SpecDocument& document, const Problem& problem) {
  for (auto origin = document.origins.rbegin(); origin != document.origins.rend(); ++origin) {
    const auto& [pointer, name] = *origin;
    const bool is_below =
        problem.pointer.starts_with(pointer) &&
        (problem.pointer.size() == pointer.size() || problem.pointer[pointer.size()] == '/');
    if (!is_below) continue;
    const std::string rest = problem.pointer.substr(pointer.size());
    return name + ": " + (rest.empty() ? "" : rest + ": ") + problem.sentence;
  }
  // About a whole of which an option has given a part.
  for (const auto& [pointer, name] : document.origins) {
    if (!problem.pointer.empty() && pointer.starts_with(problem.pointer + "/")) {
      return name + ": " + problem.sentence;
    }
  }
  const std::string pointer = problem.pointer.empty() ? "" : problem.pointer + ": ";
  return document.label + ": " + pointer + problem.sentence;
}

std::optional<ExperimentSpec> check_spec(const SpecDocument& document, const Catalogue& catalogue) {
  std::vector<Problem> problems;
  auto spec = check_spec(document, catalogue, problems);
  print_problems(document, problems);
  return spec;
}

std::optional<ExperimentSpec> check_spec(const SpecDocument& document, const Catalogue& catalogue,
                                         std::vector<Problem>& problems) {
  const Json json = with_checkpoint_found(document.json, document.base, problems);
  ExperimentSpec spec = parse_spec(json, document.base, catalogue, problems);
  if (problems.empty()) problems = preflight(spec, detect_resources());
  if (!problems.empty()) return std::nullopt;
  return spec;
}

std::vector<fs::path> plugins_of(const SpecDocument& document) {
  return plugins_in(document.json, document.base);
}

void print_problems(const SpecDocument& document, const std::vector<Problem>& problems) {
  for (const auto& problem : problems) {
    const std::string line = headline(to_line(document, problem));
    std::fputs((clean_text(line, Lines::keep) + "\n").c_str(), stderr);
  }
}

}  // namespace tune
