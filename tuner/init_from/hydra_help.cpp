// Reads Hydra's config groups and its YAML config by indentation.
#include "tuner/init_from/hydra_help.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/base/clean_text.h"
#include "tuner/plain/line_splitter.h"

namespace tune {

namespace {

constexpr std::size_t most_hydra_options = 1000;

class HydraHelp {
 public:
  void take(const std::string& line) {
    if (line.starts_with("== ")) {
      section_ = line;
      parents_.clear();
    } else if (line.starts_with("Powered by Hydra")) {
      is_hydras_ = true;
      section_.clear();
    } else if (section_ == "== Configuration groups ==") {
      take_group(line);
    } else if (section_ == "== Config ==") {
      take_value(line);
    }
  }

  std::optional<ProgramHelp> finish() {
    if (!is_hydras_) return std::nullopt;
    return std::move(help_);
  }

 private:
  void add(HelpOption option) {
    if (help_.options.size() < most_hydra_options) help_.options.push_back(std::move(option));
  }

  /// "db: mysql, postgresql"
  void take_group(const std::string& line) {
    static const re2::RE2 group("^([\\w/]+): (.+)$");
    HelpOption option;
    std::string name;
    std::string items;
    if (!re2::RE2::FullMatch(line, group, &name, &items)) return;
    option.names = {name};
    option.takes_value = true;
    for (std::size_t begin = 0; begin < items.size();) {
      const std::size_t end = std::min(items.find(',', begin), items.size());
      option.choices.push_back(trimmed(items.substr(begin, end - begin)));
      begin = end + 1;
    }
    add(std::move(option));
  }

  /// "  lr: 0.1", two blanks a level; below "betas:" the items of a list, "- 0.9".
  void take_value(const std::string& line) {
    static const re2::RE2 entry("^( *)([A-Za-z_][\\w-]*):(?: (.*))?$");
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const bool is_item = line.substr(begin).starts_with("- ");
    if (list_ && (begin > *list_ || (begin == *list_ && is_item))) return;
    list_.reset();
    if (is_item) {
      // What it may be instead nobody can guess: it is an option whose default is a text.
      list_ = begin;
      if (!parents_.empty()) add_option("[" + line.substr(begin + 2) + ", ...]");
      return;
    }
    std::string indent;
    std::string name;
    std::string value;
    if (!re2::RE2::FullMatch(line, entry, &indent, &name, &value)) return;
    const std::size_t level = indent.size() / 2;
    if (level > parents_.size()) return;
    parents_.resize(level);
    parents_.push_back(name);
    if (!value.empty()) add_option(value);
  }

  /// Of the name that `parents_` has by now.
  void add_option(const std::string& value) {
    HelpOption option;
    std::string dotted;
    for (const std::string& part : parents_) dotted += (dotted.empty() ? "" : ".") + part;
    option.names = {dotted};
    option.takes_value = true;
    option.is_required = value == "???";
    if (value != "null" && !option.is_required) option.default_value = value;
    add(std::move(option));
  }

  ProgramHelp help_{.form = OptionForm::no_hyphens};
  std::string section_;
  std::vector<std::string> parents_;
  std::optional<std::size_t> list_;  ///< within a list: how far its items are indented
  bool is_hydras_ = false;
};

}  // namespace

std::optional<ProgramHelp> read_hydra_help(std::string_view text) {
  HydraHelp help;
  LineSplitter splitter;
  const auto take = [&help](std::string_view line, bool) {
    help.take(clean_text(line, Lines::keep));
  };
  splitter.add(text, take);
  splitter.finish(take);
  return help.finish();
}

}  // namespace tune
