#include "tuner/plain/closing_title.h"

#include <re2/re2.h>

namespace tune {

namespace {

bool is_title(std::string_view line, const re2::RE2& expression) {
  return re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), expression);
}

ClosingTitle::Of opened_by(std::string_view line) {
  constexpr std::size_t longest = 200;
  const std::size_t last = line.find_last_not_of(" \t\b");
  if (last == line.npos || line.size() > longest) return ClosingTitle::Of::nothing;
  line = line.substr(0, last + 1);
  constexpr std::string_view rules = "*=#-";
  const bool is_ruled =
      rules.find(line.front()) != rules.npos && rules.find(line.back()) != rules.npos;
  static const re2::RE2 summary(
      "(?i)^[*=#-]{2,} *[a-z_ -]*\\b(?:metrics|results?|summary) *:?[*=#-]{2,}$");
  if (is_ruled && is_title(line, summary)) return ClosingTitle::Of::summary;
  // A new best one is a result of its own.
  static const re2::RE2 best(
      "(?i)\\bbest (?:iteration|epoch|round|step|score|results?|model)\\b[^0-9]*:$");
  static const re2::RE2 other("(?i)\\bnew\\b");
  const bool is_best = line.back() == ':' && is_title(line, best) && !is_title(line, other);
  return is_best ? ClosingTitle::Of::best : ClosingTitle::Of::nothing;
}

}  // namespace

ClosingTitle::Of ClosingTitle::take(std::string_view line) {
  const bool is_indented = line.starts_with(' ') || line.starts_with('\t');
  const Of of = open_ == Of::summary && !is_indented ? Of::nothing : open_;
  if (of != Of::summary) open_ = opened_by(line);
  return of;
}

}  // namespace tune
