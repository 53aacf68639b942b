// Assembles the spec's JSON: file first, then options, then --set. Keeps where each value came
// from, for messages.
#include "apps/tune/spec_document.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <system_error>

#include "apps/tune/domain_option.h"
#include "apps/tune/option_words.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/quoted.h"
#include "tuner/checkpoint_reference.h"
#include "tuner/preflight.h"
#include "tuner/process/program.h"
#include "tuner/spec/spec_fields.h"
#include "tuner/spec/typed_numbers.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

/// Puts `value` where `pointer` says, through objects that are made on the way.
void put(Json& document, const std::string& name, const std::string& pointer, Json value) {
  try {
    document[Json::json_pointer(pointer)] = std::move(value);
  } catch (const Json::exception&) {
    throw user_error(name + ": the spec has no place for " + as_quoted(pointer) +
                     ": a part of it is no object, or no such item of a list");
  }
}

/// Rules that are given several times are all kept: each of them ends a trial.
Json both_rules(Json before, Json more) {
  Json list = before.is_array() ? std::move(before) : Json::array({std::move(before)});
  if (!more.is_array()) more = Json::array({std::move(more)});
  list.insert(list.end(), more.begin(), more.end());
  return list;
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
  const bool is_given_before =
      std::any_of(document.origins.begin(), document.origins.end(),
                  [&](const auto& origin) { return origin.first == pointer; });
  if (option.kind == ValueKind::rules && is_given_before) {
    value = both_rules(document.json[Json::json_pointer(pointer)], std::move(value));
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

/// Error (user) for a domain in words, which is for -p: here it would be a text that trials get.
void refuse_words_of_domain(const std::string& path, const std::string& pointer,
                            const std::string& text, const Json& value) {
  constexpr std::string_view space = "/param_space/";
  const std::size_t colon = text.find(':');
  const bool is_like_one = value.is_string() && colon != text.npos && text.front() != '"' &&
                           text.compare(colon, 3, "://") != 0;
  if (!is_like_one || !pointer.starts_with(space)) return;
  TypedNumbers ignored;
  const Json domain = domain_of_option(path, text, ignored);
  if (domain.is_string()) return;
  std::string name = pointer.substr(space.size());
  std::replace(name.begin(), name.end(), '/', '.');
  throw user_error("--set " + path + ": a domain in words is for -p: -p " +
                   shell_word(name + "=" + text) + "; here it is JSON: " + domain.dump() +
                   ", and a text stands in quotes: '\"" + shortened(text) + "\"'");
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
  refuse_words_of_domain(path, pointer, text, value);
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

/// Error (user) if one of `names` is that of an object with `name` in it, or the other way round:
/// the later one would take the place of the earlier one.
void refuse_nested(const std::string& name, const std::set<std::string>& names) {
  const auto is_within = [](const std::string& inner, const std::string& outer) {
    return inner.starts_with(outer + ".");
  };
  for (const std::string& other : names) {
    if (!is_within(name, other) && !is_within(other, name)) continue;
    const auto& [outer, inner] = std::minmax(name, other);  // the shorter comes first
    throw user_error("-p " + shortened(outer) + " and -p " + shortened(inner) +
                     " cannot both be given, since " + shortened(inner) + " stands within " +
                     shortened(outer) +
                     ": write a conditional choice in a spec file (docs/spec.md), or give one of "
                     "them another name");
  }
}

void add_domain(SpecDocument& document, const std::string& given, std::set<std::string>& names) {
  const auto [name, text] = split_at_equals("-p", given, "like lr=loguniform:1e-5,1e-1");
  if (name.front() == '-') {
    const std::size_t begin = std::min(name.find_first_not_of('-'), name.size());
    throw user_error("-p: a hyperparameter is named without hyphens: -p " +
                     shortened(given.substr(begin)) + "; the program gets --" +
                     shortened(name.substr(begin)) + "=VALUE");
  }
  // Of a variable of the shell that is not set, mostly.
  if (text.empty()) {
    throw user_error("-p " + shortened(given) +
                     " has no value: a domain or a value stands behind '=', like "
                     "lr=loguniform:1e-5,1e-1; an empty text is given as JSON: '\"\"'");
  }
  if (!names.insert(name).second) throw user_error("-p " + shortened(name) + " is given twice");
  refuse_nested(name, names);
  std::string pointer = "/param_space";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('.', begin), name.size());
    pointer = append_pointer(pointer, name.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::string top = name.substr(0, name.find('.'));
  if (top == name) document.typed.erase(name);
  put(document.json, "-p " + name, pointer, domain_of_option(top, text, document.typed));
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
  if (!source.sbatch.empty()) {
    put(document.json, "the options for sbatch", "/cluster/sbatch_options", Json(source.sbatch));
    document.origins.emplace_back("/cluster/sbatch_options", "options for sbatch");
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

/// ", did you mean 'train.py'?" of a file beside it; empty if none is near.
std::string file_meant(const fs::path& file) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(fs::absolute(file).parent_path(), error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const auto near = nearest_name(file.filename().string(), names);
  if (!near) return "";
  return ", did you mean " + as_quoted((file.parent_path() / *near).string()) + "?";
}

}  // namespace

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
        throw user_error("there is no file " + as_quoted(source.file) + file_meant(file));
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
  document.is_begun = true;
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
  // What no file has, and an option could give.
  const auto options = spec_options();
  const auto option = std::find_if(options.begin(), options.end(), [&](const SpecOption& each) {
    return problem.pointer == each.pointer;
  });
  if (document.is_program && option != options.end()) {
    return std::string(option->name) + ": " + problem.sentence;
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
  const auto parse = document.is_begun ? parse_changed_spec : parse_spec;
  ExperimentSpec spec = parse(json, document.base, catalogue, problems);
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
