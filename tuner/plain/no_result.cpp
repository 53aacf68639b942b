// Recognises blocks (tracebacks, help, settings) line by line, and words before a number that make
// it no result (RE2).
#include "tuner/plain/no_result.h"

#include <re2/re2.h>

#include <algorithm>

namespace tune {

namespace {

using namespace std::string_literals;

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

bool is_like(std::string_view text, const re2::RE2& expression) {
  return re2::RE2::PartialMatch(piece(text), expression);
}

/// How people call what a program was told.
constexpr const char* settings =
    "(?:arg(?:ument)?s|namespace|config(?:uration)?s?|cfg|hparams|hyper-?param(?:eter)?s?|settings|"
    "options|flags|defaults)";

/// Whether the next line belongs to `line`, however it is indented.
bool is_unfinished(std::string_view line) {
  const std::size_t last = line.find_last_not_of(" \t");
  constexpr std::string_view signs = ",([{";
  return last != line.npos && signs.find(line[last]) != signs.npos;
}

/// Whether what begins behind `begin`, in the brackets that are open there or else in those around
/// it, is not closed in `text`.
bool is_open(std::string_view text, std::size_t begin, bool has_bracket) {
  int depth = has_bracket ? 1 : 0;
  for (const char c : text.substr(begin)) {
    constexpr std::string_view opening = "([{", closing = ")]}";
    if (opening.find(c) != opening.npos) ++depth;
    if (closing.find(c) != closing.npos) --depth;
    if (depth < 0 || (has_bracket && depth == 0)) return false;
  }
  return true;
}

/// `with_label`: also behind "Config: ", not only in brackets behind such a word.
bool is_in_settings(std::string_view before, bool with_label) {
  static const re2::RE2 label("(?i)(?:"s + settings +
                              "|param(?:eter)?s)['\"]?[ \\t]*[:=]?[ \\t]*([({\\[])"
                              "|(?:^|[^\\w./-])" +
                              settings + ":(?:[ \\t]+[^0-9 \\t]|[ \\t]*$)");
  re2::StringPiece rest = piece(before);
  re2::StringPiece bracket;
  while (re2::RE2::FindAndConsume(&rest, label, &bracket)) {
    const auto begin = static_cast<std::size_t>(rest.data() - before.data());
    if (bracket.empty() && !with_label) continue;
    if (is_open(before, begin, !bracket.empty())) return true;
  }
  return false;
}

}  // namespace

bool ends_in_settings(std::string_view before) { return is_in_settings(before, true); }

QuotedLines::Block QuotedLines::opened_by(std::string_view line) {
  static const re2::RE2 opening(
      "^(\\[[^\\[\\]]+\\]:? ?|[\\w.-]+ +\\| )?([ \\t]*)(?:"
      // Python; Rust.
      "(.*Traceback \\(most recent call last\\)|thread '.*' panicked at \\S+:$)"s
      // Python's frames, R, Julia and Lua, compilers, Node.
      "|(File \".*\", line(?:no)? \\d+|(?i:.*\\b(?:stack ?trace|(?:stack )?traceback|backtrace):[ "
      "\\t]*$)"
      "|\\S+:\\d+:\\d+: (?:fatal )?(?:warning|error|note): |\\S+\\.[cm]?[jt]s:\\d+$"
      // Help, and titles of settings, those of their parts, too; no "Resampling results across
      // tuning parameters:" of R.
      "|(?i:usage:(?:[ \\t]+[^0-9]|$)|(?:.*[^\\w./-])?" +
      settings +
      ":[ \\t]*$|(?:model|network|optim(?:izer)?|criterion|objective|data(?:set|loader)?|"
      "(?:lr_?)?scheduler|trainer|hydra):[ \\t]*$|(?:[a-z]+ )?param(?:eter)?s:[ \\t]*$|(?:[^\\w "
      "\\t]\\W*(?:[a-z]+ ){0,2}|\\W*)(?:" +
      settings +
      "|(?:param(?:eter)?s?|arg(?:ument)?)\\W+value)(?:\\W+values?)?\\W*$))"
      // Python's warnings.
      "|(.*:\\d+: \\w*Warning: ))");
  re2::StringPiece prefix, indent, message, deeper, next;
  if (!re2::RE2::PartialMatch(piece(line), opening, &prefix, &indent, &message, &deeper, &next)) {
    if (!is_in_settings(line, false)) return Block::none;
    prefix_.clear();
    indent_ = line.find_first_not_of(" \t");
    return Block::deeper;
  }
  prefix_.assign(prefix.data(), prefix.size());
  indent_ = indent.size();
  return !message.empty() ? Block::message : !deeper.empty() ? Block::deeper : Block::next;
}

bool QuotedLines::is_within(std::string_view line) const {
  if (line.starts_with(prefix_)) line.remove_prefix(prefix_.size());
  const std::size_t indent = std::min(line.find_first_not_of(" \t"), line.size());
  static const re2::RE2 frame("^(?:$|[|+│┃║├╠╭╰┏┡╔❱]|┌─|[)}\\]]|[({\\[]$|File |Cell |-+> )");
  if (indent > indent_ || block_ == Block::next) return indent > indent_;
  return is_like(line.substr(indent), frame) || is_unfinished_;
}

bool QuotedLines::take(std::string_view line, bool overwritten) {
  if (overwritten) {
    block_ = Block::none;
    return false;
  }
  if (block_ != Block::none && is_within(line)) {
    if (block_ == Block::next) block_ = Block::none;
    is_unfinished_ = is_unfinished(line);
    return true;
  }
  const bool is_message = block_ == Block::message;
  block_ = opened_by(line);
  is_unfinished_ = is_unfinished(line);
  return is_message;
}

Standing standing_of(std::string_view line, std::size_t at) {
  // A long line with the name again and again would take a time that grows with its square.
  constexpr std::size_t most_before = 4096, most_behind = 256;
  const std::size_t begin = at > most_before ? at - most_before : 0;
  const std::string_view before = line.substr(begin, at - begin);
  line = line.substr(begin, before.size() + most_behind);
  static const re2::RE2 none(
      // Words for what is wanted, was before, or is asked; others may follow.
      "(?i:(?:^|[^\\w./"
      "-])(?:(?:target|goal|desired|required|allowed|threshold|default|expected|initial|init|"
      "baseline|reference|sota|chance|pretrained|sanity|teacher|previous|prev|old|std|stddev|var|"
      "variance|delta|"
      "diff|difference|change|if|until|unless|when)(?:[ \\t]+[a-z_-]+){0,2}|"
      "(?:min|max|minimum|maximum|last|using)(?:[ "
      "\\t]+(?:allowed|train|training|val|valid|validation|dev|"
      "test|eval))*)[\\])]?:?[ \\t]+['\"*]*$)"
      // What is found in a checkpoint.
      "|(?i:\\b(?:(?:restor|resum)(?:e|ed|ing)|load(?:ed|ing)\\b.*\\b(?:checkpoint|model|weights))"
      "\\b"
      "(?:[^.;|]|\\.[^ ])*$)"
      // The query of an address, a variable of a shell; a comment, and not "# epoch 3, ".
      "|[?&$]$|^[ \\t]*(?:#+|//)[ \\t]*['\"]?$|\\bprintf?\\(\\w?['\"][^'\"]*$"
      // What a shell traces; help; what a debugger, C++, Java, Go, R and Python say of a failure.
      "|^\\++ |^(?i:[ \\t]*usage: )|^[ \\t]*(?:#\\d+ +(?:0x[0-9a-f]+ in )?[\\w:~]+ ?\\(|"
      "what\\(\\): |Caused by: |Exception in thread |thread '|panic: |(?:\\d+: |Error )?[Ii]n "
      "[\\w.:]+\\(|"
      "(?:Uncaught |ERROR: )?[\\w$.:]*(?:[Ee]rror|Exception|Interrupt|Warning): (?:[^-+.0-9]|$))"
      "|:\\d+: \\w*Warning: "
      // What is warned of; but "WARNING:root:" is how Python logs whatever it is given.
      "|^[^A-Za-z]*(?:(?:ERROR|CRITICAL|FATAL)\\b|WARN(?:ING)?(?:$|[^\\w:]|:[^\\w]))");
  static const re2::RE2 help("(?i)[(\\[]default[:= ]|\\bis the default\\b");
  // Whatever stands in between but another measure: "best epoch 5 val_loss", "best so far: ", "Best
  // is trial 0 with".
  static const re2::RE2 best(
      "(?i)(?:^|[^\\w./-])(?:best|lowest|highest|smallest|largest|minimum|maximum|min|max|so "
      "far)\\b"
      "[^|;.{}]*$");
  if (is_like(before, none) || is_like(line, help) || ends_in_settings(before)) {
    return Standing::none;
  }
  return is_like(before, best) ? Standing::best : Standing::result;
}

bool is_term(std::string_view behind) {
  static const re2::RE2 expression(
      "^[ \\t]*(?:(?:[*/]{1,2}|[@+])[ \\t]*(?:[A-Za-z_][\\w.]*[ \\t]*(?:$|[-+*/@%)(\\[,;#&|]|if\\b)"
      "|\\([^)]*[-+*/])|\\*{1,2}[ \\t]*[0-9]|-[ \\t]*[A-Za-z_][\\w.]*[(\\[])"
      "|^[ \\t]+(?:(?:if|unless)[ \\t]|#[ \\t]*[A-Za-z])");
  return is_like(behind, expression);
}

}  // namespace tune
