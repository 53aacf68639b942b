// Reads a program's options out of its help text, as argparse, click, typer, absl, Go's flag and
// programs in C print it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tune {

/// What kind of value an option takes, as far as the help says.
enum class ValueType { unknown, integer, real, boolean };

struct HelpOption {
  std::vector<std::string> names;  ///< as they are printed, "-b", "--batch-size"; at least one
  bool takes_value = false;        ///< else it is a flag
  bool takes_several = false;      ///< as words of their own: "--hidden 64 64"
  bool has_opposite = false;       ///< a flag with "--no-NAME" beside it
  bool is_required = false;
  ValueType type = ValueType::unknown;
  std::vector<std::string> choices;  ///< empty: any value
  std::optional<std::string> default_value;
  std::optional<double> lower;  ///< of its values, included; as click says it
  std::optional<double> upper;
  std::string text;  ///< what is said of it, in one line, with its default
};

/// How a program takes its options.
enum class OptionForm {
  two_hyphens,    ///< --lr=0.1
  single_hyphen,  ///< -lr 0.1
  no_hyphens,     ///< lr=0.1: Hydra, whose options have names without any
};

struct ProgramHelp {
  std::vector<HelpOption> options;  ///< without those for help and version
  std::vector<std::string> positionals;
  std::vector<std::string> required_positionals;  ///< those of them without which it does not start
  std::vector<std::string> commands;              ///< each with options of its own
  OptionForm form = OptionForm::two_hyphens;
};

/// The options in `text`, which may be any text: if it is no help, none are found.
ProgramHelp read_help(std::string_view text);

/// The name by which `${args}`, or the word for that form, gives the option: without its hyphens;
/// nothing if it has none.
std::optional<std::string> name_for_args(const HelpOption& option, OptionForm form);

/// `text` as a number, if all of it is a finite one.
std::optional<double> number_in(std::string_view text);

}  // namespace tune
