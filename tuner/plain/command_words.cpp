#include "tuner/plain/command_words.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>

#include "tuner/core/nearest_name.h"

namespace tune {

namespace {

constexpr std::string_view config_prefix = "config.";
constexpr std::string_view variable_prefix = "envvar:";

/// One hyperparameter as arguments: its dotted name and its value.
using AsArguments = void (*)(const std::string& name, const Json& value,
                             std::vector<std::string>& arguments);

std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

struct ListWord {
  std::string name;
  AsArguments add;
};

/// Named as W&B names them.
const std::vector<ListWord>& list_words() {
  using Arguments = std::vector<std::string>;
  static const std::vector<ListWord> words = {
      {"args", [](const std::string& name, const Json& value,
                  Arguments& to) { to.push_back("--" + name + "=" + text_of(value)); }},
      {"args_no_equals",
       [](const std::string& name, const Json& value, Arguments& to) {
         to.push_back("--" + name);
         to.push_back(text_of(value));
       }},
      {"args_no_hyphens", [](const std::string& name, const Json& value,
                             Arguments& to) { to.push_back(name + "=" + text_of(value)); }},
      {"args_append_hydra", [](const std::string& name, const Json& value,
                               Arguments& to) { to.push_back("+" + name + "=" + text_of(value)); }},
      {"args_override_hydra",
       [](const std::string& name, const Json& value, Arguments& to) {
         to.push_back("++" + name + "=" + text_of(value));
       }},
      {"args_no_boolean_flags",
       [](const std::string& name, const Json& value, Arguments& to) {
         if (!value.is_boolean()) {
           to.push_back("--" + name + "=" + text_of(value));
         } else if (value.get<bool>()) {
           to.push_back("--" + name);
         }
       }},
  };
  return words;
}

const ListWord* list_word(std::string_view name) {
  const auto& words = list_words();
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.name == name; });
  return found == words.end() ? nullptr : &*found;
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

std::optional<std::string> value_of(std::string_view word, const WordValues& values) {
  if (word == "trial_id") return values.trial_id;
  if (word == "trial_dir") return values.trial_dir;
  if (word == "args_json") return values.config.dump();
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
  const Json* const value = find_value(values.config, word.substr(config_prefix.size()));
  if (value == nullptr || value->is_null()) return std::nullopt;
  return text_of(*value);
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
  for (const std::string& argument : command) {
    const bool is_word = argument.starts_with("${") && argument.ends_with("}");
    const ListWord* const list =
        is_word ? list_word(std::string_view(argument).substr(2, argument.size() - 3)) : nullptr;
    if (list != nullptr) {
      for_each_value(values.config, "", [&](const std::string& name, const Json& value) {
        list->add(name, value, expanded);
      });
    } else if (auto text = expand_text(argument, values)) {
      expanded.push_back(*std::move(text));
    }
  }
  return expanded;
}

bool brings_config(std::string_view text) {
  bool brings = false;
  for_each_piece(text, [&](std::string_view piece, bool is_word) {
    brings = brings || (is_word && (list_word(piece) != nullptr || piece == "args_json" ||
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
    if (list_word(piece) != nullptr) {
      list = piece;
      return;
    }
    const auto& singles = single_words();
    if (piece.starts_with(config_prefix) && piece.size() > config_prefix.size()) return;
    if (piece.starts_with(variable_prefix) && piece.size() > variable_prefix.size()) return;
    if (std::find(singles.begin(), singles.end(), piece) != singles.end()) return;
    std::vector<std::string> known;
    for (const ListWord& word : list_words()) known.push_back(word.name);
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
    return "'${" + list + "}' stands for several arguments: only the command can have it";
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
