// The trainable of a spec: program, arguments, environment. Starts nothing.
#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "tuner/spec/python_command.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

namespace fs = std::filesystem;

namespace {

/// `text` as the list that was meant, for instance ["python3", "train.py"].
std::string as_list(const std::string& text) {
  Json words = Json::array();
  std::size_t begin = 0;
  while ((begin = text.find_first_not_of(' ', begin)) != std::string::npos) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(shown(text.substr(begin, end - begin)));
    begin = end;
  }
  return words.dump();
}

/// An argument or a variable's value: unlike a name it may be empty.
std::optional<std::string> to_any_text(const Json& json) {
  return json == "" ? std::string() : to_text(json);
}

void parse_command(const FieldReader& fields, const fs::path* base, ExperimentSpec& spec,
                   std::vector<Problem>& problems) {
  const std::string expected = "command must be a list of strings with the program first, ";
  const Json* json = fields.find("command");
  if (json && to_text(*json)) {
    fields.complain("command", expected + "because no shell reads it: write " +
                                   as_list(json->get<std::string>()));
    return;
  }
  if (!json || !json->is_array() || json->empty()) {
    const bool is_empty = json && json->is_array();
    fields.complain("command", expected + "got " +
                                   (!json      ? "nothing"
                                    : is_empty ? "an empty list"
                                               : describe(*json)));
    return;
  }
  for (std::size_t i = 0; i < json->size(); ++i) {
    const Json& word = (*json)[i];
    const auto text = i == 0 ? to_text(word) : to_any_text(word);
    if (text) {
      spec.command.push_back(*text);
    } else {
      const std::string what = i == 0 ? "the program" : "an argument of the program";
      problems.push_back({append_pointer("/trainable/command", std::to_string(i)),
                          what + " must be a string, got " + describe(word)});
    }
  }
  if (spec.command.size() < json->size() || base == nullptr) return;
  std::string& program = spec.command.front();
  program = at_home(program).string();
  if (program.find('/') != std::string::npos) program = resolve(*base, program).string();
  // Trials run in directories of their own, where a script beside the spec would not be found.
  for (std::size_t i = 1; i < spec.command.size(); ++i) {
    const fs::path file = resolve(*base, at_home(spec.command[i]));
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) spec.command[i] = file.string();
  }
}

void parse_env(const Json& env, ExperimentSpec& spec, std::vector<Problem>& problems) {
  for (const auto& [name, value] : env.items()) {
    const std::string pointer = append_pointer("/trainable/env", name);
    const bool is_name = to_text(Json(name)) && name.find('=') == std::string::npos;
    if (!is_name) {
      problems.push_back(
          {pointer, "a variable's name must be a string without '=', got " + quote(name)});
    }
    const auto text = to_any_text(value);
    if (text) {
      spec.env[name] = *text;
    } else {
      problems.push_back({pointer, "the value of variable " + quote(name) +
                                       " must be a string, got " + describe(value)});
    }
  }
}

bool is_module(const std::string& name) {
  bool begins = true;
  for (const char each : name) {
    const auto letter = static_cast<unsigned char>(each);
    const bool is_letter = std::isalpha(letter) != 0 || each == '_' || letter >= 0x80;
    if (each == '.' ? begins : !is_letter && (begins || std::isdigit(letter) == 0)) return false;
    begins = each == '.';
  }
  return !begins;
}

std::optional<std::vector<std::string>> to_modules(const Json& json) {
  std::vector<std::string> modules;
  for (const Json& each : json.is_array() ? json : Json::array({json})) {
    const auto name = to_text(each);
    if (!name || !is_module(*name)) return std::nullopt;
    modules.push_back(*name);
  }
  return modules;
}

}  // namespace

fs::path resolve(const fs::path& base, const fs::path& path) {
  if (path.is_absolute()) return path;
  fs::path resolved = base.empty() ? fs::current_path() : fs::absolute(base);
  for (const fs::path& part : path) {
    if (part != ".") resolved /= part;
  }
  return resolved;
}

fs::path at_home(const fs::path& path) {
  const char* const home = std::getenv("HOME");
  if (home == nullptr || path.empty() || *path.begin() != "~") return path;
  return home / path.lexically_relative("~");
}

void parse_trainable(const FieldReader& top, const fs::path* base, ExperimentSpec& spec,
                     std::vector<Problem>& problems) {
  const Json* json = top.find("trainable");
  if (!json || !json->is_object()) {
    top.complain("trainable",
                 "trainable must be an object like {\"command\": [\"./train\"]}, got " +
                     (json ? describe(*json) : "nothing"));
    return;
  }
  const FieldReader fields(*json, "/trainable", problems);
  parse_command(fields, base, spec, problems);
  fields.read("merge_output", "true or false", to_flag, spec.merge_output);
  const Json* env = fields.find("env");
  if (env && env->is_object()) {
    parse_env(*env, spec, problems);
  } else if (env) {
    fields.wrong("env", "an object of names and strings", *env);
  }
  fields.read("preload", "a list of Python modules such as [\"torch\"]", to_modules, spec.preload);
  const bool is_known = !spec.command.empty() && !interpreter_words(spec.command);
  if (!spec.preload.empty() && is_known) {
    fields.complain("preload",
                    "preload is for a command that begins with python and its script, or -m and a "
                    "module: got " +
                        describe(spec.command.front()));
  }
  parse_plain(fields, base, spec, problems);
}

Json trainable_to_json(const ExperimentSpec& spec) {
  Json json = {{"command", spec.command}, {"env", spec.env}, {"merge_output", spec.merge_output}};
  if (!spec.preload.empty()) json["preload"] = spec.preload;
  if (spec.plain) json["plain"] = plain_to_json(*spec.plain);
  return json;
}

}  // namespace tune
