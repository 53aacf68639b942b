// The command line's way to say a spec: a file, options that win over it, `--set` for the rest.
// Knows where a value goes in the spec's JSON, not what it means: parse_spec checks it all.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/tune/spec_options.h"
#include "tuner/plain/command_words.h"
#include "tuner/spec/spec.h"

namespace tune {

struct GivenOption {
  const SpecOption* option;
  std::string value;
};

/// What the command line says of the spec.
struct SpecSource {
  std::string file;                   ///< empty: none
  std::string param_space;            ///< file; empty: none
  std::vector<std::string> domains;   ///< of -p: "lr=loguniform:1e-5,1e-3"
  std::vector<std::string> command;   ///< after "--"; empty: the file's
  std::vector<std::string> sbatch;    ///< the same, where jobs are asked for by --agent-jobs
  std::vector<GivenOption> options;   ///< in the order of `spec_options`
  std::vector<std::string> settings;  ///< of --set: "a/b=json"
  std::vector<std::string> plugins;
  std::vector<std::string> warm_start;  ///< directories of experiments to learn from
};

/// The spec before it is checked, and where its parts come from.
struct SpecDocument {
  Json json;
  std::filesystem::path base;  ///< directory of the file: relative paths in it start there
  std::string label;           ///< for messages: the file as the user named it
  bool is_program = false;     ///< a training program was named where a spec belongs
  bool is_begun = false;       ///< the spec of an experiment that is there, with changes
  TypedNumbers typed = {};     ///< of the param space
  /// Pointers that did not come from the file, and the option they came from; the last wins.
  std::vector<std::pair<std::string, std::string>> origins;
};

/// Error (user) if a file cannot be read or an option has no place in the spec.
SpecDocument assemble_spec(const SpecSource& source);

/// The spec of an experiment that is there, as `label` has it, with what the command line says.
SpecDocument assemble_changes(Json recorded, std::string label, const SpecSource& source);

/// How the program in `file` is started: alone, or by its interpreter; empty if it is none, as far
/// as one can see. A name that is no file here may be that of a program in PATH.
std::vector<std::string> start_of_program(const std::filesystem::path& file);

/// "spec.json: /param_space/lr: sentence", or "--num-samples: sentence".
std::string to_line(const SpecDocument& document, const Problem& problem);

/// The checked spec; nothing, after every problem has been printed to standard error, one a line,
/// if there are any, those that only this machine has included.
std::optional<ExperimentSpec> check_spec(const SpecDocument& document, const Catalogue& catalogue);

/// The same, with the problems for the caller.
std::optional<ExperimentSpec> check_spec(const SpecDocument& document, const Catalogue& catalogue,
                                         std::vector<Problem>& problems);

/// The plugins that it names, absolute.
std::vector<std::filesystem::path> plugins_of(const SpecDocument& document);

/// Prints every problem to standard error, one a line.
void print_problems(const SpecDocument& document, const std::vector<Problem>& problems);

}  // namespace tune
