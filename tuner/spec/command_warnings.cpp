// One function for each kind of warning about what a trial's program is started with.
#include "tuner/spec/command_warnings.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>

#include "tuner/spec/spec_fields.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

namespace {

/// What starts the processes of one program, as num_workers does.
void look_at_launchers(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  static constexpr const char* launchers[] = {
      "torchrun", "torch.distributed.run", "accelerate", "deepspeed", "mpirun", "mpiexec"};
  if (!spec.workers) return;
  for (const std::string& word : spec.command) {
    const std::string name = std::filesystem::path(word).filename();
    if (std::find(std::begin(launchers), std::end(launchers), name) == std::end(launchers)) {
      continue;
    }
    warnings.push_back(
        {"/num_workers", "each of the " + std::to_string(spec.workers->count) +
                             " workers would run " + name +
                             ", which starts several itself: give the command that " + name +
                             " is given, without " + name});
    return;
  }
}

/// By itself each run of Hydra's writes to a directory that is called as its second.
void look_at_hydra(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  if (!spec.plain || spec.plain->directory.empty()) return;
  bool is_hydras = false;
  for (const std::string& word : spec.command) {
    is_hydras = is_hydras || (word.starts_with("${args") && word.find("_hydra") != word.npos);
    if (word.starts_with("hydra.run.dir=") || word.starts_with("hydra.sweep.")) return;
  }
  if (!is_hydras) return;
  warnings.push_back({"/trainable/command",
                      "trials that start in one second share Hydra's outputs/DATE/TIME: put "
                      "\"hydra.run.dir=${trial_dir}/hydra\" into the command"});
}

/// The values that `json` of a param space chooses from: itself, if it is no domain. Empty: it
/// draws from a range.
std::vector<Json> values_of(const Json& json) {
  std::vector<Problem> ignored;
  const auto domain = parse_domain(json, "", ignored);
  if (!domain) return {json};
  if (const auto* const grid = std::get_if<GridSearch>(&*domain)) return grid->values;
  const auto* const choice = std::get_if<Choice>(&*domain);
  return choice != nullptr ? choice->values : std::vector<Json>();
}

/// Whether a config may have true or false there.
bool may_be_boolean(const Json& json) {
  const std::vector<Json> values = values_of(json);
  return std::any_of(values.begin(), values.end(),
                     [](const Json& value) { return value.is_boolean(); });
}

/// Whether a config has Python's words for true and false there, as texts to choose from.
bool is_word_of_python(const Json& json) {
  const std::vector<Json> values = values_of(json);
  return values.size() > 1 && std::all_of(values.begin(), values.end(), [](const Json& value) {
           return value == "True" || value == "False";
         });
}

/// What the list word of the command would make of some hyperparameters.
void look_at_arguments(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  const auto list = spec.plain ? list_word_in(spec.command) : std::nullopt;
  if (!list || !list->prefix.starts_with('-')) return;
  bool is_boolean_said = !list->has_boolean_values;
  for (const auto& [name, domain] : spec.param_space.items()) {
    const std::string pointer = append_pointer("/param_space", name);
    const std::string option = list->prefix + name;
    if (name.starts_with('-')) {
      warnings.push_back(
          {pointer, "the program gets " + option + ": write the name without hyphens"});
    } else if (is_word_of_python(domain)) {
      warnings.push_back({pointer, "True and False are texts here, and the program gets " + option +
                                       "=True: of a flag write true and false"});
    } else if (!is_boolean_said && may_be_boolean(domain)) {
      is_boolean_said = true;
      warnings.push_back(
          {pointer, "the program gets " + option + "=true or " + option +
                        "=false. If it is a flag, as argparse's store_true makes one, put ${" +
                        list->word + "_no_boolean_flags} into the command in the place of ${" +
                        list->word + "}, for " + option + " or " + list->prefix + "no-" + name +
                        " ${" + list->word + "_boolean_optional} (docs/plain.md)"});
    }
  }
}

/// A search over what its program never hears of.
void look_at_not_given(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  for (const std::string& name : not_given(spec).names) {
    std::string pointer = "/param_space/" + name;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    warnings.push_back(
        {pointer, "no word gives the program " + quote(name) + ": put ${config." + name +
                      "} into the command, or ${args} "
                      "for all; a name that begins with '_' is for expressions alone"});
  }
}

/// A program that is told a directory where it wants a file begins anew, perhaps without a word.
void look_at_checkpoint_word(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  if (!spec.plain || !spec.plain->checkpoints || !spec.plain->checkpoints->pattern.empty()) return;
  const auto uses = [](const std::string& text) { return has_word(text, "checkpoint"); };
  const auto& resume = spec.plain->checkpoints->resume;
  const bool is_in_command = std::any_of(spec.command.begin(), spec.command.end(), uses);
  if (!is_in_command && std::none_of(resume.begin(), resume.end(), uses)) return;
  warnings.push_back({is_in_command ? "/trainable/command" : "/trainable/plain/resume",
                      "${checkpoint} is the whole directory ${checkpoint_dir}: if the program goes "
                      "on from a file in it, or from one directory of several, name these, "
                      "\"plain\": {\"checkpoints\": \"last.pt\"} or \"checkpoint-*\""});
}

/// The program would be given an empty text, in each trial.
void look_at_unset_variables(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  if (!spec.plain) return;
  constexpr std::string_view begin = "${envvar:";
  for (std::size_t i = 0; i < spec.command.size(); ++i) {
    const std::string& word = spec.command[i];
    for (std::size_t at = word.find(begin); at != word.npos; at = word.find(begin, at + 1)) {
      const std::size_t end = word.find('}', at);
      const bool is_literal = at > 0 && word[at - 1] == '$';
      if (is_literal || end == word.npos) continue;
      const std::string name = word.substr(at + begin.size(), end - at - begin.size());
      if (std::getenv(name.c_str()) != nullptr) continue;
      warnings.push_back({"/trainable/command/" + std::to_string(i),
                          "the variable " + quote(name) +
                              " is not set here, so the program gets nothing in its place"});
    }
  }
}

/// An option that stands in the command, and that each config gives once more.
void look_at_given_twice(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  const auto list = spec.plain ? list_word_in(spec.command) : std::nullopt;
  if (!list) return;
  const auto begin = spec.command.begin();
  const auto all = std::find(begin, spec.command.end(), "${" + list->word + "}");
  for (const auto& [name, domain] : spec.param_space.items()) {
    const std::string option = list->prefix + name;
    const auto names_it = [&](const std::string& word) {
      return (!list->prefix.empty() && word == option) || word.starts_with(option + "=");
    };
    const auto found = std::find_if(begin, spec.command.end(), names_it);
    if (found == spec.command.end()) continue;
    const auto next = std::next(found);
    const bool has_next =
        *found == option && next != spec.command.end() && next != all && !next->starts_with('-');
    const std::string fixed = *found + (has_next ? " " + *next : "");
    if (fixed.find("${config.") != fixed.npos) continue;  // it is the config's own value
    const bool is_searched_last = found < all;
    warnings.push_back(
        {append_pointer("/param_space", name),
         "the command has " + quote(fixed) + " itself, and ${" + list->word +
             "} gives the program " + option + " once more, " +
             (is_searched_last ? "behind" : "in front of") +
             " that. Most programs take the last one, so " +
             (is_searched_last
                  ? "what the command has counts for nothing"
                  : "all trials have what the command has, and nothing is searched here") +
             ": leave one of both out"});
  }
}

}  // namespace

void add_command_warnings(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  look_at_launchers(spec, warnings);
  look_at_hydra(spec, warnings);
  look_at_arguments(spec, warnings);
  look_at_given_twice(spec, warnings);
  look_at_not_given(spec, warnings);
  look_at_checkpoint_word(spec, warnings);
  look_at_unset_variables(spec, warnings);
}

}  // namespace tune
