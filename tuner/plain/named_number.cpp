// Finds "name: number" and its variants in a line, and rejects versions, times, ranges and
// fractions.
#include "tuner/plain/named_number.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "tuner/model/metric_cells.h"
#include "tuner/plain/closing_line.h"
#include "tuner/plain/no_result.h"

namespace tune {

namespace {

/// Those too that keep a line from being broken there, and narrow ones.
void skip_blanks(std::string_view& text) {
  constexpr std::string_view blanks[] = {" ", "\t", "\u00a0", "\u2009", "\u202f"};
  for (;;) {
    const auto* const blank = std::find_if(std::begin(blanks), std::end(blanks),
                                           [text](auto each) { return text.starts_with(each); });
    if (blank == std::end(blanks)) return;
    text.remove_prefix(blank->size());
  }
}

/// Takes "tensor(", "np.float64(", "[": what libraries put around a single number; and says what
/// closes it. None: 0.
char take_wrapper(std::string_view& text) {
  std::string_view rest = text;
  if (rest.starts_with('[')) {
    text.remove_prefix(1);
    return ']';
  }
  while (!rest.empty() && is_in_name(rest.front())) rest.remove_prefix(1);
  if (!rest.starts_with('(')) return 0;
  std::string_view word = text.substr(0, text.size() - rest.size());
  word.remove_prefix(word.rfind('.') == word.npos ? 0 : word.rfind('.') + 1);
  while (!word.empty() && std::isdigit(static_cast<unsigned char>(word.back())) != 0) {
    word.remove_suffix(1);
  }
  constexpr std::string_view words[] = {"tensor", "Tensor", "array",  "Array",  "float",
                                        "int",    "uint",   "bfloat", "Decimal"};
  if (std::find(std::begin(words), std::end(words), word) == std::end(words)) return 0;
  text = rest.substr(1);
  return ')';
}

/// Takes what closes `wrappers`, the innermost last; "tensor(0.3, device='cuda:0')" has more than
/// the number, "[0.3, 0.4]" has another one.
bool take_closings(std::string_view& text, std::string_view wrappers) {
  for (; !wrappers.empty(); wrappers.remove_suffix(1)) {
    skip_blanks(text);
    if (wrappers.back() == ')' && text.starts_with(',')) {
      const std::size_t end = text.find(')');
      const std::string_view within = text.substr(1, end == text.npos ? end : end - 1);
      if (within.find('=') == within.npos) return false;
      text.remove_prefix(std::min(end, text.size()));
    }
    if (!text.starts_with(wrappers.back())) return false;
    text.remove_prefix(1);
  }
  return true;
}

/// Whether a number that is followed by `text` is one: no version, time, date, unit or fraction.
bool ends_number(std::string_view text) {
  if (text.empty()) return true;
  const char next = text.front();
  if (next == '/' || next == '_' || std::isalpha(static_cast<unsigned char>(next))) return false;
  constexpr std::string_view within = ".,:-";
  return within.find(next) == within.npos || text.size() < 2 ||
         std::isdigit(static_cast<unsigned char>(text[1])) == 0;
}

/// Whether `text`, what stands behind a number, begins with another one in brackets.
bool begins_with_another(std::string_view text) {
  skip_blanks(text);
  if (!text.starts_with('(')) return false;
  text.remove_prefix(1);
  skip_blanks(text);
  if (!take_number(text)) return false;
  skip_blanks(text);
  return text.starts_with(')');
}

/// The number that `text`, what stands behind a name and its colon, begins with.
PrintedNumber number_behind_colon(std::string_view text) {
  if (!text.empty() && is_quote(text.front())) text.remove_prefix(1);
  skip_blanks(text);
  if (text.empty() || (text.front() != ':' && text.front() != '=')) return {};
  const bool is_assigned = text.front() == '=';
  text.remove_prefix(1);
  skip_blanks(text);
  if (!text.empty() && is_quote(text.front())) text.remove_prefix(1);
  std::string wrappers;
  while (const char closing = take_wrapper(text)) {
    constexpr std::size_t most_wrappers = 4;
    if (wrappers.size() == most_wrappers) return {};
    wrappers += closing;
  }
  const std::string_view written = text;
  const auto number = take_number(text);
  if (!number) return {};
  if (goes_on(written.substr(0, written.size() - text.size()), text)) return {.is_cut = true};
  if (!take_closings(text, wrappers)) return {};
  if (is_assigned && is_term(text)) return {.is_source = true};
  if (!ends_number(text)) return {};
  return {.value = number, .has_another = begins_with_another(text)};
}

/// The same where there is no colon: in a cell of a table, or after a blank. A whole number with a
/// word behind it ("loss 3 times") may count anything.
PrintedNumber number_behind_blank(std::string_view text) {
  const std::size_t before = text.size();
  skip_blanks(text);
  const bool is_cell = take_bar(text);
  if (!is_cell && text.size() == before) return {};
  skip_blanks(text);
  std::string_view written = text;
  const auto number = take_number(text);
  if (!number) return {};
  written.remove_suffix(text.size());
  if (goes_on(written, text)) return {.is_cut = true};
  if (!ends_number(text)) return {};
  const bool is_whole = written.find_first_not_of("+-0123456789") == written.npos;
  skip_blanks(text);
  if (is_cell) return {text.empty() || take_bar(text) ? number : std::nullopt};
  constexpr std::string_view behind_whole = ",;)]|";
  const bool is_alone = text.empty() || behind_whole.find(text.front()) != behind_whole.npos;
  if (is_whole && !is_alone) return {};
  return {.value = number, .has_another = begins_with_another(text)};
}

/// Whether `text`, what stands behind `name`, goes on with that name: "mAP@0.5" is none in
/// "mAP@0.5:0.95: 0.4". What a bar shows ("loss=0.5: 12%|"), and a count, names nothing; unless
/// `name` ends with a fraction, as then "0.5:0.95" is a range.
bool is_longer_name(std::string_view name, std::string_view text) {
  if (!text.starts_with(':') && !text.starts_with('=')) return false;
  text.remove_prefix(1);
  if (!take_number(text)) return false;
  if (!text.empty() && is_quote(text.front())) text.remove_prefix(1);
  skip_blanks(text);
  constexpr std::string_view digits = "0123456789";
  const std::size_t fraction = name.find_last_not_of(digits);
  const bool is_range =
      fraction != name.npos && name[fraction] == '.' && fraction + 1 < name.size();
  const bool has_colon = text.starts_with(':') || text.starts_with('=');
  if (has_colon) text.remove_prefix(1);
  if (!has_colon && !is_range) return false;
  take_bar(text);
  skip_blanks(text);
  const std::string_view written = text;
  if (!take_number(text)) return false;
  if (is_range) return true;
  const std::string_view number = written.substr(0, written.size() - text.size());
  const bool is_whole = number.find_first_not_of(digits) == number.npos;
  return !is_whole && !text.starts_with("%|") && ends_number(text);
}

/// How much a number is the one that is meant by its name alone.
enum class Rank {
  best,       ///< so far
  qualified,  ///< "kl loss" is a part of the loss, or another one
  plain,
};

/// Of a name that begins at `at`. A word for a phase says when a number was measured, not of what.
Rank rank_of(std::string_view line, std::size_t at, Standing standing) {
  if (standing == Standing::best) return Rank::best;
  std::size_t end = at;
  while (end > 0 && (is_blank(line[end - 1]) || is_quote(line[end - 1]))) --end;
  std::size_t begin = end;
  while (begin > 0 && is_in_name(line[begin - 1])) --begin;
  const std::string_view word = line.substr(begin, end - begin);
  const bool is_word = std::any_of(word.begin(), word.end(), is_letter);
  const bool is_count = std::any_of(word.begin(), word.end(), is_digit);  // "epoch3", "12s"
  constexpr std::string_view joining[] = {"then", "and", "now", "to", "or", "with", "is"};
  const bool is_joining =
      std::find(std::begin(joining), std::end(joining), word) != std::end(joining);
  if (!is_word || is_count || is_joining || phase_named_in(word) != Phase::unnamed)
    return Rank::plain;
  return Rank::qualified;
}

}  // namespace

bool take_bar(std::string_view& text) {
  for (const std::string_view bar : {"|", "│", "┃"}) {
    if (!text.starts_with(bar)) continue;
    text.remove_prefix(bar.size());
    return true;
  }
  return false;
}

PrintedNumber number_at(std::string_view text, NumberForm form) {
  return form == NumberForm::colon ? number_behind_colon(text) : number_behind_blank(text);
}

NamedNumber find_number(std::string_view line, std::string_view name, NumberForm form) {
  NamedNumber found;
  Rank found_rank = Rank::best;
  std::optional<double> other;
  for (std::size_t at = line.rfind(name); at != line.npos;) {
    const std::string_view behind = line.substr(at + name.size());
    if ((at == 0 || !is_in_name(line[at - 1])) && !is_longer_name(name, behind)) {
      const PrintedNumber number = number_at(behind, form);
      const bool is_there = number.value || number.is_cut || number.is_source;
      const Standing standing = is_there ? standing_of(line, at) : Standing::none;
      if (is_there && (number.is_source || standing == Standing::none)) {
        found.is_ruled_out = true;
      } else if (is_there) {
        const Rank rank = rank_of(line, at, standing);
        if (found.at && found_rank > Rank::best && rank > found_rank) other = found.number.value;
        if (!found.at || rank > found_rank) {
          found = {at, number, rank == Rank::best};
          found_rank = rank;
        } else if (rank > Rank::best) {
          other = number.value;
        }
      }
    }
    if (at == 0) break;
    at = line.rfind(name, at - 1);
  }
  if (found.at) found.is_ruled_out = false;
  if (!found.number.value) found.at.reset();
  found.has_others = found.at && other && *other != *found.number.value;
  return found;
}

std::optional<std::size_t> place_of_number(std::string_view line, std::string_view name) {
  const auto at = find_number(line, name, NumberForm::colon).at;
  return at ? at : find_number(line, name, NumberForm::blank).at;
}

std::optional<double> number_behind(std::string_view line, std::string_view name, NumberForm form) {
  return find_number(line, name, form).number.value;
}

std::optional<std::vector<Metric>> object_at_end(std::string_view line) {
  const std::size_t begin = line.find('{');
  if (begin == line.npos) return std::nullopt;
  const std::size_t end = line.find_last_not_of(" \t");
  if (line[end] != '}') return std::nullopt;
  const auto cells = cells_of(quote_non_finite(line.substr(begin, end - begin + 1)));
  // Without any it is a dictionary of Python's, or anything else with braces.
  if (cells.empty() || cells.size() > most_metric_names) return std::nullopt;
  std::vector<Metric> numbers;
  for (const MetricCell& cell : cells) {
    // A logger may write numbers as texts; what is true or false measures nothing.
    const bool is_text =
        cell.kind == MetricCell::Kind::number || cell.kind == MetricCell::Kind::text;
    if (!is_text || cell.is_truth) continue;
    if (const auto number = number_of_cell(cell.text).value) {
      numbers.push_back({cell.name, *number});
    }
  }
  return numbers;
}

}  // namespace tune
