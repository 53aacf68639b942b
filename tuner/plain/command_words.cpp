// Parses and expands the words of a command, and complains about words that are misspelt.
#include "tuner/plain/command_words.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>

#include "tuner/base/json_text.h"
#include "tuner/base/nearest_name.h"

namespace tune {

namespace {

constexpr std::string_view config_prefix = "config.";
constexpr std::string_view variable_prefix = "envvar:";

bool is_for_expressions(std::string_view name) { return name.starts_with('_'); }

std::string without_point(double value) {
  // Beyond it a double has no unit: the digits would be made up.
  constexpr double most_exact = 9007199254740992;  // 2^53
  const bool is_whole = std::trunc(value) == value && std::abs(value) <= most_exact;
  const bool is_negative_zero = value == 0 && std::signbit(value);
  return is_whole && !is_negative_zero ? std::to_string(static_cast<std::int64_t>(value))
                                       : Json(value).dump();
}

/// A value of the hyperparameter with that dotted name. A number is written as it was typed; else a
/// whole one without a point, since programs read "7" as a real number, but not "7.0" as a whole
/// one, as `quniform` has it.
std::string text_of(std::string_view name, const Json& value, const TypedNumbers& typed) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return value.dump();
  const auto known = typed.find(std::string(name.substr(0, name.find('.'))));
  if (known != typed.end() && value.is_number_float()) {
    for (const std::string& text : known->second) {
      const std::string number = with_digits_around_point(text).value_or(text);
      if (Json::parse(number, nullptr, false).dump() == value.dump()) return text;
    }
  }
  return value.is_number_float() ? without_point(value.get<double>()) : value.dump();
}

/// How a list word gives each hyperparameter.
struct ArgumentForm {
  enum class Booleans {
    value,  ///< --flag=true
    there,  ///< --flag, or nothing
    both,   ///< --flag, --no-flag
  };
  std::string prefix = "--";
  bool has_equals = true;
  Booleans booleans = Booleans::value;
  bool has_several = false;  ///< a list is several arguments; else it is JSON
};

/// What a list word may have behind "args": the first five named as W&B names its words, the others
/// as argparse calls what they are for.
struct FormEnding {
  std::string_view name;
  void (*apply)(ArgumentForm& form);
};
constexpr FormEnding form_endings[] = {
    {"_no_equals", [](ArgumentForm& form) { form.has_equals = false; }},
    {"_no_hyphens", [](ArgumentForm& form) { form.prefix = ""; }},
    {"_append_hydra", [](ArgumentForm& form) { form.prefix = "+"; }},
    {"_override_hydra", [](ArgumentForm& form) { form.prefix = "++"; }},
    {"_no_boolean_flags",
     [](ArgumentForm& form) { form.booleans = ArgumentForm::Booleans::there; }},
    {"_boolean_optional", [](ArgumentForm& form) { form.booleans = ArgumentForm::Booleans::both; }},
    {"_nargs", [](ArgumentForm& form) { form.has_several = true; }},
    {"_single_hyphen", [](ArgumentForm& form) { form.prefix = "-"; }},
};
constexpr std::string_view list_word_begin = "args";

/// Of "args", "args_no_equals", "args_no_equals_nargs" ...; nothing if it is no list word.
std::optional<ArgumentForm> form_of(std::string_view word) {
  if (!word.starts_with(list_word_begin)) return std::nullopt;
  word.remove_prefix(list_word_begin.size());
  ArgumentForm form;
  while (!word.empty()) {
    const auto ending =
        std::find_if(std::begin(form_endings), std::end(form_endings),
                     [word](const FormEnding& each) { return word.starts_with(each.name); });
    if (ending == std::end(form_endings)) return std::nullopt;
    ending->apply(form);
    word.remove_prefix(ending->name.size());
  }
  return form;
}

/// The list word that is all of `argument`, and its form; nothing if it is another argument.
std::optional<std::pair<std::string_view, ArgumentForm>> list_word_of(std::string_view argument) {
  if (!argument.starts_with("${") || !argument.ends_with("}")) return std::nullopt;
  const std::string_view word = argument.substr(2, argument.size() - 3);
  const auto form = form_of(word);
  return form ? std::optional(std::pair(word, *form)) : std::nullopt;
}

/// Appends one hyperparameter, with its dotted name.
void add_arguments(const ArgumentForm& form, const std::string& name, const Json& value,
                   const TypedNumbers& typed, std::vector<std::string>& to) {
  using Booleans = ArgumentForm::Booleans;
  const std::string option = form.prefix + name;
  if (value.is_boolean() && form.booleans != Booleans::value) {
    if (value.get<bool>()) {
      to.push_back(option);
    } else if (form.booleans == Booleans::both) {
      to.push_back(form.prefix + "no-" + name);
    }
  } else if (value.is_array() && form.has_several) {
    to.push_back(option);
    for (const Json& each : value) to.push_back(text_of(name, each, typed));
  } else if (form.has_equals) {
    to.push_back(option + "=" + text_of(name, value, typed));
  } else {
    to.push_back(option);
    to.push_back(text_of(name, value, typed));
  }
}

/// The names that stand for one text each, without those that have a part of the user's.
const std::vector<std::string>& single_words() {
  static const std::vector<std::string> words = {"args_json",      std::string(config_file_word),
                                                 "trial_id",       "trial_dir",
                                                 "checkpoint_dir", "checkpoint"};
  return words;
}

/// Calls `take` with each piece of `text`: a word's name, or text between words.
void for_each_piece(std::string_view text,
                    const std::function<void(std::string_view piece, bool is_word)>& take) {
  std::string literal;
  const auto end_literal = [&] {
    if (!literal.empty()) take(literal, false);
    literal.clear();
  };
  while (!text.empty()) {
    if (text.starts_with("$${")) {
      literal += "${";
      text.remove_prefix(3);
      continue;
    }
    const std::size_t end = text.starts_with("${") ? text.find('}') : text.npos;
    if (end == text.npos) {
      literal += text.front();
      text.remove_prefix(1);
      continue;
    }
    end_literal();
    take(text.substr(2, end - 2), true);
    text.remove_prefix(end + 1);
  }
  end_literal();
}

/// Calls `take` with every value of the config that is no object, and its dotted name.
void for_each_value(const Json& config, const std::string& prefix,
                    const std::function<void(const std::string&, const Json&)>& take) {
  for (const auto& [name, value] : config.items()) {
    if (is_for_expressions(name)) continue;
    const std::string full = prefix + name;
    if (value.is_object()) {
      for_each_value(value, full + ".", take);
    } else if (!value.is_null()) {
      take(full, value);
    }
  }
}

/// The value with that dotted name, whose parts may have dots themselves; null if there is none.
const Json* find_value(const Json& config, std::string_view name) {
  if (!config.is_object()) return nullptr;
  if (const auto whole = config.find(name); whole != config.end()) return &*whole;
  for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.', dot + 1)) {
    const auto part = config.find(name.substr(0, dot));
    if (part == config.end()) continue;
    if (const Json* const found = find_value(*part, name.substr(dot + 1))) return found;
  }
  return nullptr;
}

/// "--resume" or "-r", whose value is the next argument, if it has one.
bool is_option_alone(std::string_view argument) {
  const std::size_t begin = argument.find_first_not_of('-');
  return begin != argument.npos && begin > 0 && begin <= 2 &&
         std::isalpha(static_cast<unsigned char>(argument[begin])) != 0 &&
         argument.find('=') == argument.npos;
}

std::optional<std::string> value_of(std::string_view word, const WordValues& values) {
  if (word == "trial_id") return values.trial_id;
  if (word == "trial_dir") return values.trial_dir;
  if (word == "args_json") return config_for_program(values.config).dump();
  if (word == config_file_word) return values.config_file;
  if (word == "checkpoint_dir") return values.checkpoint_dir;
  if (word == "checkpoint") {
    return values.checkpoint.empty() ? std::nullopt : std::optional(values.checkpoint);
  }
  if (word.starts_with(variable_prefix)) {
    const char* const variable =
        std::getenv(std::string(word.substr(variable_prefix.size())).c_str());
    return variable == nullptr ? std::string() : std::string(variable);
  }
  const std::string_view name = word.substr(config_prefix.size());
  const Json* const value = find_value(values.config, name);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return text_of(name, *value, values.typed);
}

}  // namespace

std::optional<std::string> expand_text(std::string_view text, const WordValues& values) {
  std::optional<std::string> expanded = std::string();
  for_each_piece(text, [&](std::string_view piece, bool is_word) {
    const auto more = is_word ? value_of(piece, values) : std::string(piece);
    if (!more) {
      expanded.reset();
    } else if (expanded) {
      expanded->append(*more);
    }
  });
  return expanded;
}

std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const WordValues& values) {
  std::vector<std::string> expanded;
  bool is_behind_option = false;
  for (const std::string& argument : command) {
    if (const auto list = list_word_of(argument)) {
      for_each_value(values.config, "", [&](const std::string& name, const Json& value) {
        add_arguments(list->second, name, value, values.typed, expanded);
      });
      is_behind_option = false;
    } else if (auto text = expand_text(argument, values)) {
      expanded.push_back(*std::move(text));
      is_behind_option = is_option_alone(argument);
    } else {
      // Its option would take the next argument for its value.
      if (is_behind_option && !argument.starts_with('-')) expanded.pop_back();
      is_behind_option = false;
    }
  }
  return expanded;
}

std::optional<ListWord> list_word_in(const std::vector<std::string>& command) {
  for (const std::string& argument : command) {
    const auto list = list_word_of(argument);
    if (!list) continue;
    const auto& [word, form] = *list;
    return ListWord{std::string(word), form.prefix, form.booleans == ArgumentForm::Booleans::value};
  }
  return std::nullopt;
}

Json config_for_program(Json config) {
  if (!config.is_object()) return config;
  for (auto at = config.begin(); at != config.end();) {
    if (is_for_expressions(at.key())) {
      at = config.erase(at);
    } else {
      *at = config_for_program(std::move(*at));
      ++at;
    }
  }
  return config;
}

bool brings_config(std::string_view text) {
  bool brings = false;
  for_each_piece(text, [&](std::string_view piece, bool is_word) {
    brings = brings || (is_word && (form_of(piece).has_value() || piece == "args_json" ||
                                    piece == config_file_word || piece.starts_with(config_prefix)));
  });
  return brings;
}

bool has_word(std::string_view text, std::string_view word) {
  bool has = false;
  for_each_piece(
      text, [&](std::string_view piece, bool is_word) { has = has || (is_word && piece == word); });
  return has;
}

namespace {

/// A word that begins and does not end is one that somebody has mistyped.
std::string complaint_about_open_word(std::string_view text) {
  const std::size_t begin = text.rfind("${");
  if (begin == text.npos || text.find('}', begin) != text.npos) return "";
  if (begin > 0 && text[begin - 1] == '$') return "";
  const std::string_view open = text.substr(begin);
  const bool is_word = open.size() > 2 && std::isalpha(static_cast<unsigned char>(open[2])) != 0;
  return is_word ? "'" + std::string(open) + "' has no '}' ($${ stands for ${)" : "";
}

}  // namespace

std::string complaint_about_words(std::string_view text, bool is_argument) {
  std::string complaint;
  std::size_t pieces = 0;
  std::string list;
  for_each_piece(text, [&](std::string_view piece, bool is_word) {
    ++pieces;
    if (!is_word || !complaint.empty()) return;
    if (form_of(piece)) {
      list = piece;
      return;
    }
    if (piece == word_to_fill_in) {
      complaint =
          "write the value that the program needs in the place of '${" + std::string(piece) + "}'";
      return;
    }
    const auto& singles = single_words();
    if (piece.starts_with(config_prefix) && piece.size() > config_prefix.size()) return;
    if (piece.starts_with(variable_prefix) && piece.size() > variable_prefix.size()) return;
    if (std::find(singles.begin(), singles.end(), piece) != singles.end()) return;
    std::vector<std::string> known;
    known.emplace_back(list_word_begin);
    for (const FormEnding& ending : form_endings) {
      known.push_back(std::string(list_word_begin).append(ending.name));
    }
    known.insert(known.end(), singles.begin(), singles.end());
    known.insert(known.end(), {"config.NAME", "envvar:NAME"});
    const auto near = nearest_name(piece, known);
    complaint = "unknown word '${" + std::string(piece) + "}', ";
    if (near) {
      complaint += "did you mean '${" + *near + "}'?";
    } else {
      complaint += "expected one of";
      for (const std::string& name : known) {
        complaint += (&name == &known.front() ? " '${" : ", '${") + name + "}'";
      }
    }
    complaint += " ($${ stands for ${)";
  });
  if (complaint.empty()) complaint = complaint_about_open_word(text);
  if (!complaint.empty() || list.empty()) return complaint;
  if (!is_argument)
    return "'${" + list +
           "}' stands for several arguments: only one that is a command's, behind the program's "
           "name, can be that";
  if (pieces > 1) return "'${" + list + "}' stands for several arguments, so it must stand alone";
  return "";
}

std::vector<std::string> config_names_in(std::string_view text) {
  std::vector<std::string> names;
  for_each_piece(text, [&](std::string_view piece, bool is_word) {
    if (is_word && piece.starts_with(config_prefix)) {
      names.emplace_back(piece.substr(config_prefix.size()));
    }
  });
  return names;
}

}  // namespace tune
