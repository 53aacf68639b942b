#include "tuner/plain/hydra_help.h"

#include <re2/re2.h>

#include <string>
#include <utility>
#include <vector>

#include "tuner/core/clean_text.h"
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

  /// "  lr: 0.1", two blanks a level; a list's items are no options.
  void take_value(const std::string& line) {
    static const re2::RE2 entry("^( *)([A-Za-z_][\\w-]*):(?: (.*))?$");
    std::string indent;
    std::string name;
    std::string value;
    if (!re2::RE2::FullMatch(line, entry, &indent, &name, &value)) return;
    const std::size_t level = indent.size() / 2;
    if (level > parents_.size()) return;
    parents_.resize(level);
    parents_.push_back(name);
    if (value.empty()) return;
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
