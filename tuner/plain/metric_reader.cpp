#include "tuner/plain/metric_reader.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "trainable/values.h"
#include "tuner/plain/printed_number.h"
#include "tuner/plain/table_reader.h"

namespace tune {

namespace {

bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
         c == '-';
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_quote(char c) { return c == '\'' || c == '"'; }

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
}

/// Takes a line between two cells of a table from the front of `text`.
bool take_bar(std::string_view& text) {
  for (const std::string_view bar : {"|", "│", "┃"}) {
    if (!text.starts_with(bar)) continue;
    text.remove_prefix(bar.size());
    return true;
  }
  return false;
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
  constexpr std::string_view words[] = {"tensor", "array", "Array",  "float",
                                        "int",    "uint",  "bfloat", "Decimal"};
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

/// The number that `text`, what stands behind a name and its colon, begins with.
PrintedNumber number_behind_colon(std::string_view text) {
  if (!text.empty() && is_quote(text.front())) text.remove_prefix(1);
  skip_blanks(text);
  if (text.empty() || (text.front() != ':' && text.front() != '=')) return {};
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
  return {take_closings(text, wrappers) && ends_number(text) ? number : std::nullopt};
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
  return {is_whole && !is_alone ? std::nullopt : number};
}

PrintedNumber number_at(std::string_view text, NumberForm form) {
  return form == NumberForm::colon ? number_behind_colon(text) : number_behind_blank(text);
}

struct Found {
  std::optional<std::size_t> at = {};  ///< of the name, if there is a value
  PrintedNumber number;
};

/// The last number behind `name`. If that is cut there is none: an earlier one is another result's.
Found find_number(std::string_view line, std::string_view name, NumberForm form) {
  for (std::size_t at = line.rfind(name); at != line.npos;) {
    if (at == 0 || !is_in_name(line[at - 1])) {
      const PrintedNumber number = number_at(line.substr(at + name.size()), form);
      if (number.is_cut) return {.number = number};
      if (number.value) return {at, number};
    }
    if (at == 0) break;
    at = line.rfind(name, at - 1);
  }
  return {};
}

/// "train.py:10: UserWarning": a line of a file.
bool is_place_in_source(std::string_view behind, const std::string& name) {
  if (name.find('.') == name.npos || !behind.starts_with(':')) return false;
  const std::size_t end = behind.find_first_not_of("0123456789", 1);
  return end != behind.npos && end > 1 && behind[end] == ':';
}

/// The whole number in `text` that a double has rounded to `value`, as it is written: the first
/// one behind `name`, or else of all. Null if a double has it exactly, or it has more than 64 bits.
Json whole_number_in(std::string_view text, std::string_view name, double value) {
  constexpr double most_exact = 0x1p53;
  if (!(std::abs(value) >= most_exact) || std::abs(value) > 0x1p64) return nullptr;
  const std::string_view last_part = name.substr(name.rfind('/') + 1);
  const std::size_t place = std::min(text.rfind(last_part), text.size());
  for (std::string_view rest : {text.substr(place), text}) {
    while (!rest.empty()) {
      const std::size_t begin = rest.find_first_of("0123456789");
      if (begin == rest.npos) break;
      const std::size_t end = std::min(rest.find_first_not_of("0123456789", begin), rest.size());
      const std::size_t sign = begin > 0 && rest[begin - 1] == '-' ? 1 : 0;
      const Json number =
          Json::parse(rest.substr(begin - sign, end - begin + sign), nullptr, false);
      if (number.is_number_integer() && number.get<double>() == value) return number;
      rest.remove_prefix(end);
    }
  }
  return nullptr;
}

/// Of a line that ends with a JSON object, as Syne Tune and many loggers print it; nested names
/// have slashes.
std::optional<Metrics> object_at_end(std::string_view line) {
  const std::size_t begin = line.find('{');
  if (begin == line.npos) return std::nullopt;
  const std::size_t end = line.find_last_not_of(" \t");
  if (line[end] != '}') return std::nullopt;
  try {
    return parse_metrics(quote_non_finite(line.substr(begin, end - begin + 1)));
  } catch (const std::invalid_argument&) {
    return std::nullopt;  // a dictionary of Python's, or anything else with braces
  }
}

std::unique_ptr<RE2> compile(const std::string& expression) {
  RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<RE2>(expression, options);
}

}  // namespace

std::string complaint_about_expression(const std::string& expression) {
  const auto compiled = compile(expression);
  if (!compiled->ok()) return compiled->error();
  const int groups = compiled->NumberOfCapturingGroups();
  if (groups == 1) return "";
  return "it has " + std::to_string(groups) +
         " groups: exactly one, (...), is the number; (?:...) "
         "groups without taking";
}

struct MetricReader::Expressions {
  std::vector<std::unique_ptr<RE2>> compiled;  ///< one for each metric; null: by name
};

/// How the metrics without an expression have been printed so far.
struct MetricReader::Forms {
  std::vector<bool> has_colon;  ///< one for each metric: what stands behind a blank is prose
  TableReader table;
};

MetricReader::MetricReader(PlainReading reading)
    : reading_(std::move(reading)),
      expressions_(std::make_unique<Expressions>()),
      forms_(std::make_unique<Forms>()) {
  forms_->has_colon.resize(reading_.metrics.size());
  for (const PlainMetric& metric : reading_.metrics) {
    expressions_->compiled.push_back(metric.expression.empty() ? nullptr
                                                               : compile(metric.expression));
  }
}
MetricReader::~MetricReader() = default;
MetricReader::MetricReader(MetricReader&&) noexcept = default;

std::optional<Metrics> MetricReader::read(std::string_view line, bool overwritten) {
  const bool is_json = read_json(line);
  if (!is_json) forms_->table.read(line, reading_.metrics);
  for (std::size_t i = 0; i < reading_.metrics.size(); ++i) {
    const PlainMetric& metric = reading_.metrics[i];
    if (expressions_->compiled[i]) {
      const RE2& expression = *expressions_->compiled[i];
      std::string_view found;
      re2::StringPiece group;
      if (!RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), expression, &group)) {
        continue;
      }
      found = std::string_view(group.data(), group.size());
      const std::string_view text = found;
      const auto number = take_number(found);
      if (!number) continue;
      if (goes_on(text.substr(0, text.size() - found.size()), found)) {
        note_cut(line);
      } else {
        set(metric.name, *number, text);
      }
    } else if (!is_json) {
      const PrintedNumber number = number_by_name(line, i);
      if (number.value) set(metric.name, *number.value, line);
      if (number.is_cut) note_cut(line);
    }
  }
  if (pending_.empty()) return std::nullopt;
  std::vector<double> closed;
  for (const std::string& name : reading_.closing) {
    const double* const value = pending(name);
    if (value == nullptr) return std::nullopt;
    closed.push_back(*value);
  }
  const auto is_same = [](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
  };
  const bool is_repeated =
      overwritten && std::equal(closed.begin(), closed.end(), last_.begin(), last_.end(), is_same);
  last_ = std::move(closed);
  auto values = std::exchange(pending_, {});
  if (is_repeated) return std::nullopt;
  Json object = Json::object();
  for (auto& [name, value, whole] : values) {
    if (!whole.is_null()) {
      object[name] = std::move(whole);
    } else if (std::isfinite(value)) {
      object[name] = value;
    } else {
      object[name] = std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
    }
  }
  try {
    return parse_metrics(object.dump());
  } catch (const std::exception&) {
    return std::nullopt;  // names that are no UTF-8
  }
}

PrintedNumber MetricReader::number_by_name(std::string_view line, std::size_t metric) {
  const std::string& name = reading_.metrics[metric].name;
  const auto found = [](const PrintedNumber& number) { return number.value || number.is_cut; };
  PrintedNumber number = find_number(line, name, NumberForm::colon).number;
  if (number.value) forms_->has_colon[metric] = true;
  if (found(number) || forms_->has_colon[metric]) return number;
  number = find_number(line, name, NumberForm::blank).number;
  return found(number) ? number : forms_->table.find(name);
}

void MetricReader::note_cut(std::string_view line) {
  if (!std::exchange(has_cut_, true)) cut_ = line;
}

std::optional<std::string> MetricReader::take_cut() { return std::exchange(cut_, std::nullopt); }

bool MetricReader::read_json(std::string_view line) {
  const auto metrics = object_at_end(line);
  if (!metrics) return false;
  for (const Metric& metric : metrics->numbers) set(metric.name, metric.value, line);
  return true;
}

void MetricReader::set(std::string_view name, double value, std::string_view text) {
  const auto known = std::find_if(pending_.begin(), pending_.end(),
                                  [name](const Pending& each) { return each.name == name; });
  if (known != pending_.end()) {
    known->value = value;
    known->whole = whole_number_in(text, name, value);
  } else if (pending_.size() < most_metric_names) {
    pending_.push_back({std::string(name), value, whole_number_in(text, name, value)});
  }
}

const double* MetricReader::pending(std::string_view name) const {
  for (const Pending& each : pending_) {
    if (each.name == name) return &each.value;
  }
  return nullptr;
}

std::optional<std::size_t> place_of_number(std::string_view line, std::string_view name) {
  const auto at = find_number(line, name, NumberForm::colon).at;
  return at ? at : find_number(line, name, NumberForm::blank).at;
}

std::optional<double> number_behind(std::string_view line, std::string_view name, NumberForm form) {
  return find_number(line, name, form).number.value;
}

std::vector<std::string> names_in(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  std::string others;  // the lines without an object, of which each name is known
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const auto metrics = object_at_end(line);
    if (!metrics) others.append(line) += '\n';
    for (std::size_t i = 0; metrics && i < metrics->numbers.size() && names.size() < most; ++i) {
      const std::string& name = metrics->numbers[i].name;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
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
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

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

/// Whether the digits at `begin` go on with a number, as "000" does in "1'000".
bool is_cut_before(std::string_view line, std::size_t begin) {
  const std::size_t digit = line.substr(0, begin).find_last_of("0123456789");
  if (digit == line.npos) return false;
  const std::size_t first = number_begin(line, digit);
  return goes_on(line.substr(first, digit + 1 - first), line.substr(digit + 1));
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

}  // namespace

std::string expression_for(std::string_view line) {
  constexpr std::size_t most_before = 24;  // enough to tell it from other numbers of the line
  for (std::size_t end = line.size(); end > 0;) {
    const std::size_t at = line.find_last_of("0123456789", end - 1);
    if (at == line.npos) break;
    const std::size_t begin = number_begin(line, at);
    if (is_cut_before(line, begin)) return "";
    std::size_t from = begin > most_before ? begin - most_before : 0;
    while (from > 0 && from < begin && !is_blank(line[from - 1])) ++from;
    const std::string_view before = line.substr(from, begin - from);
    if (std::any_of(before.begin(), before.end(), is_letter)) {
      return pattern_of(before) + "([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)";
    }
    end = begin;
  }
  return "";
}

}  // namespace tune
