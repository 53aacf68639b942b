// Finds names like the metric's in a log, and builds a regular expression that would read the
// number beside them.
#include "tuner/plain/seen_names.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "tuner/plain/name_meant.h"
#include "tuner/plain/named_number.h"
#include "tuner/plain/no_result.h"

namespace tune {

namespace {

constexpr std::string_view digits = "0123456789";

/// "train.py:10: UserWarning": a line of a file.
bool is_place_in_source(std::string_view behind, const std::string& name) {
  if (name.find('.') == name.npos || !behind.starts_with(':')) return false;
  const std::size_t end = behind.find_first_not_of("0123456789", 1);
  return end != behind.npos && end > 1 && behind[end] == ':';
}

/// Where the number begins that has a digit at `at`.
std::size_t number_begin(std::string_view line, std::size_t at) {
  constexpr std::string_view within = "0123456789.+-";
  while (at > 0) {
    const char c = line[at - 1];
    const bool is_exponent = (c == 'e' || c == 'E') && at > 1 && is_digit(line[at - 2]);
    if (!is_exponent && within.find(c) == within.npos) break;
    --at;
  }
  return at;
}

/// What stands between the number at `begin` and the one before it; "F1" is no number.
std::string_view words_before(std::string_view line, std::size_t begin) {
  for (std::size_t at = begin;;) {
    const std::size_t digit = line.substr(0, at).find_last_of(digits);
    if (digit == line.npos) return line.substr(0, begin);
    at = number_begin(line, digit);
    if (at == 0 || !is_letter(line[at - 1])) return line.substr(digit + 1, begin - digit - 1);
  }
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// Adds what stands before a number of `line`, reads like `metric`, and would find that number.
void add_names_like(const std::string& metric, std::string_view line,
                    std::vector<std::string>& names) {
  std::size_t digit = line.find_first_of(digits);
  while (digit != line.npos) {
    const std::string name(end_meant(metric, words_before(line, number_begin(line, digit))));
    if (!name.empty() && name != metric && place_of_number(line, name)) add_new(names, name);
    digit =
        line.find_first_of(digits, std::min(line.find_first_not_of(digits, digit), line.size()));
  }
}

}  // namespace

std::vector<std::string> names_in(std::string_view text, std::size_t most,
                                  std::span<const std::string> awaited) {
  std::vector<std::string> names;
  std::string others;  // the lines without an object, of which each name is known
  QuotedLines quoted;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (quoted.take(line, false)) continue;
    for (const std::string& metric : awaited) add_names_like(metric, line, names);
    const auto numbers = object_at_end(line);
    if (!numbers) others.append(line) += '\n';
    for (std::size_t i = 0; numbers && i < numbers->size() && names.size() < most; ++i) {
      add_new(names, (*numbers)[i].name);
    }
  }
  text = others;
  for (std::size_t at = 0; at < text.size() && names.size() < most; ++at) {
    std::string_view rest = text.substr(at);
    const bool is_colon = rest.front() == ':' || rest.front() == '=';
    if (!is_colon && !take_bar(rest)) continue;
    std::size_t end = at;
    while (end > 0 && is_blank(text[end - 1])) --end;
    if (end > 0 && is_quote(text[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_in_name(text[begin - 1])) --begin;
    while (begin < end && (text[begin] == '-' || text[begin] == '.')) ++begin;
    const std::string name(text.substr(begin, end - begin));
    const bool is_name =
        std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
    if (!is_name || is_place_in_source(text.substr(end), name)) continue;
    if (!number_at(text.substr(end), is_colon ? NumberForm::colon : NumberForm::blank).value)
      continue;
    const std::size_t line = text.rfind('\n', begin) + 1;  // 0 if it is the first one
    const std::string_view rest_of_line = text.substr(line, text.find('\n', begin) - line);
    if (standing_of(rest_of_line, begin - line) == Standing::none) continue;
    add_new(names, name);
  }
  return names;
}

std::vector<std::string> names_before_blanks(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  QuotedLines quoted;
  for (std::size_t at = 0; at < text.size() && names.size() < most;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (quoted.take(line, false)) continue;
    for (std::size_t i = 1; i < line.size() && names.size() < most; ++i) {
      if (!is_blank(line[i]) || !is_in_name(line[i - 1])) continue;
      std::size_t begin = i;
      while (begin > 0 && is_in_name(line[begin - 1])) --begin;
      const std::string name(line.substr(begin, i - begin));
      if (is_letter(name.front()) && number_at(line.substr(i), NumberForm::blank).value &&
          standing_of(line, begin) != Standing::none) {
        add_new(names, name);
      }
    }
  }
  return names;
}

namespace {

/// Whether the digits at `begin` go on with a number, as "000" does in "1'000".
bool is_cut_before(std::string_view line, std::size_t begin) {
  const std::size_t digit = line.substr(0, begin).find_last_of("0123456789");
  if (digit == line.npos) return false;
  const std::size_t first = number_begin(line, digit);
  return goes_on(line.substr(first, digit + 1 - first), line.substr(digit + 1));
}

/// Whether `before` ends with a sign that may be a minus, and may be none: an expression that
/// passes over it would turn the number's sign.
bool is_behind_dash(std::string_view before) {
  constexpr std::string_view dashes[] = {"\u2010", "\u2011", "\u2012", "\u2013",
                                         "\u2014", "\ufe63", "\uff0d"};
  return std::any_of(std::begin(dashes), std::end(dashes),
                     [before](std::string_view dash) { return before.ends_with(dash); });
}

/// An expression for `text`, and for the same with other numbers in it.
std::string pattern_of(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool goes_on = (static_cast<unsigned char>(c) & 0xc0) == 0x80;  // a sign of several bytes
    constexpr std::string_view plain = ",:=/@#%&;_";
    if (goes_on) continue;
    if (is_digit(c)) {
      if (!pattern.ends_with("[0-9]+")) pattern += "[0-9]+";
    } else if (is_blank(c)) {
      if (!pattern.ends_with(" +")) pattern += " +";
    } else {
      pattern += is_letter(c) || plain.find(c) != plain.npos ? c : '.';
    }
  }
  return pattern;
}

/// Where the number ends that begins at `begin`.
std::size_t number_end(std::string_view line, std::size_t begin) {
  std::size_t at = begin;
  while (at < line.size()) {
    const char c = line[at];
    const bool is_exponent = (c == 'e' || c == 'E') && at > begin && at + 1 < line.size() &&
                             std::string_view("0123456789+-").find(line[at + 1]) != line.npos;
    const bool is_sign =
        (c == '+' || c == '-') && (at == begin || line[at - 1] == 'e' || line[at - 1] == 'E');
    if (!is_digit(c) && c != '.' && !is_exponent && !is_sign) break;
    ++at;
  }
  return at;
}

/// Whether the number at `begin` is a part of a name, "AP75" or "Acc@5", or drawn by a progress
/// bar.
bool is_no_value(std::string_view line, std::size_t begin) {
  const bool is_in_word =
      begin > 0 && (is_letter(line[begin - 1]) || line[begin - 1] == '_' || line[begin - 1] == '@');
  return is_in_word || line.substr(number_end(line, begin)).starts_with("%|");
}

/// The first number from `from` on that stands behind a colon or an equals sign which is in no
/// brackets, with neither comma nor bar before: "76.4" of "10000 test images: 76.4 %". npos: none.
std::size_t number_behind_colon(std::string_view line, std::size_t from, int depth) {
  for (std::size_t at = from; at < line.size(); ++at) {
    const char c = line[at];
    if (std::string_view("([{").find(c) != line.npos) ++depth;
    if (std::string_view(")]}").find(c) != line.npos) depth = std::max(depth - 1, 0);
    if (depth > 0) continue;
    if (std::string_view(",;|").find(c) != line.npos) return line.npos;
    if (c != ':' && c != '=') continue;
    const std::size_t number = line.find_first_not_of(" \t", at + 1);
    if (number != line.npos && number_end(line, number) > number) return number;
  }
  return line.npos;
}

/// How many brackets are open at `end`.
int depth_at(std::string_view line, std::size_t end) {
  int depth = 0;
  for (const char c : line.substr(0, end)) {
    if (std::string_view("([{").find(c) != line.npos) ++depth;
    if (std::string_view(")]}").find(c) != line.npos) depth = std::max(depth - 1, 0);
  }
  return depth;
}

/// Whether the word before `begin` says that the number counts something.
bool is_behind_count(std::string_view line, std::size_t begin) {
  constexpr std::string_view counts[] = {"epoch", "epochs", "step",  "steps", "iteration", "iter",
                                         "batch", "fold",   "round", "after", "at",        "the"};
  std::size_t end = begin;
  while (end > 0 && !is_letter(line[end - 1])) --end;
  std::size_t first = end;
  while (first > 0 && is_letter(line[first - 1])) --first;
  std::string word(line.substr(first, end - first));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(std::begin(counts), std::end(counts), word) != std::end(counts);
}

/// The number that the metric's words mean, which stand before the one at `begin`: that one, or
/// one behind a colon later on, where the first counts something. npos: none.
std::size_t meant_number(std::string_view line, std::size_t begin) {
  const int depth = depth_at(line, begin);
  const std::size_t sign = line.find_last_not_of(" \t", begin == 0 ? line.npos : begin - 1);
  const bool is_behind_colon =
      begin > 0 && sign != line.npos && (line[sign] == ':' || line[sign] == '=') && depth == 0;
  if (is_behind_colon) return is_no_value(line, begin) ? line.npos : begin;
  const std::size_t later = number_behind_colon(line, number_end(line, begin), depth);
  if (later != line.npos) return is_no_value(line, later) ? line.npos : later;
  const bool is_value = depth == 0 && !is_no_value(line, begin) && !is_behind_count(line, begin);
  return is_value ? begin : line.npos;
}

/// Where what tells the number at `begin` from others begins: with a word, and with no part of a
/// name, as "loss=" finds "val_loss=", too.
std::size_t first_to_show(std::string_view line, std::size_t begin) {
  constexpr std::size_t most_before = 24;
  const std::size_t first = begin > most_before ? begin - most_before : 0;
  std::size_t from = first;
  while (from > 0 && from < begin && !is_blank(line[from - 1])) ++from;
  if (from < begin) return from;
  from = begin;
  while (from > first && !is_in_name(line[from - 1])) --from;
  while (from > 0 && is_in_name(line[from - 1])) --from;
  return from;
}

/// What stands before `text`, if it begins with a name that a longer one may end with.
std::string begin_of_name(std::string_view text) {
  const bool is_name = !text.empty() && is_in_name(text.front());
  const std::size_t blank = text.find_first_of(" \t");
  const bool is_alone = blank == text.npos || text.find_first_not_of(" \t", blank) == text.npos;
  return is_name && is_alone ? "(?:^|[^A-Za-z0-9_./-])" : "";
}

/// An expression for `text` with other numbers in it, whatever their form is.
std::string pattern_with_numbers(std::string_view text) {
  std::string pattern;
  while (!text.empty()) {
    const std::size_t digit = std::min(text.find_first_of(digits), text.size());
    const std::size_t number = digit == text.size() ? digit : number_begin(text, digit);
    const bool is_part = number > 0 && number < text.size() && is_in_name(text[number - 1]);
    pattern += pattern_of(text.substr(0, number));
    const std::size_t end = number == text.size() ? number : number_end(text, number);
    if (number < text.size()) pattern += is_part ? "[0-9]+" : "[^ ]+";
    text.remove_prefix(std::max(end, number));
  }
  return pattern;
}

}  // namespace

std::string way_to_name(std::string_view line, std::string_view name, std::size_t word) {
  const auto at = place_of_number(line, name);
  if (!at || word >= *at) return "";
  const std::string longer(line.substr(word, *at + name.size() - word));
  const bool is_plain = longer.find_first_of("0123456789:=,|") == longer.npos;
  if (is_plain && place_of_number(line, longer)) return longer;
  return "";
}

ProposedExpression expression_from(std::string_view line, std::string_view name, std::size_t word) {
  const auto at = place_of_number(line, name);
  if (!at || word > *at) return {};
  const std::size_t end = *at + name.size();
  std::size_t begin = line.find_first_of("0123456789.", end);
  if (begin == line.npos) return {};
  begin = number_begin(line, begin);
  if (begin < end) return {};
  const std::string_view before = line.substr(word, begin - word);
  return {"(?:^|[^A-Za-z0-9_./-])" + pattern_with_numbers(before) +
              "([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)",
          std::string(line.substr(begin, number_end(line, begin) - begin))};
}

ProposedExpression expression_for(std::string_view line, std::string_view metric) {
  for (std::size_t end = line.size(); end > 0;) {
    const std::size_t at = line.find_last_of("0123456789", end - 1);
    if (at == line.npos) break;
    const std::size_t named = number_begin(line, at);
    end = named;
    if (!is_meant_in(metric, words_before(line, named))) {
      if (is_cut_before(line, named) || is_behind_dash(line.substr(0, named))) return {};
      continue;
    }
    const std::size_t begin = meant_number(line, named);
    if (begin == line.npos) continue;
    if (is_cut_before(line, begin) || is_behind_dash(line.substr(0, begin))) return {};
    const std::size_t from = first_to_show(line, begin);
    std::string_view before = line.substr(from, begin - from);
    const bool has_minus = before.ends_with(unicode_minus);
    if (has_minus) before.remove_suffix(unicode_minus.size());
    return {begin_of_name(before) + pattern_of(before) + (has_minus ? "((?:\u2212)?" : "([-+]?") +
                "[0-9.]+(?:[eE][-+]?[0-9]+)?)",
            std::string(has_minus ? "-" : "") +
                std::string(line.substr(begin, number_end(line, begin) - begin))};
  }
  return {};
}

}  // namespace tune
