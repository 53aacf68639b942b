// `tune init`: writes a spec to start from, or one about a program that says its options itself.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/tune/commands.h"
#include "apps/tune/init_proposal.h"
#include "apps/tune/output.h"
#include "apps/tune/program_help.h"
#include "apps/tune/schemas.h"
#include "apps/tune/sweep_file.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/disk/file_system.h"
#include "tuner/init_from/help_reader.h"
#include "tuner/plain/command_words.h"
#include "tuner/spec/sweep_spec.h"

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
    throw user_error(as_quoted(asked) + " had not ended after " + limit +
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
  throw user_error("no options were found in what " + as_quoted(asked) + " printed, which " + end +
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
                                          const InitRequest& request, OptionForm form) {
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
    command.emplace_back("${" + word_for(form) + "}");
    // Else trials that start in one second share a directory.
    if (form == OptionForm::no_hyphens) command.emplace_back("hydra.run.dir=${trial_dir}/hydra");
  }
  return command;
}

std::string mode_of(const InitRequest& request) {
  if (!request.mode.empty()) return request.mode;
  if (request.metric.empty()) return "min";
  if (const auto mode = mode_by_name(request.metric)) return *mode;
  throw user_error("--mode min or --mode max: which values of " + request.metric + " are better?");
}

ProposedSpec spec_of_program(const InitRequest& request) {
  const std::string mode = mode_of(request);
  const auto start = start_of_program(request.from);
  std::error_code ignored;
  if (start.size() != 1 && !fs::exists(request.from, ignored)) {
    throw user_error("there is no file " + as_quoted(request.from));
  }
  if (start.empty()) {
    throw user_error(as_quoted(request.from) +
                     " is no program that could be started: neither a script with a known ending, "
                     "nor something that can be executed");
  }
  const ProgramHelp help = help_of(start, request);
  if (auto spec = proposed_spec(help, command_for_spec(start, request, help.form), request, mode)) {
    return *std::move(spec);
  }
  const bool has_train =
      std::find(help.commands.begin(), help.commands.end(), "train") != help.commands.end();
  throw user_error(request.from + " has commands, each with options of its own (" +
                   listed(help.commands) + "): name one behind two hyphens, tune init --from " +
                   shell_word(request.from) + " -- " +
                   shell_word(has_train ? "train" : help.commands.front()));
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
  std::vector<std::string> to_fill_in;
  if (request.skill) {
    spec.text = skill_text();
  } else if (is_sweep_file(request.from)) {
    spec = spec_of_file(request);
  } else if (is_about_program) {
    ProposedSpec proposed = spec_of_program(request);
    spec.text = std::move(proposed.text);
    to_fill_in = std::move(proposed.to_fill_in);
  } else {
    spec.text = starter;
  }
  if (is_shown) {
    print_data(spec.text);
    return exit_ok;
  }
  const auto files = make_posix_file_system();
  if (!files->create_exclusive(request.file, spec.text)) refuse_to_overwrite(request.file);
  if (request.json) {
    print_json({{"file", fs::absolute(request.file).lexically_normal().string()},
                {"not_the_same", spec.losses},
                {"to_fill_in", to_fill_in}});
    return exit_ok;
  }
  if (request.skill) {
    print("wrote " + request.file + "\n");
    return exit_ok;
  }
  const std::string word = shell_word(request.file);
  for (const std::string& loss : spec.losses) print("not the same: " + clean_text(loss) + "\n");
  const std::string edits =
      to_fill_in.empty() ? "edit it"
                         : "edit it, and write what " + request.from + " needs in the place of ${" +
                               std::string(word_to_fill_in) + "} (" + listed(to_fill_in) + ")";
  print("wrote " + request.file + "; " + edits + ", then: tune validate " + word +
        "; tune preview " + word + "; tune run " + word + "\n");
  return exit_ok;
}

}  // namespace tune
