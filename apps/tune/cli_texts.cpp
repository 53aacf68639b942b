// Writes manual pages (troff) and completes words for a shell, both from CommandText.
#include "apps/tune/cli_texts.h"

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/version.h"

namespace tune {

namespace {

namespace fs = std::filesystem;

std::vector<const OptionText*> options_of(const CommandText& command, bool positional) {
  std::vector<const OptionText*> found;
  for (const OptionText& option : command.options) {
    if (option.is_positional == positional) found.push_back(&option);
  }
  return found;
}

// Manual pages

/// As troff takes it literally.
std::string roff(const std::string& text) {
  std::string out;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) out += "\\&";
    begins_line = c == '\n';
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '\'':
        out += "\\(aq";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '~':
        out += "\\(ti";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string bold(const std::string& text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(const std::string& text) { return "\\fI" + roff(text) + "\\fR"; }

std::string option_entry(const OptionText& option) {
  std::string head;
  for (const auto& name : option.names) {
    head += (head.empty() ? "" : ", ") + (option.is_positional ? italic(name) : bold(name));
  }
  if (!option.is_positional && !option.placeholder.empty()) {
    head += " " + italic(option.placeholder);
  }
  std::string text = option.what;
  if (!option.default_value.empty()) text += " [" + option.default_value + "]";
  return ".TP\n" + head + "\n" + roff(text) + "\n";
}

std::string option_sections(const CommandText& command) {
  std::string out;
  const auto positional = options_of(command, true);
  if (!positional.empty()) out += ".SH ARGUMENTS\n";
  for (const auto* const option : positional) out += option_entry(*option);
  out += ".SH OPTIONS\n";
  const auto options = options_of(command, false);
  std::vector<std::string> groups;
  for (const auto* const option : options) {
    if (std::find(groups.begin(), groups.end(), option->group) == groups.end()) {
      groups.push_back(option->group);
    }
  }
  for (const auto& group : groups) {
    if (&group != &groups.front()) out += ".SS " + roff(group) + "\n";
    for (const auto* const option : options) {
      if (option->group == group) out += option_entry(*option);
    }
  }
  return out;
}

/// The footer: what goes before "Examples:", and those.
std::string footer_sections(const std::string& footer) {
  const std::string title = "Examples:\n";
  const auto examples = footer.find(title);
  const std::string before = footer.substr(0, examples);
  std::string out;
  if (!before.empty()) out += ".SH NOTES\n" + roff(before.substr(0, before.find("\n\n"))) + "\n";
  if (examples != std::string::npos) {
    out += ".SH EXAMPLES\n.nf\n" + roff(footer.substr(examples + title.size())) + ".fi\n";
  }
  return out;
}

std::string usage(const std::string& name, const CommandText& command) {
  std::string out = bold(name) + " [" + italic("OPTION") + "]...";
  for (const auto* const option : options_of(command, true)) {
    const std::string word = italic(option->names.front());
    out += option->is_required ? " " + word : " [" + word + "]";
  }
  return out;
}

/// `name`: "tune run". `middle`: sections after the synopsis.
std::string man_page(const std::string& name, const std::string& what, const CommandText& command,
                     const std::string& middle, const std::string& see) {
  std::string title = name;
  std::replace(title.begin(), title.end(), ' ', '-');
  std::string upper = title;
  for (char& c : upper) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return ".TH " + roff(upper) + " 1 \"\" \"tune " + version() + "\" \"tune\"\n.SH NAME\n" +
         roff(title) + " \\- " + roff(what) + "\n.SH SYNOPSIS\n" + usage(name, command) + "\n" +
         middle + option_sections(command) + footer_sections(command.footer) + ".SH SEE ALSO\n" +
         see;
}

void write_page(const fs::path& file, const std::string& text) {
  std::ofstream out(file, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw machine_error("cannot write " + file.string());
}

// Completion

/// What the words before the last one leave to be said.
struct Typed {
  const CommandText* command = nullptr;  ///< none yet
  const OptionText* pending = nullptr;   ///< whose value comes next
  std::vector<std::string> positional;   ///< of the command
  bool is_theirs = false;                ///< after "--": the trainable's own words
};

Typed read_words(const CommandText& program, const std::vector<std::string>& words) {
  Typed typed;
  for (const std::string& word : words) {
    const CommandText& level = typed.command ? *typed.command : program;
    if (word == "=") continue;  // bash takes "--name=value" apart
    if (word == "--") {
      typed.is_theirs = true;
    } else if (std::exchange(typed.pending, nullptr) != nullptr) {
      continue;
    } else if (word.size() > 1 && word.front() == '-') {
      for (const OptionText& option : level.options) {
        const bool is_it =
            std::find(option.names.begin(), option.names.end(), word) != option.names.end();
        if (is_it && !option.placeholder.empty()) typed.pending = &option;
      }
    } else if (typed.command != nullptr) {
      typed.positional.push_back(word);
    } else {
      for (const CommandText& command : program.commands) {
        if (command.name == word) typed.command = &command;
      }
    }
  }
  return typed;
}

std::vector<fs::path> directories_in(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(directory.empty() ? "." : directory, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code unseen;
    if (entry->is_directory(unseen)) found.push_back(entry->path().filename());
  }
  return found;
}

/// Directories that begin like `word`; an experiment is whole, others may hold one.
std::vector<std::string> experiments_like(const std::string& word) {
  const auto slash = word.rfind('/');
  const std::string before = slash == std::string::npos ? "" : word.substr(0, slash + 1);
  std::vector<std::string> found;
  for (const fs::path& name : directories_in(before)) {
    std::error_code unseen;
    if (name.string().starts_with('.') && !word.substr(before.size()).starts_with('.')) continue;
    const bool is_experiment = fs::exists(fs::path(before) / name / "CURRENT", unseen);
    found.push_back(before + name.string() + (is_experiment ? "" : "/"));
  }
  return found;
}

/// As numbers where one was begun.
std::vector<std::string> trials_like(const std::string& word, const fs::path& experiment) {
  const std::string prefix = "trial_";
  const bool as_number = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
  std::vector<std::string> found;
  for (const fs::path& path : directories_in(experiment)) {
    std::string name = path.string();
    if (!name.starts_with(prefix)) continue;
    if (as_number) {
      name.erase(0, std::min(name.find_first_not_of('0', prefix.size()), name.size() - 1));
    }
    found.push_back(std::move(name));
  }
  return found;
}

std::vector<std::string> values_like(const OptionText& option, const std::string& word,
                                     const Typed& typed) {
  const std::string& name = option.placeholder;
  const std::string& argument = option.is_positional ? option.names.front() : name;
  if (argument.starts_with("DIR")) return experiments_like(word);
  if (argument == "TRIAL" || argument == "ID") {
    return typed.positional.empty() ? std::vector<std::string>()
                                    : trials_like(word, typed.positional.front());
  }
  // "min|max[,...]" has values, "NAME|JSON" only words for them.
  std::vector<std::string> values = option.values;
  const std::string choice = name.substr(0, name.find('['));
  for (std::size_t at = 0; choice.find('|') != std::string::npos && at <= choice.size();) {
    const auto end = std::min(choice.find('|', at), choice.size());
    const bool is_value = choice[at] >= 'a' && choice[at] <= 'z';
    if (is_value) values.push_back(choice.substr(at, end - at));
    at = end + 1;
  }
  return values;
}

std::vector<std::string> candidates(const CommandText& program, const std::string& word,
                                    const Typed& typed) {
  if (typed.is_theirs) return {};
  if (typed.pending != nullptr) return values_like(*typed.pending, word, typed);
  const CommandText& level = typed.command ? *typed.command : program;
  std::vector<std::string> found;
  if (word.starts_with('-')) {
    for (const auto* const option : options_of(level, false)) {
      for (const auto& name : option->names) {
        if (name.starts_with("--")) found.push_back(name);
      }
    }
    return found;
  }
  if (typed.command == nullptr) {
    for (const CommandText& command : program.commands) found.push_back(command.name);
    return found;
  }
  const auto positional = options_of(level, true);
  if (typed.positional.size() >= positional.size()) return {};
  return values_like(*positional[typed.positional.size()], word, typed);
}

}  // namespace

void write_man_pages(const CommandText& program, const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);  // what is wrong with it shows below
  std::string commands = ".SH COMMANDS\n", see;
  for (const CommandText& command : program.commands) {
    const std::string name = program.name + " " + command.name;
    const std::string file = program.name + "-" + command.name;
    commands += ".TP\n" + bold(name) + "\n" + roff(command.what) + "\n";
    see += (see.empty() ? "" : ",\n") + std::string(".BR ") + roff(file) + " (1)";
    write_page(directory / (file + ".1"),
               man_page(name, command.what, command, "", ".BR " + program.name + " (1)\n"));
  }
  write_page(directory / (program.name + ".1"),
             man_page(program.name, "search for hyperparameters", program,
                      ".SH DESCRIPTION\n" + roff(program.what) + "\n" + commands, see + "\n"));
}

std::vector<std::string> completions(const CommandText& program, std::vector<std::string> words) {
  std::string word;
  if (!words.empty()) {
    word = std::move(words.back());
    words.pop_back();
  }
  if (word == "=") word.clear();
  std::vector<std::string> found = candidates(program, word, read_words(program, words));
  std::erase_if(found, [&](const std::string& one) { return !one.starts_with(word); });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace tune
