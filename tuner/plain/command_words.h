// The words in a plain program's command that stand for its config: "${args}", "${config.lr}".
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trainable/values.h"

namespace tune {

/// Numbers as their user has typed them ("3.10", "1e3"), where the config's JSON writes them
/// otherwise; by the hyperparameter's name, of nested ones the first part of it.
using TypedNumbers = std::map<std::string, std::vector<std::string>>;

/// What the words of one launch stand for.
struct WordValues {
  Json config;
  std::string trial_id;
  std::string trial_dir;       ///< absolute
  std::string checkpoint_dir;  ///< absolute; where the program keeps its checkpoints
  std::string checkpoint;      ///< absolute; what it goes on from; empty: it begins anew
  std::string config_file;     ///< absolute; has the config as JSON
  TypedNumbers typed = {};
};

/// The word for that file, which is not written without it.
inline constexpr std::string_view config_file_word = "args_json_file";
/// Stands for nothing: whoever proposes a command leaves it where its user has to write something.
inline constexpr std::string_view word_to_fill_in = "fill_in";

/// `command` with its words replaced; a list word becomes several arguments, or none. What a config
/// does not have, or has as null, leaves its argument out. `command` has no wrong words.
std::vector<std::string> expand_command(const std::vector<std::string>& command,
                                        const WordValues& values);

/// The same for one text, which has no list words: nothing if it is to be left out.
std::optional<std::string> expand_text(std::string_view text, const WordValues& values);

/// `config` as the program gets it. A name that begins with '_' is for expressions alone.
Json config_for_program(Json config);

/// Whether `text` has a word by which something of the config reaches the program.
bool brings_config(std::string_view text);

/// How a list word gives each hyperparameter.
struct ListWord {
  std::string word;                ///< "args_no_equals"
  std::string prefix;              ///< of the names: "--"
  bool has_boolean_values = true;  ///< "--flag=true"; else flags are there or not
};

/// The first one in `command`; nothing if it has none.
std::optional<ListWord> list_word_in(const std::vector<std::string>& command);

/// Whether `text` has this word.
bool has_word(std::string_view text, std::string_view word);

/// What is wrong with the words in `text`, as a sentence; empty if nothing is. `is_argument`: one
/// of the command's, where list words may stand, alone.
std::string complaint_about_words(std::string_view text, bool is_argument);

/// The dotted names of all "${config.NAME}" in `text`.
std::vector<std::string> config_names_in(std::string_view text);

}  // namespace tune
