// Heuristics over the end of a stderr: Python tracebacks, rich's boxes, Hydra, and lines that begin
// with an error's word.
#include "tuner/base/error_line.h"

#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "tuner/base/clean_text.h"

namespace tune {

namespace {

using TextLines = std::vector<std::string>;

/// What uncaught exceptions are followed by: what a program says as it ends.
constexpr std::size_t most_behind_exception = 20;

bool is_like(const std::string& line, const re2::RE2& expression) {
  return re2::RE2::PartialMatch(line, expression);
}

TextLines lines_of(std::string_view text) {
  TextLines lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\r\n"), text.size());
    static const re2::RE2 escapes("\\x1b\\[[0-9;]*[A-Za-z]");
    std::string line(text.substr(0, end));
    re2::RE2::GlobalReplace(&line, escapes, "");
    line = clean_text(line);
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// A line of the box that rich and typer draw around their text.
bool is_in_box(const std::string& line) {
  static const re2::RE2 edge("^[╭│╰]");
  return is_like(line, edge);
}

/// Of "│ text  │" the text.
std::string within_box(std::string line) {
  static const re2::RE2 bars("^│|│$");
  re2::RE2::GlobalReplace(&line, bars, "");
  return trimmed(line);
}

struct Found {
  std::size_t line = 0;
  std::string text;
};

/// What stands in front of each line of a traceback: "[rank0]: " of torch, or the bars of an
/// exception group.
std::string without_prefix(const std::string& line, const std::string& prefix, bool is_group) {
  static const re2::RE2 bars("^ *\\| ");
  std::string rest = line.starts_with(prefix) ? line.substr(prefix.size()) : line;
  if (is_group) re2::RE2::Replace(&rest, bars, "");
  return rest;
}

/// The exception below a traceback that begins at `begin`.
std::optional<Found> exception_below(const TextLines& lines, std::size_t begin) {
  static const re2::RE2 header("^(.*?)(?:Exception Group )?Traceback \\(most recent call last\\)");
  static const re2::RE2 rank("^\\[[^\\[\\]]+\\]: $");
  std::string prefix;
  re2::RE2::PartialMatch(lines[begin], header, &prefix);
  const bool is_boxed = is_in_box(lines[begin]);
  const bool is_group = prefix.ends_with("+ ");
  if (!is_like(prefix, rank)) prefix.clear();
  for (std::size_t at = begin + 1; at < lines.size(); ++at) {
    if (is_like(lines[at], header)) return std::nullopt;  // of the next one
    std::string line = without_prefix(lines[at], prefix, is_group);
    if (line.empty() || line.front() == ' ' || is_in_box(line)) continue;
    // Rich breaks lines; others end with a colon where more is to come.
    const auto goes_on = [&] {
      if (line.size() >= most_error_line_bytes || at + 1 == lines.size()) return false;
      const std::string& next = lines[at + 1];
      return !next.empty() && !is_in_box(next) && (is_boxed || line.ends_with(':'));
    };
    static const re2::RE2 of_group("ExceptionGroup: .*\\)$");
    if (is_group && is_like(line, of_group) && at + 2 < lines.size()) {
      static const re2::RE2 first("^[ |]*([\\w.]+: .*)");
      std::string sub;
      if (re2::RE2::PartialMatch(lines[at + 2], first, &sub)) line += ": " + sub;
    }
    const std::size_t place = at;
    while (goes_on()) line += " " + trimmed(without_prefix(lines[++at], prefix, is_group));
    return Found{place, line};
  }
  return std::nullopt;
}

/// It says only that another process has failed, which has said why.
bool is_of_child(const std::string& exception) {
  static const re2::RE2 names("^([\\w.]+\\.)?(CalledProcessError|ChildFailedError)\\b");
  return is_like(exception, names);
}

std::optional<Found> last_exception(const TextLines& lines) {
  static const re2::RE2 header("Traceback \\(most recent call last\\)");
  std::optional<Found> of_child;
  std::size_t end = lines.size();  // of what belongs to one failure
  for (std::size_t at = lines.size(); at-- > 0;) {
    if (!is_like(lines[at], header)) continue;
    auto found = exception_below(lines, at);
    if (!found || end - found->line > most_behind_exception) {
      if (found) break;
      continue;
    }
    if (!is_of_child(found->text)) return found;
    if (!of_child) of_child = std::move(found);
    end = at;
  }
  return of_child;
}

/// What only says how to ask for more.
bool is_hint(const std::string& line) {
  static const re2::RE2 hint(
      "^$|^ |^-+$|(?i)^(usage|for (detailed|more) information|try|pass|run|see|set the "
      "environment variable|options?:)\\b");
  return is_like(line, hint) || is_in_box(line);
}

/// "Error: ...", "train.py: error: ...", "FATAL ...", with nothing but hints behind it.
std::optional<Found> last_error(const TextLines& lines) {
  static const re2::RE2 error("^(?:[^\\s:]+: )?(?i:error|fatal)(?:: | )\\S");
  for (std::size_t at = lines.size(); at-- > 0;) {
    if (is_like(lines[at], error)) return Found{at, lines[at]};
    if (!is_hint(lines[at])) break;
  }
  return std::nullopt;
}

/// The text of a box with the title "Error".
std::optional<Found> error_in_box(const TextLines& lines) {
  static const re2::RE2 top("^╭─+ [Ee]rror ─");
  if (lines.empty() || !lines.back().starts_with("╰")) return std::nullopt;
  for (std::size_t at = lines.size(); at-- > 0 && is_in_box(lines[at]);) {
    if (!is_like(lines[at], top)) continue;
    Found found{at, ""};
    for (std::size_t i = at + 1; i + 1 < lines.size(); ++i) {
      found.text += (found.text.empty() ? "" : " ") + within_box(lines[i]);
    }
    return found;
  }
  return std::nullopt;
}

/// What stands in front of Hydra's hint, a paragraph with the error in its first line.
std::optional<Found> error_before_hint(const TextLines& lines) {
  static const re2::RE2 hydra("^Set the environment variable HYDRA_FULL_ERROR");
  if (lines.empty() || !is_like(lines.back(), hydra)) return std::nullopt;
  std::size_t at = lines.size() - 1;
  while (at > 0 && lines[at - 1].empty()) --at;
  if (at == 0) return std::nullopt;
  const std::size_t end = at;
  while (at > 0 && !lines[at - 1].empty()) --at;
  static const re2::RE2 warning("^\\S+:[0-9]+: \\w*Warning: ");
  while (at + 1 < end && is_like(lines[at], warning)) {
    do ++at;
    while (at + 1 < end && lines[at].starts_with(' '));
  }
  return Found{at, lines[at]};
}

/// What programs in C say in front of pages of usage: "Unknown argument: --lr=0.1".
std::optional<Found> refused_argument(const TextLines& lines) {
  static const re2::RE2 refusal(
      "(?i)\\b(?:(?:unknown|unrecogni[sz]ed|invalid|illegal|no such)[ -](?:command[ -]line )?"
      "(?:option|argument|flag|parameter)\\b|option .* is (?:unknown|ambiguous|not known))");
  const auto found = std::find_if(lines.rbegin(), lines.rend(),
                                  [](const std::string& line) { return is_like(line, refusal); });
  if (found == lines.rend()) return std::nullopt;
  return Found{static_cast<std::size_t>(lines.rend() - found) - 1, *found};
}

std::string shortened(std::string said) {
  std::size_t end = std::min(said.size(), most_error_line_bytes);
  // Between characters.
  while (end < said.size() && (static_cast<unsigned char>(said[end]) & 0xc0) == 0x80) --end;
  said.resize(end);
  return said;
}

}  // namespace

ErrorLine error_line(std::string_view text) {
  const TextLines lines = lines_of(text);
  if (lines.empty()) return {};
  auto found = error_in_box(lines);
  if (!found) {
    found = last_exception(lines);
    const auto error = last_error(lines);
    if (error && (!found || error->line > found->line)) found = error;
  }
  if (!found) found = error_before_hint(lines);
  if (!found) found = refused_argument(lines);
  const bool is_error = found.has_value();
  if (!found) found = Found{lines.size() - 1, lines.back()};
  return {shortened(trimmed(found->text)), found->line + 1 == lines.size(), is_error};
}

std::string usage_line(std::string_view text) {
  const TextLines lines = lines_of(text);
  if (const auto refused = refused_argument(lines)) return shortened(trimmed(refused->text));
  static const re2::RE2 usage("^(?i)usage: +[^ 0-9]");
  const auto found = std::find_if(lines.rbegin(), lines.rend(),
                                  [](const std::string& line) { return is_like(line, usage); });
  return found == lines.rend() ? "" : shortened(trimmed(*found));
}

}  // namespace tune
