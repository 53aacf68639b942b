// A line-based parser for help texts (RE2): sections, option headers, wrapped descriptions, usage.
#include "tuner/init_from/help_reader.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

#include "tuner/base/clean_text.h"
#include "tuner/init_from/hydra_help.h"
#include "tuner/plain/line_splitter.h"

namespace tune {

namespace {

constexpr std::size_t most_options = 1000;
constexpr std::size_t most_names = 16;         ///< of one option
constexpr std::size_t most_help_bytes = 4096;  ///< of one option
constexpr std::size_t most_usage_bytes = 64 * 1024;
constexpr auto nowhere = std::string::npos;

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

/// An expression that is compiled once. They are read in linear time, whatever the text.
bool is_like(const std::string& text, const re2::RE2& expression) {
  return re2::RE2::FullMatch(text, expression);
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

void replace_each(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != nowhere; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

/// The items of "a,b" or "a|b".
std::vector<std::string> split_items(const std::string& text, char separator) {
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    const std::string item = trimmed(text.substr(begin, end - begin));
    if (!item.empty() && item != "...") items.push_back(item);
    begin = end + 1;
  }
  return items;
}

/// A line without the frame that some draw around their tables.
struct Framed {
  std::string text;
  bool is_framed = false;
  std::string title;  ///< of the frame's upper edge
};

Framed without_frame(std::string_view line) {
  Framed framed{std::string(line), false, ""};
  replace_each(framed.text, "\t", "    ");
  const std::size_t first = framed.text.find_first_not_of(' ');
  const std::string_view rest =
      first == nowhere ? std::string_view() : std::string_view(framed.text).substr(first);
  static const re2::RE2 edge("[╭╰┌└├].*");
  if (is_like(std::string(rest), edge)) {
    static const re2::RE2 titled("[╭┌]─+ (.*?) ─*[╮┐]?\\s*");
    re2::RE2::FullMatch(piece_of(rest), titled, &framed.title);
    framed.text.clear();
    framed.is_framed = true;
    return framed;
  }
  framed.is_framed = rest.starts_with("│");
  if (!framed.is_framed) return framed;
  replace_each(framed.text, "│", " ");
  // A star stands before what is required.
  const std::size_t star = framed.text.find_first_not_of(' ');
  if (star != nowhere && framed.text.compare(star, 2, "* ") == 0) framed.text[star] = ' ';
  return framed;
}

/// The value behind "default" in what is said of an option.
std::optional<std::string> default_in(const std::string& text) {
  // In brackets it may have commas and brackets of its own; click adds a range after ';'.
  static const re2::RE2 in_brackets(
      "(?i)[(\\[](?:[^()\\[\\]]*[,;] *)?defaults?(?: value)?(?: to| is)?(?: *[:=] *| +)"
      "((?:[^()\\[\\];]|\\([^()]*\\)|\\[[^\\[\\]]*\\])+)");
  static const re2::RE2 in_words(
      "(?i)\\bdefaults?(?: value)?(?: *[:=] *| is +| to +)([^\\s,;()\\[\\]]+)");
  std::string found;
  std::string last;
  re2::StringPiece rest(text);
  while (re2::RE2::FindAndConsume(&rest, in_brackets, &found)) last = found;
  rest = re2::StringPiece(text);
  while (last.empty() && re2::RE2::FindAndConsume(&rest, in_words, &found)) last = found;
  // "learning rate [0.1]", "layers, default 3"
  static const re2::RE2 in_the_end("(?i)(?:\\[|\\bdefault )([-+.\\de]*\\d)(?:\\]|\\.)?\\s*$");
  if (last.empty() && re2::RE2::PartialMatch(text, in_the_end, &found) && number_in(found)) {
    last = found;
  }
  last = trimmed(last);
  if (last.size() > 1 && last.back() == '.' && number_in(last.substr(0, last.size() - 1))) {
    last.pop_back();
  }
  if (last.size() >= 2 && (last.front() == '\'' || last.front() == '"') &&
      last.front() == last.back()) {
    last = last.substr(1, last.size() - 2);
  }
  if (last.empty()) return std::nullopt;
  return last;
}

/// "INTEGER RANGE", "<int>", "float" as types; what names no type is the value's own name.
ValueType type_named(const std::string& word) {
  static const re2::RE2 integers("<?(int|integer|uint|int64|long)( range)?>?");
  static const re2::RE2 reals("<?(float|double|float64|number|real)( range)?>?");
  static const re2::RE2 booleans("<?(bool|boolean)>?");
  const std::string word_in_lower_case = lower_case(word);
  if (is_like(word_in_lower_case, integers)) return ValueType::integer;
  if (is_like(word_in_lower_case, reals)) return ValueType::real;
  if (is_like(word_in_lower_case, booleans)) return ValueType::boolean;
  return ValueType::unknown;
}

/// The type that is said in words: by absl "(an integer)", by jsonargparse "(type: int, ...".
ValueType type_in(const std::string& text) {
  static const re2::RE2 integers("\\(an? ([a-z-]+ )?integer\\b|\\btype: int\\b");
  static const re2::RE2 reals("\\(an? ([a-z-]+ )?number\\b|\\btype: float\\b");
  if (re2::RE2::PartialMatch(text, integers)) return ValueType::integer;
  if (re2::RE2::PartialMatch(text, reals)) return ValueType::real;
  return ValueType::unknown;
}

void read_range(HelpOption& option) {
  static const re2::RE2 lower("([-+.\\deE]+)<=?x\\b");
  static const re2::RE2 upper("\\bx<=?([-+.\\deE]+)");
  static const re2::RE2 at_least("\\bx>=?([-+.\\deE]+)");
  std::string number;
  const auto take = [&](const re2::RE2& expression, std::optional<double>& to) {
    if (re2::RE2::PartialMatch(option.text, expression, &number)) to = number_in(number);
  };
  take(lower, option.lower);
  if (!option.lower) take(at_least, option.lower);
  take(upper, option.upper);
}

/// What stands for the value: "LR", "{sgd,adam}", "[sgd|adam]", "N [N ...]", "<FLOAT FLOAT>...".
void take_value_name(HelpOption& option, const std::string& name) {
  option.takes_value = true;
  option.takes_several = name.find("...") != nowhere || is_like(name, "[^ {\\[<]+( [^ \\[]+)+");
  option.type = type_named(name);
  if (name.ends_with("RANGE") || name.ends_with("range>")) option.takes_several = false;
  std::string items;
  static const re2::RE2 braces("\\[?\\{([^{}]*)\\}.*");
  static const re2::RE2 bars("[\\[<]([^\\[\\]<>]*\\|[^\\[\\]<>]*)[\\]>]");
  if (re2::RE2::FullMatch(name, braces, &items)) option.choices = split_items(items, ',');
  if (re2::RE2::FullMatch(name, bars, &items)) option.choices = split_items(items, '|');
}

/// A line's names and value, and where what is said of it begins; nothing if it has no option.
struct Header {
  HelpOption option;
  std::size_t text_begin = nowhere;  ///< nowhere: on the next line
};

std::size_t value_end(const std::string& line, std::size_t begin) {
  // Brackets may have spaces in them; a gap of two ends it, and so does the next name.
  int depth = 0;
  for (std::size_t at = begin; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '{' || c == '[' || c == '<') ++depth;
    if (c == '}' || c == ']' || c == '>') --depth;
    if (depth > 0) continue;
    const std::string_view rest = std::string_view(line).substr(at);
    if (rest.starts_with("  ") || rest.starts_with(", -") || rest.starts_with(" / -")) return at;
    // absl: "<sgd|adam>: what it is"
    if (rest.starts_with(": ")) return at;
  }
  return line.size();
}

/// Of "NUM the learning rate", where no gap divides them, the value's name is the first word.
std::size_t first_words_end(const std::string& line, std::size_t begin, std::size_t end) {
  static const re2::RE2 several(
      "([^ ]+( \\[.*| \\.\\.\\.)|[\\[{<].*|[A-Z0-9_<>]+( [A-Z0-9_<>]+)*)");
  const std::string words = line.substr(begin, end - begin);
  if (is_like(words, several)) return end;
  return begin + std::min(words.find(' '), words.size());
}

std::optional<Header> header_in(const std::string& line, std::size_t begin, bool is_framed) {
  static const re2::RE2 a_name("^(--?)(\\[no-?\\])?([A-Za-z0-9][\\w.-]*)");
  Header header;
  HelpOption& option = header.option;
  std::size_t at = begin;
  while (at < line.size() && option.names.size() < most_names) {
    std::string hyphens;
    std::string opposite;
    std::string name;
    if (!re2::RE2::PartialMatch(piece_of(std::string_view(line).substr(at)), a_name, &hyphens,
                                &opposite, &name)) {
      break;
    }
    at += hyphens.size() + opposite.size() + name.size();
    option.has_opposite = option.has_opposite || !opposite.empty();
    option.names.push_back(hyphens + name);
    if (line.compare(at, 1, ":") == 0) {  // absl, whose flags may have a value, too
      option.takes_value = true;
      if (option.has_opposite) option.type = ValueType::boolean;
      header.text_begin = std::min(line.find_first_not_of(": ", at), line.size());
      break;
    }
    const bool has_equals = line.compare(at, 1, "=") == 0 || line.compare(at, 2, "[=") == 0;
    const bool has_word = line.compare(at, 1, " ") == 0 && at + 1 < line.size() &&
                          line[at + 1] != ' ' && line[at + 1] != '-' &&
                          line.compare(at, 3, " / ") != 0 && line.compare(at, 3, " | ") != 0;
    if (has_equals || has_word) {
      const std::size_t value = line.find_first_not_of("=[ ", has_equals ? at : at + 1);
      // Of "[=X]" the bracket is no part of the name; of " [X ...]" it is.
      const std::size_t from = has_equals ? std::min(value, line.size()) : at + 1;
      at = value_end(line, from);
      if (!has_equals) at = first_words_end(line, from, at);
      take_value_name(option, trimmed(line.substr(from, at - from)));
    }
    static const re2::RE2 between("^( *, *| / | \\| |/| )-");
    static const re2::RE2 between_in_frame("^ +-");
    std::string gap;
    const re2::StringPiece rest = piece_of(std::string_view(line).substr(at));
    if (re2::RE2::PartialMatch(rest, between, &gap)) {
      at += gap.size();
    } else if (is_framed && re2::RE2::PartialMatch(rest, between_in_frame)) {
      at = line.find('-', at);
    } else {
      break;
    }
  }
  if (option.names.empty()) return std::nullopt;
  if (header.text_begin == nowhere) header.text_begin = line.find_first_not_of(": ", at);
  // A frame has columns: the value's name stands in its own.
  static const re2::RE2 in_column(
      "^(<[^<>]*>|\\[[^\\[\\]]*\\|[^\\[\\]]*\\]|[A-Z]{3,}( RANGE)?)(  | \\[|$)");
  std::string column;
  if (is_framed && !option.takes_value && header.text_begin != nowhere &&
      re2::RE2::PartialMatch(piece_of(std::string_view(line).substr(header.text_begin)), in_column,
                             &column)) {
    header.text_begin = line.find_first_not_of(' ', header.text_begin + column.size());
    if (type_named(column) != ValueType::boolean) take_value_name(option, column);
  }
  return header;
}

/// What stands in the usage outside of all brackets.
struct Usage {
  std::set<std::string> required;
  std::vector<std::string> words;  ///< outside of brackets, no options; the program's name, too
  /// Click's: its options are not written out, so what stands behind them are arguments.
  std::vector<std::string> behind_options;
  bool has_commands = false;
  bool is_of_go = false;  ///< whose options take one hyphen or two
};

/// Without options and the values of such as are required; "FILES..." is FILES.
std::vector<std::string> words_outside_brackets(const std::string& text) {
  std::string outside;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '(') ++depth;
    if (depth == 0) outside += c;
    if (c == ']' || c == ')') --depth;
  }
  std::vector<std::string> words;
  bool is_value = false;
  for (std::string& word : split_items(outside, ' ')) {
    while (word.ends_with('.')) word.pop_back();
    const bool is_option = word.starts_with('-');
    if (!is_option && !is_value && !word.empty()) words.push_back(word);
    is_value = is_option && word.find('=') == word.npos;
  }
  return words;
}

Usage read_usage(const std::string& text) {
  Usage usage;
  static const re2::RE2 commands("\\} \\.\\.\\.|\\bCOMMAND\\b");
  usage.has_commands = re2::RE2::PartialMatch(text, commands);
  usage.is_of_go = text.starts_with("usage of ");
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[' || c == '(' || c == '{' || c == '<') ++depth;
    if (c == ']' || c == ')' || c == '}' || c == '>') --depth;
    if (depth != 0 || c != '-' || (at > 0 && text[at - 1] != ' ')) continue;
    const std::size_t end = std::min(text.find_first_of(" =", at), text.size());
    usage.required.insert(text.substr(at, end - at));
    at = end - 1;
  }
  usage.words = words_outside_brackets(text);
  static constexpr std::string_view options = "[OPTIONS]";
  const std::size_t behind = text.find(options);
  if (behind != text.npos) {
    usage.behind_options = words_outside_brackets(text.substr(behind + options.size()));
  }
  return usage;
}

class HelpParser {
 public:
  void take(std::string_view bytes) {
    const Framed framed = without_frame(clean_text(bytes, Lines::keep));
    if (!framed.title.empty()) begin_section(framed.title);
    if (framed.title.empty()) take_line(framed.text, framed.is_framed);
  }

  ProgramHelp finish();

 private:
  void take_line(const std::string& line, bool is_framed);
  void begin_section(const std::string& title);
  void take_entry(const std::string& line, std::size_t indent);
  void add_text(std::string_view text);
  bool begins_option(const std::string& line, std::size_t indent) const;
  void conclude(HelpOption& option) const;

  ProgramHelp help_;
  std::vector<std::string> listed_;      ///< of the list of commands
  std::set<std::string> said_required_;  ///< positional arguments
  std::string section_;
  std::string usage_;
  bool is_in_usage_ = false;
  bool has_option_ = false;  ///< the last one is being told about
  std::size_t option_indent_ = 0;
  std::size_t text_column_ = nowhere;   ///< where what is said of it stands, once that is known
  std::size_t entry_indent_ = nowhere;  ///< of the section's positional arguments or commands
};

void HelpParser::begin_section(const std::string& title) {
  section_ = lower_case(title);
  has_option_ = false;
  is_in_usage_ = false;
  entry_indent_ = nowhere;
}

bool HelpParser::begins_option(const std::string& line, std::size_t indent) const {
  if (line[indent] != '-') return false;
  if (!has_option_) return indent > 0 || line.starts_with("--");
  // What is said of an option may begin with another one's name, and stands further right.
  constexpr std::size_t farthest_name = 8;
  if (text_column_ == nowhere) return indent <= option_indent_ + farthest_name;
  return indent < text_column_;
}

void HelpParser::take_entry(const std::string& line, std::size_t indent) {
  if (entry_indent_ == nowhere) entry_indent_ = indent;
  if (indent != entry_indent_) return;
  static const re2::RE2 an_entry("^ *(\\{[^{}]*\\}|[A-Za-z][\\w.-]*)(  .*| ?[\\[.].*|)$");
  std::string name, rest;
  if (!re2::RE2::FullMatch(line, an_entry, &name, &rest)) return;
  if (section_.ends_with("commands")) {
    if (!name.starts_with('{')) listed_.push_back(name);
  } else if (help_.positionals.size() < most_options) {
    help_.positionals.push_back(name);
    if (rest.find("[required]") != rest.npos) said_required_.insert(name);
  }
}

void HelpParser::add_text(std::string_view text) {
  std::string& to = help_.options.back().text;
  if (to.size() + text.size() > most_help_bytes) return;
  to += (to.empty() || text.empty() ? "" : " ") + trimmed(std::string(text));
}

void HelpParser::take_line(const std::string& line, bool is_framed) {
  const std::size_t indent = line.find_first_not_of(' ');
  if (indent == nowhere) return;
  static const re2::RE2 usage_begins("(?i) *usage:? .*");
  // It goes on in lines that are as far in as its first word; options are not.
  constexpr std::size_t usage_indent = 7;
  const bool begins_usage = usage_.empty() && is_like(line, usage_begins);
  is_in_usage_ = begins_usage || (is_in_usage_ && indent >= usage_indent);
  if (is_in_usage_) {
    if (usage_.size() + line.size() < most_usage_bytes) {
      usage_ += (usage_.empty() ? "" : " ") + trimmed(line);
    }
    // Go's ends with its line.
    if (trimmed(line).ends_with(':')) begin_section("options");
    return;
  }
  static const re2::RE2 a_title(" ?([A-Za-z][^:]*):");
  std::string title;
  if (!is_framed && re2::RE2::FullMatch(line, a_title, &title)) return begin_section(title);
  if (begins_option(line, indent) && help_.options.size() < most_options) {
    if (auto header = header_in(line, indent, is_framed)) {
      help_.options.push_back(std::move(header->option));
      has_option_ = true;
      option_indent_ = indent;
      text_column_ = header->text_begin;
      if (text_column_ != nowhere && text_column_ < line.size()) {
        add_text(std::string_view(line).substr(text_column_));
      }
      return;
    }
  }
  const bool is_list = section_ == "positional arguments" || section_ == "arguments" ||
                       section_.ends_with("commands");
  if (is_list && !has_option_) return take_entry(line, indent);
  if (!has_option_) return;
  if (indent <= option_indent_) {
    has_option_ = false;
    return;
  }
  if (text_column_ == nowhere) text_column_ = indent;
  add_text(std::string_view(line).substr(indent));
}

void HelpParser::conclude(HelpOption& option) const {
  option.default_value = default_in(option.text);
  if (option.type == ValueType::unknown) option.type = type_in(option.text);
  if (option.type == ValueType::integer || option.type == ValueType::real) {
    option.takes_value = true;
  }
  read_range(option);
  static const re2::RE2 choices("^<([^<>]*\\|[^<>]*)>:");
  std::string items;
  if (option.choices.empty() && re2::RE2::PartialMatch(option.text, choices, &items)) {
    option.choices = split_items(items, '|');
    option.takes_value = true;
  }
  const auto has = [&](const std::string& name) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  };
  for (const std::string& name : option.names) {
    if (name.starts_with("--") && has("--no-" + name.substr(2))) option.has_opposite = true;
  }
}

/// A flag and its opposite that are said in entries of their own, "--amp" and "--no-amp", are one.
void join_opposites(std::vector<HelpOption>& options) {
  std::set<std::string> opposites;
  for (const HelpOption& option : options) {
    for (const std::string& name : option.names) {
      if (!option.takes_value && name.starts_with("--no-")) opposites.insert(name);
    }
  }
  std::set<std::string> joined;
  for (HelpOption& option : options) {
    for (const std::string& name : option.names) {
      if (option.takes_value || !name.starts_with("--")) continue;
      const std::string opposite = "--no-" + name.substr(2);
      if (!opposites.contains(opposite)) continue;
      option.has_opposite = true;
      joined.insert(opposite);
    }
  }
  std::erase_if(options, [&](const HelpOption& option) {
    return !option.has_opposite &&
           std::any_of(option.names.begin(), option.names.end(),
                       [&](const std::string& name) { return joined.contains(name); });
  });
}

ProgramHelp HelpParser::finish() {
  const Usage usage = read_usage(lower_case(usage_.substr(0, 9)) +
                                 (usage_.size() > 9 ? usage_.substr(9) : std::string()));
  std::vector<HelpOption> kept;
  std::set<std::string> names;
  for (HelpOption& option : help_.options) {
    if (usage.is_of_go && option.names.size() == 1 && !option.names.front().starts_with("--")) {
      option.names.front().insert(0, "-");
    }
    static const std::set<std::string> of_no_use = {"-h", "--help", "--helpfull", "--helpshort",
                                                    "--version"};
    // An example further down may show it again.
    bool is_new = true;
    for (const std::string& name : option.names) {
      is_new = is_new && !of_no_use.contains(name) && !names.contains(name);
    }
    if (!is_new) continue;
    conclude(option);
    for (const std::string& name : option.names) {
      names.insert(name);
      if (usage.required.contains(name)) option.is_required = true;
    }
    static const re2::RE2 required("[(\\[]required[)\\]]");
    if (re2::RE2::PartialMatch(option.text, required)) option.is_required = true;
    kept.push_back(std::move(option));
  }
  help_.options = std::move(kept);
  join_opposites(help_.options);
  const auto has_two_hyphens = [](const HelpOption& option) {
    return name_for_args(option, OptionForm::two_hyphens).has_value();
  };
  if (!help_.options.empty() &&
      std::none_of(help_.options.begin(), help_.options.end(), has_two_hyphens)) {
    help_.form = OptionForm::single_hyphen;
  }
  help_.commands = std::move(listed_);
  std::vector<std::string> positionals;
  for (const std::string& name : help_.positionals) {
    if (name.starts_with('{') && usage.has_commands) {
      help_.commands = split_items(name.substr(1, name.size() - 2), ',');
    } else {
      positionals.push_back(name);
    }
  }
  if (positionals.empty() && !usage.has_commands) positionals = usage.behind_options;
  const auto is_required = [&](const std::string& name) {
    return said_required_.contains(name) ||
           std::find(usage.words.begin(), usage.words.end(), name) != usage.words.end();
  };
  std::copy_if(positionals.begin(), positionals.end(),
               std::back_inserter(help_.required_positionals), is_required);
  help_.positionals = std::move(positionals);
  return std::move(help_);
}

}  // namespace

ProgramHelp read_help(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return {};  // no text
  if (auto help = read_hydra_help(text)) return *std::move(help);
  HelpParser parser;
  LineSplitter splitter;
  const LineSplitter::Take take = [&parser](std::string_view line, bool) { parser.take(line); };
  splitter.add(text, take);
  splitter.finish(take);
  return parser.finish();
}

std::optional<std::string> name_for_args(const HelpOption& option, OptionForm form) {
  if (form == OptionForm::no_hyphens) return option.names.front();
  const std::string prefix = form == OptionForm::two_hyphens ? "--" : "-";
  std::optional<std::string> longest;
  for (const std::string& name : option.names) {
    if (!name.starts_with(prefix)) continue;
    if (form == OptionForm::two_hyphens) return name.substr(prefix.size());
    if (!longest || name.size() > longest->size() + 1) longest = name.substr(1);
  }
  return longest;
}

std::optional<double> number_in(std::string_view text) {
  // No words, no hexadecimal digits: what a person would read as a number.
  static const re2::RE2 number("[-+]?(\\d+\\.?\\d*|\\.\\d+)([eE][-+]?\\d{1,4})?");
  constexpr std::size_t longest = 64;
  if (text.size() > longest || !re2::RE2::FullMatch(piece_of(text), number)) return std::nullopt;
  const double value = std::strtod(std::string(text).c_str(), nullptr);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace tune
