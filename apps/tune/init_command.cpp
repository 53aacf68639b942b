// `tune init`: writes a spec to start from, or one about a program that says its options itself.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "apps/tune/program_help.h"
#include "apps/tune/schemas.h"
#include "apps/tune/sweep_file.h"
#include "tuner/core/clean_text.h"
#include "tuner/core/error.h"
#include "tuner/plain/command_words.h"
#include "tuner/plain/domain_guess.h"
#include "tuner/plain/help_reader.h"
#include "tuner/space/domain.h"
#include "tuner/spec/spec_comment.h"
#include "tuner/spec/sweep_spec.h"
#include "tuner/store/file_system.h"

namespace tune {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view starter = R"(// An experiment: what to run, what to try, what counts.
//   tune validate FILE    is it right?       tune preview FILE    what would it do?
//   tune run FILE         do it
{
  // The training program, started once for each trial. It is given its config and reports metrics
  // over a socket: a few lines with the trainable library, or by the protocol in any language.
  "trainable": {"command": ["python3", "train.py"]},

  // How each hyperparameter is drawn. Plain values are passed on as they are.
  "param_space": {
    "lr": {"loguniform": [1e-4, 1e-1]},
    "layers": {"choice": [1, 2, 3]},
    "dropout": {"uniform": [0.0, 0.5]},
    "batch_size": 64
  },

  // The metric that counts, as the program reports it, and which values of it are better.
  "metric": "loss",
  "mode": "min",

  // How many configs to draw, and from what seed.
  "num_samples": 20,
  "seed": 0,

  // What each trial takes; as many run at one time as fit on this machine.
  "resources_per_trial": {"cpu": 1},

  // A trial ends after so many iterations.
  "stop": {"training_iteration": 50},

  // When to save, and how many of a trial's checkpoints to keep: the best two and the latest.
  "checkpoint_config": {"checkpoint_frequency": 10, "num_to_keep": 2},

  // A failed trial is tried again so often, from its latest checkpoint.
  "failure_config": {"max_failures": 1}
}
)";

/// An option with what is proposed for it.
struct Proposed {
  HelpOption option;
  std::string name;  ///< in the config
  DomainGuess guess;
  bool is_active = false;  ///< searched as it stands
};

/// The program with its options, as far as a spec is about them.
struct Proposal {
  std::vector<std::string> command;  ///< as it stands in the spec
  std::vector<Proposed> numbers;     ///< and choices; those with a domain
  std::vector<Proposed> flags;
  std::vector<Proposed> directories;
  std::vector<std::string> wanted;    ///< required, without a domain
  std::vector<std::string> left_out;  ///< no hyperparameters
  std::vector<std::string> unknown;
  std::vector<std::string> positionals;
  std::vector<std::string> commands;
};

/// At most `most` bytes of `text`, which is cut between characters.
std::string cut_to(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most < 3 ? 0 : most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

/// "--a, --b", and how many more there are where that would fill pages.
std::string listed(const std::vector<std::string>& items) {
  constexpr std::size_t most_items = 200;
  std::string text;
  for (std::size_t i = 0; i < std::min(items.size(), most_items); ++i) {
    text += (i == 0 ? "" : ", ") + items[i];
  }
  if (items.size() > most_items) {
    text += " and " + std::to_string(items.size() - most_items) + " more";
  }
  return text;
}

std::string in_quotes(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : ", ") + in_quotes(word);
  return "[" + text + "]";
}

/// A line of the param space; what is said of the option stands behind it, where it can stay.
std::string space_line(const Proposed& one, bool with_comma) {
  const std::string code = std::string("    ") + (one.is_active ? "" : "// ") +
                           in_quotes(one.name) + ": " + one.guess.domain + (with_comma ? "," : "");
  constexpr std::size_t least_text = 12;
  const std::string& text = one.option.text;
  if (text.empty() || code.size() + 5 + least_text > page_columns) return code + "\n";
  const std::size_t room = page_columns - code.size() - 5;
  // The default stands at its end, where it would be cut off.
  const std::string before = text.substr(0, std::min(text.find("(default"), text.find("[default")));
  const std::string tail = " (default: " + one.option.default_value.value_or("") + ")";
  const bool has_tail =
      text.size() > room && one.option.default_value && tail.size() + least_text <= room;
  return code + "  // " +
         (has_tail ? cut_to(trimmed(before), room - tail.size()) + tail : cut_to(text, room)) +
         "\n";
}

// What is proposed

/// Options that the user gives in the command have their value.
std::set<std::string> names_given(const std::vector<std::string>& arguments) {
  std::set<std::string> names;
  for (const std::string& word : arguments) names.insert(word.substr(0, word.find('=')));
  return names;
}

bool has_number(const Proposed& one) {
  return one.guess.role == OptionRole::learning_rate ||
         one.guess.domain.find('"', one.guess.domain.find(':')) == std::string::npos;
}

/// What is required, and what says most: the learning rate, or else the first number.
void choose_active(std::vector<Proposed>& numbers) {
  const auto activate_first = [&numbers](auto&& is_wanted) {
    const auto found = std::find_if(numbers.begin(), numbers.end(), is_wanted);
    if (found != numbers.end()) found->is_active = true;
    return found != numbers.end();
  };
  const auto is_rate = [](const Proposed& one) {
    return one.guess.role == OptionRole::learning_rate;
  };
  if (!activate_first(is_rate) && !activate_first(has_number)) {
    activate_first([](const Proposed&) { return true; });
  }
  for (Proposed& one : numbers) one.is_active = one.is_active || one.option.is_required;
  // Then each line may have a comma but the last one.
  std::stable_partition(numbers.begin(), numbers.end(),
                        [](const Proposed& one) { return !one.is_active; });
}

void sort_in(const HelpOption& option, Proposal& proposal) {
  Proposed one{option, "", guess_domain(option), false};
  const auto name = name_for_args(option);
  const std::string shown = name ? "--" + *name : option.names.front();
  const auto& domains = domain_names();
  // "--choice" would make a domain of the whole param space.
  const bool is_named = name && std::find(domains.begin(), domains.end(), *name) == domains.end();
  one.name = name.value_or("");
  switch (one.guess.role) {
    case OptionRole::learning_rate:
    case OptionRole::hyperparameter:
      if (is_named) {
        proposal.numbers.push_back(std::move(one));
        return;
      }
      break;
    case OptionRole::flag:
      if (is_named) {
        // Of one that is there by default, what can be tried is its opposite.
        const std::string value = option.default_value.value_or("");
        if (option.has_opposite && (value == "True" || value == "true" || value == *name)) {
          one.name.insert(0, "no-");
        }
        proposal.flags.push_back(std::move(one));
        return;
      }
      break;
    case OptionRole::directory:
      if (name) proposal.directories.push_back(one);
      break;
    case OptionRole::other:
    case OptionRole::unknown:
      break;
  }
  if (option.is_required) {
    proposal.wanted.push_back(shown);
  } else if (one.guess.role == OptionRole::other || one.guess.role == OptionRole::directory) {
    proposal.left_out.push_back(shown);
  } else {
    proposal.unknown.push_back(shown);
  }
}

Proposal proposal_of(const ProgramHelp& help, std::vector<std::string> command,
                     const std::vector<std::string>& arguments) {
  Proposal proposal;
  proposal.command = std::move(command);
  proposal.positionals = help.positionals;
  proposal.commands = help.commands;
  const auto given = names_given(arguments);
  for (const HelpOption& option : help.options) {
    const bool is_given =
        std::any_of(option.names.begin(), option.names.end(),
                    [&](const std::string& name) { return given.contains(name); });
    if (!is_given) sort_in(option, proposal);
  }
  choose_active(proposal.numbers);
  return proposal;
}

// The spec's text

std::string trainable_text(const Proposal& proposal, const InitRequest& request) {
  std::string text = comment_lines(
      "  ",
      "The program, started once for each trial: \"${args}\" stands for its config as arguments, "
      "--lr=0.1 --layers=2. Its metrics are read from what it prints.");
  const auto note = [&text](const std::string& sentence) { text += comment_lines("  ", sentence); };
  if (!proposal.positionals.empty() && request.arguments.empty()) {
    note("It takes arguments without a name: " + listed(proposal.positionals) +
         ". Write them in front of \"${args}\".");
  }
  if (!proposal.wanted.empty()) {
    note("It does not start without " + listed(proposal.wanted) +
         ". Write them with their values in front of \"${args}\".");
  }
  if (!proposal.commands.empty() && request.arguments.empty()) {
    note("It has commands of its own, with options that are not here: " +
         listed(proposal.commands) + ".");
  }
  for (const Proposed& one : proposal.directories) {
    note("Trials that write to one place would overwrite each other: \"--" + one.name +
         "=${trial_dir}/" + one.name + "\" in the command gives each a directory.");
  }
  return text + "  \"trainable\": {\"command\": " + command_text(proposal.command) +
         ", \"plain\": {}},\n";
}

std::string space_text(const Proposal& proposal) {
  std::string text;
  if (proposal.numbers.size() + proposal.flags.size() > 0) {
    text += comment_lines("  ",
                          "What to search, guessed from names and defaults: look at each line, and "
                          "take the slashes away in front of what is to be searched, too.");
  } else {
    text += comment_lines("  ", "No option was found that has a number or a choice.");
  }
  const auto note = [&text](const std::string& what, const std::vector<std::string>& items) {
    if (!items.empty()) text += comment_lines("  ", what + listed(items) + ".");
  };
  note("Left out, as no hyperparameters: ", proposal.left_out);
  note("Of these the help does not say enough: ", proposal.unknown);
  text += "  \"param_space\": {\n";
  const bool has_active = !proposal.numbers.empty();
  if (!proposal.flags.empty()) {
    text += comment_lines("    ",
                          "Flags, which are there or not, need \"${args_no_boolean_flags}\" in the "
                          "place of \"${args}\".");
  }
  for (const Proposed& flag : proposal.flags) {
    text += space_line(flag, has_active || &flag != &proposal.flags.back());
  }
  if (!proposal.flags.empty() && has_active) text += "\n";
  for (const Proposed& one : proposal.numbers) {
    text += space_line(one, &one != &proposal.numbers.back());
  }
  return text + "  },\n";
}

/// Which values are better, by what such metrics are called; nothing if there is no telling.
std::optional<std::string> mode_by_name(const std::string& metric) {
  std::string name = metric;
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto has = [&name](const std::vector<std::string_view>& words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return name.find(word) != name.npos; });
  };
  if (has({"loss", "err", "mse", "mae", "perplexity", "ppl", "nll", "latency"})) return "min";
  if (has({"acc", "auc", "f1", "score", "precision", "recall", "r2", "reward", "bleu", "iou"})) {
    return "max";
  }
  return std::nullopt;
}

std::string objective_text(const InitRequest& request, const std::string& mode) {
  const std::string metric = request.metric.empty() ? "loss" : request.metric;
  return comment_lines("  ", request.metric.empty()
                                 ? "Say which metric counts, by the name with which the program "
                                   "prints it, and which values of it are better: loss is a guess."
                                 : "The metric that counts, by the name with which the program "
                                   "prints it, and which values of it are better.") +
         "  \"metric\": " + in_quotes(metric) + ",\n  \"mode\": " + in_quotes(mode) + ",\n";
}

constexpr std::string_view rest_of_spec = R"(
  // How many configs to draw, and from what seed.
  "num_samples": 20,
  "seed": 0,

  // "asha" ends trials early that do worse, if the program prints the metric again and again.
  "scheduler": "fifo",

  // What each trial takes; as many run at one time as fit on this machine.
  "resources_per_trial": {"cpu": 1}
}
)";

std::string spec_text(const Proposal& proposal, const InitRequest& request,
                      const std::string& mode) {
  return "// Made of what " + clean_text(request.from) +
         " says of itself. Nothing of it has been tried.\n"
         "//   tune validate FILE    is it right?       tune preview FILE    what would it do?\n"
         "//   tune run FILE         do it\n"
         "{\n" +
         trainable_text(proposal, request) + "\n" + space_text(proposal) + "\n" +
         objective_text(request, mode) + std::string(rest_of_spec);
}

// The program

/// The last lines of what it has printed, to stand behind a sentence.
std::string last_lines(const std::string& text) {
  constexpr std::size_t most_lines = 6;
  constexpr std::size_t most_columns = 200;
  std::vector<std::string> lines;
  std::size_t end = text.size();
  while (end > 0 && lines.size() < most_lines) {
    const std::size_t newline = text.rfind('\n', end - 1);
    const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
    // Of one that never ends only the beginning is looked at.
    const std::string line = clean_text(text.substr(begin, std::min(end - begin, most_columns)));
    if (!trimmed(line).empty()) lines.push_back(line);
    end = newline == std::string::npos ? 0 : newline;
  }
  if (lines.empty()) return "; it printed nothing";
  std::string out = "; it printed last:";
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) out += "\n  " + *line;
  return out;
}

/// Error (user) with what has come instead, if there is nothing to go by.
ProgramHelp help_of(const std::vector<std::string>& start, const InitRequest& request) {
  std::vector<std::string> argv = start;
  argv.insert(argv.end(), request.arguments.begin(), request.arguments.end());
  argv.emplace_back("--help");
  std::string asked;
  for (const std::string& word : argv) asked += (asked.empty() ? "" : " ") + shell_word(word);
  const Printed printed = printed_by(argv, request.timeout_s);
  char limit[32];
  std::snprintf(limit, sizeof limit, "%.6g", request.timeout_s);
  if (printed.is_late) {
    throw user_error("'" + asked + "' had not ended after " + limit +
                     " s and was killed: either it does not know --help, or it needs more "
                     "(--timeout)" +
                     last_lines(printed.text));
  }
  ProgramHelp help = read_help(printed.text);
  // Some exit with 1 after their help (absl), so what counts is what they say.
  if (!help.options.empty() || !help.commands.empty()) return help;
  const std::string end = printed.is_cut ? "was killed after 1 MiB of it"
                          : printed.signal != 0
                              ? "was ended by signal " + std::to_string(printed.signal)
                              : "exited with code " + std::to_string(printed.exit_code);
  throw user_error("no options were found in what '" + asked + "' printed, which " + end +
                   last_lines(printed.text));
}

/// `word` as a spec in `directory` means it: files there by their relative path.
std::string seen_from(const std::string& word, const fs::path& directory, bool is_program) {
  std::error_code ignored;
  if (!fs::is_regular_file(word, ignored) || fs::path(word).is_absolute()) return word;
  if (!fs::equivalent(directory, fs::current_path(), ignored)) return fs::absolute(word).string();
  // A bare name is looked up in PATH.
  return is_program && word.find('/') == std::string::npos ? "./" + word : word;
}

std::vector<std::string> command_for_spec(const std::vector<std::string>& start,
                                          const InitRequest& request) {
  const fs::path file = request.file == "-" ? fs::path("spec.json") : fs::path(request.file);
  const fs::path directory = fs::absolute(file).parent_path();
  std::vector<std::string> command;
  // Either an interpreter and the script, or the program itself.
  if (start.size() > 1) command.push_back(start.front());
  command.push_back(seen_from(request.from, directory, start.size() == 1));
  for (const std::string& word : request.arguments) {
    command.push_back(seen_from(word, directory, false));
  }
  if (std::none_of(command.begin(), command.end(),
                   [](const std::string& word) { return brings_config(word); })) {
    command.emplace_back("${args}");
  }
  return command;
}

std::string mode_of(const InitRequest& request) {
  if (!request.mode.empty()) return request.mode;
  if (request.metric.empty()) return "min";
  if (const auto mode = mode_by_name(request.metric)) return *mode;
  throw user_error("--mode min or --mode max: which values of " + request.metric + " are better?");
}

std::string proposed_spec(const InitRequest& request) {
  const std::string mode = mode_of(request);
  std::error_code ignored;
  if (!fs::exists(request.from, ignored)) {
    throw user_error("there is no file '" + request.from + "'");
  }
  const auto start = start_of_program(request.from);
  if (start.empty()) {
    throw user_error("'" + request.from +
                     "' is no program that could be started: neither a script with a known ending, "
                     "nor something that can be executed");
  }
  const ProgramHelp help = help_of(start, request);
  const Proposal proposal = proposal_of(help, command_for_spec(start, request), request.arguments);
  if (proposal.numbers.empty() && !help.commands.empty() && request.arguments.empty()) {
    const bool has_train =
        std::find(help.commands.begin(), help.commands.end(), "train") != help.commands.end();
    throw user_error(request.from + " has commands, each with options of its own (" +
                     listed(help.commands) + "): name one behind two hyphens, tune init --from " +
                     shell_word(request.from) + " -- " +
                     shell_word(has_train ? "train" : help.commands.front()));
  }
  return spec_text(proposal, request, mode);
}

/// Of another tool, which keeps a search in such a file.
bool is_sweep_file(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml");
}

SweepSpec spec_of_file(const InitRequest& request) {
  for (const auto& [name, is_given] :
       {std::pair("--metric", !request.metric.empty()), std::pair("--mode", !request.mode.empty()),
        std::pair("what stands behind '--'", !request.arguments.empty())}) {
    if (is_given)
      throw user_error(std::string(name) + " is for programs: " + request.from + " says it");
  }
  return spec_of_sweep(read_sweep_file(request.from), request.from);
}

void refuse_to_overwrite(const std::string& file) {
  throw user_error(file + " exists already and is left as it is: give another name");
}

}  // namespace

int init_command(const InitRequest& given) {
  InitRequest request = given;
  if (request.file.empty()) request.file = request.skill ? "SKILL.md" : "spec.json";
  const bool is_about_program = !request.from.empty();
  if (!is_about_program) {
    for (const auto& [name, is_given] :
         {std::pair("--metric", !request.metric.empty()),
          std::pair("--mode", !request.mode.empty()),
          std::pair("what stands behind '--'", !request.arguments.empty())}) {
      if (is_given) throw user_error(std::string(name) + " goes with --from PROGRAM");
    }
  }
  const bool is_shown = request.file == "-";
  if (is_shown && request.json) {
    throw user_error("--json says which file was written: with standard output leave it out");
  }
  std::error_code ignored;
  // Before a program is run for nothing.
  if (!is_shown && fs::exists(fs::symlink_status(request.file, ignored))) {
    refuse_to_overwrite(request.file);
  }
  SweepSpec spec;
  if (request.skill) {
    spec.text = skill_text();
  } else if (is_sweep_file(request.from)) {
    spec = spec_of_file(request);
  } else {
    spec.text = is_about_program ? proposed_spec(request) : std::string(starter);
  }
  if (is_shown) {
    print_data(spec.text);
    return exit_ok;
  }
  const auto files = make_posix_file_system();
  if (!files->create_exclusive(request.file, spec.text)) refuse_to_overwrite(request.file);
  if (request.json) {
    print_json({{"file", fs::absolute(request.file).lexically_normal().string()},
                {"not_the_same", spec.losses}});
    return exit_ok;
  }
  if (request.skill) {
    print("wrote " + request.file + "\n");
    return exit_ok;
  }
  const std::string word = shell_word(request.file);
  for (const std::string& loss : spec.losses) print("not the same: " + clean_text(loss) + "\n");
  print("wrote " + request.file + "; edit it, then: tune validate " + word + "; tune preview " +
        word + "; tune run " + word + "\n");
  return exit_ok;
}

}  // namespace tune
