// Sorts a program's options into hyperparameters, checkpoint options and the rest, and writes the
// proposed spec as commented JSON.
#include "apps/tune/init_proposal.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/init_from/domain_guess.h"
#include "tuner/plain/command_words.h"
#include "tuner/space/domain.h"
#include "tuner/spec/spec_comment.h"

namespace tune {

std::string word_for(OptionForm form) {
  if (form == OptionForm::two_hyphens) return "args";
  return form == OptionForm::single_hyphen ? "args_single_hyphen_no_equals" : "args_no_hyphens";
}

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

namespace {

/// An option with what is proposed for it.
struct Proposed {
  HelpOption option;
  std::string name;  ///< in the config
  DomainGuess guess;
  bool is_active = false;  ///< searched as it stands
};

/// What the program does not start without, and has no domain.
struct Wanted {
  std::string shown;               ///< as its user writes it
  std::vector<std::string> words;  ///< of the command
};

/// The program with its options, as far as a spec is about them.
struct Proposal {
  std::vector<std::string> command;  ///< as it stands in the spec
  std::vector<Proposed> numbers;     ///< and choices; those with a domain
  std::vector<Proposed> flags;
  std::vector<Proposed> directories;
  std::vector<Wanted> wanted;
  std::vector<std::string> left_out;  ///< no hyperparameters
  std::vector<std::string> unknown;
  std::vector<std::string> several;  ///< take several values
  std::vector<std::string> saves;    ///< may name where the program saves, and goes on from
  std::string save_name;             ///< of the first of them
  std::vector<HelpOption> resumes;   ///< tell the program to go on, perhaps from what they name
  std::vector<std::string> positionals;
  std::vector<std::string> commands;
  OptionForm form = OptionForm::two_hyphens;
};

/// The option as it stands in a command.
std::string shown_option(const std::string& name, OptionForm form) {
  const char* const hyphens = form == OptionForm::two_hyphens     ? "--"
                              : form == OptionForm::single_hyphen ? "-"
                                                                  : "";
  return hyphens + name;
}

/// At most `most` bytes of `text`, which is cut between characters.
std::string cut_to(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most < 3 ? 0 : most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string in_quotes(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string command_text(const std::vector<std::string>& command) {
  std::string text;
  for (const std::string& word : command) text += (text.empty() ? "" : ", ") + in_quotes(word);
  return "[" + text + "]";
}

/// Where a value is to be written. An option of one hyphen has it as a word of its own.
Wanted wanted_of(const HelpOption& option, const std::optional<std::string>& name,
                 OptionForm form) {
  const std::string shown = name ? shown_option(*name, form) : option.names.front();
  const std::string value = "${" + std::string(word_to_fill_in) + "}";
  if (!option.takes_value) return {shown, {shown}};
  if (name && form != OptionForm::single_hyphen) return {shown, {shown + "=" + value}};
  return {shown, {shown, value}};
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

/// Whether one of them may be an argument without a name.
bool has_word_without_option(const std::vector<std::string>& arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return !word.starts_with('-'); });
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

/// Whether the option may name a directory that the program saves in, and goes on from.
bool names_saves(const std::string& name, const DomainGuess& guess, const HelpOption& option) {
  if (!option.takes_value || !option.choices.empty()) return false;
  if (option.type != ValueType::unknown || number_in(option.default_value.value_or("")))
    return false;
  static const std::set<std::string> alone = {"checkpoint", "checkpoints", "ckpt"};
  static constexpr std::string_view parts[] = {"out", "save", "checkpoint", "ckpt", "model"};
  std::string plain = name;
  for (const std::string_view ending : {"-path", "_path", "-dir", "_dir", "-from", "_from"}) {
    if (plain.ends_with(ending)) plain.resize(plain.size() - ending.size());
  }
  return alone.contains(plain) ||
         (guess.role == OptionRole::directory &&
          std::any_of(std::begin(parts), std::end(parts),
                      [&](std::string_view part) { return name.find(part) != name.npos; }));
}

/// Whether the option tells the program to go on from a checkpoint.
bool names_resume(const std::string& name, const HelpOption& option) {
  if (!option.choices.empty() || number_in(option.default_value.value_or(""))) return false;
  static constexpr std::string_view words[] = {"resume", "restore", "restart"};
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return name.find(word) != name.npos; });
}

void sort_in(const HelpOption& option, Proposal& proposal) {
  Proposed one{option, "", guess_domain(option), false};
  const auto name = name_for_args(option, proposal.form);
  const std::string shown = name ? shown_option(*name, proposal.form) : option.names.front();
  if (option.takes_several && one.guess.role == OptionRole::unknown) {
    proposal.several.push_back(shown);
  }
  if (name && names_resume(*name, option)) {
    proposal.resumes.push_back(option);
  } else if (name && names_saves(*name, one.guess, option)) {
    if (proposal.saves.empty()) proposal.save_name = *name;
    proposal.saves.push_back(shown);
  }
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
    proposal.wanted.push_back(wanted_of(option, name, proposal.form));
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
  proposal.form = help.form;
  proposal.positionals = help.positionals;
  if (!has_word_without_option(arguments)) {
    for (const std::string& name : help.required_positionals) {
      proposal.wanted.push_back({name, {"${" + std::string(word_to_fill_in) + "}"}});
      std::erase(proposal.positionals, name);
    }
  }
  proposal.commands = help.commands;
  const auto given = names_given(arguments);
  for (const HelpOption& option : help.options) {
    const bool is_given =
        std::any_of(option.names.begin(), option.names.end(),
                    [&](const std::string& name) { return given.contains(name); });
    if (!is_given) sort_in(option, proposal);
  }
  choose_active(proposal.numbers);
  const auto place = std::find_if(proposal.command.begin(), proposal.command.end(),
                                  [](const std::string& word) { return brings_config(word); });
  std::vector<std::string> words;
  for (const Wanted& one : proposal.wanted) {
    words.insert(words.end(), one.words.begin(), one.words.end());
  }
  proposal.command.insert(place, words.begin(), words.end());
  return proposal;
}

// The spec's text

std::string example_of(OptionForm form) {
  if (form == OptionForm::two_hyphens) return "--lr=0.1 --layers=2";
  return form == OptionForm::single_hyphen ? "-lr 0.1 -layers 2" : "lr=0.1 layers=2";
}

/// An option with its value, as words of a command.
std::string given_as(const std::string& name, const std::string& value, OptionForm form) {
  const std::string option = shown_option(name, form);
  if (form == OptionForm::single_hyphen) return "\"" + option + "\", \"" + value + "\"";
  return "\"" + option + "=" + value + "\"";
}

/// How the program is told to go on from one of its checkpoints.
std::string resume_note(const Proposal& proposal) {
  const HelpOption& option = proposal.resumes.front();
  const std::string shown =
      shown_option(name_for_args(option, proposal.form).value_or(""), proposal.form);
  Json words = Json::array({shown});
  if (option.takes_value && proposal.form == OptionForm::no_hyphens) {
    words = Json::array({shown + "=${checkpoint}"});
  } else if (option.takes_value) {
    words.push_back("${checkpoint}");
  }
  const std::string place =
      proposal.saves.empty() ? "\"working_directory\": \"trial\", " : std::string();
  return "To go on it needs " + shown + ": {" + place +
         "\"checkpoints\": \"NAME\", \"resume\": " + words.dump() +
         "} as \"plain\" gives it that, with the latest one that it has saved" +
         (proposal.saves.empty() ? " where it runs" : "") +
         ". NAME is what it saves, \"last.pt\" or \"epoch-*\".";
}

std::vector<std::string> names_of(const std::vector<Wanted>& wanted) {
  std::vector<std::string> names;
  for (const Wanted& one : wanted) names.push_back(one.shown);
  return names;
}

std::string trainable_text(const Proposal& proposal, const InitRequest& request) {
  std::string text = comment_lines(
      "  ", "The program, started once for each trial: \"${" + word_for(proposal.form) +
                "}\" stands for its config as arguments, " + example_of(proposal.form) +
                ". Its metrics are read from what it prints.");
  const auto note = [&text](const std::string& sentence) { text += comment_lines("  ", sentence); };
  if (!proposal.positionals.empty() && request.arguments.empty()) {
    note("It takes arguments without a name, too: " + listed(proposal.positionals) +
         ". Write them in front of \"${" + word_for(proposal.form) + "}\".");
  }
  if (!proposal.wanted.empty()) {
    note("It does not start without " + listed(names_of(proposal.wanted)) +
         ". Write a value wherever ${" + std::string(word_to_fill_in) + "} stands.");
  }
  if (!proposal.commands.empty() && request.arguments.empty()) {
    note("It has commands of its own, with options that are not here: " +
         listed(proposal.commands) + ".");
  }
  for (const Proposed& one : proposal.directories) {
    note("Trials that write to one place would overwrite each other: " +
         given_as(one.name, "${trial_dir}/" + one.name, proposal.form) +
         " in the command gives each a directory.");
  }
  if (!proposal.saves.empty()) {
    note("If it saves in the directory of " + listed(proposal.saves) + ", " +
         (proposal.resumes.empty() ? "and goes on from what it finds there, " : "") +
         given_as(proposal.save_name, "${checkpoint_dir}", proposal.form) +
         " in the command makes that its trials' checkpoints, which they are paused, retried and "
         "cloned with.");
  }
  if (!proposal.resumes.empty()) note(resume_note(proposal));
  return text + "  \"trainable\": {\"command\": " + command_text(proposal.command) +
         ", \"plain\": {}},\n";
}

std::string space_text(const Proposal& proposal) {
  std::string text;
  const std::string word = word_for(proposal.form);
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
  if (!proposal.several.empty()) {
    text +=
        comment_lines("  ", "Several values, as of " + listed(proposal.several) +
                                ", are a list in the config, {\"choice\": [[64], [64, 64]]}, and "
                                "need \"${" +
                                word + "_nargs}\" in the place of \"${" + word + "}\".");
  }
  text += "  \"param_space\": {\n";
  const bool has_active = !proposal.numbers.empty();
  const auto with_opposite =
      std::count_if(proposal.flags.begin(), proposal.flags.end(),
                    [](const Proposed& flag) { return flag.option.has_opposite; });
  const auto needs = [&](const std::string& which, const std::string& ending) {
    text += comment_lines(
        "    ", which + " need \"${" + word + ending + "}\" in the place of \"${" + word + "}\".");
  };
  const bool are_all = with_opposite == std::ssize(proposal.flags);
  if (!are_all) needs("Flags, which are there or not,", "_no_boolean_flags");
  if (with_opposite > 0) needs("Flags with an opposite, --no-...,", "_boolean_optional");
  if (with_opposite > 0 && !are_all) {
    text += comment_lines("    ", "No one word is right for both kinds: search those of one.");
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

}  // namespace

std::optional<ProposedSpec> proposed_spec(const ProgramHelp& help, std::vector<std::string> command,
                                          const InitRequest& request, const std::string& mode) {
  const Proposal proposal = proposal_of(help, std::move(command), request.arguments);
  if (proposal.numbers.empty() && !help.commands.empty() && request.arguments.empty()) {
    return std::nullopt;
  }
  ProposedSpec spec;
  spec.text =
      "// Made of what " + clean_text(request.from) +
      " says of itself. Nothing of it has been tried.\n"
      "//   tune validate FILE    is it right?       tune preview FILE    what would it do?\n"
      "//   tune run FILE         do it\n"
      "{\n" +
      trainable_text(proposal, request) + "\n" + space_text(proposal) + "\n" +
      objective_text(request, mode) + std::string(rest_of_spec);
  for (const Wanted& one : proposal.wanted) {
    const bool has_place = one.words.back().find(word_to_fill_in) != std::string::npos;
    if (has_place) spec.to_fill_in.push_back(one.shown);
  }
  return spec;
}

}  // namespace tune
