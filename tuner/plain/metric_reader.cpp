#include "tuner/plain/metric_reader.h"

#include <re2/re2.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "trainable/values.h"
#include "tuner/core/decimal.h"

namespace tune {

namespace {

bool is_in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '/' ||
         c == '-';
}
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool is_quote(char c) { return c == '\'' || c == '"'; }

/// Takes a number from the front of `text`, NaN and infinities too, as C, Python and Java write
/// them; nothing if there is none.
std::optional<double> take_number(std::string_view& text) {
  std::string_view rest = text;
  double sign = 1;
  if (rest.starts_with('+') || rest.starts_with('-')) {
    sign = rest.front() == '-' ? -1 : 1;
    rest.remove_prefix(1);
  }
  for (const char* const word : {"nan", "infinity", "inf"}) {
    const std::string_view name = word;
    const bool is_it = rest.size() >= name.size() &&
                       std::equal(name.begin(), name.end(), rest.begin(), [](char a, char b) {
                         return a == std::tolower(static_cast<unsigned char>(b));
                       });
    if (!is_it) continue;
    rest.remove_prefix(name.size());
    text = rest;
    return name == "nan" ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  if (rest.starts_with('-')) return std::nullopt;  // a second sign
  const Decimal decimal = read_decimal(rest);
  if (decimal.length == 0) return std::nullopt;
  text = rest.substr(decimal.length);
  return sign * decimal.value;
}

/// The number that `text`, what stands behind a name, begins with.
std::optional<double> number_at(std::string_view text) {
  const auto skip = [&text](bool (*fits)(char)) {
    while (!text.empty() && fits(text.front())) text.remove_prefix(1);
  };
  if (!text.empty() && is_quote(text.front())) text.remove_prefix(1);
  skip(is_blank);
  if (text.empty() || (text.front() != ':' && text.front() != '=')) return std::nullopt;
  text.remove_prefix(1);
  skip(is_blank);
  if (!text.empty() && is_quote(text.front())) text.remove_prefix(1);
  const auto number = take_number(text);
  if (!number || text.empty()) return number;
  const auto is_digit = [&text](std::size_t at) {
    return at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])) != 0;
  };
  const char next = text.front();
  if (next == '/' || next == '_' || std::isalpha(static_cast<unsigned char>(next))) {
    return std::nullopt;
  }
  // A version, a time, a date, a number with thousands set apart.
  constexpr std::string_view within = ".,:-";
  return within.find(next) != within.npos && is_digit(1) ? std::nullopt : number;
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

MetricReader::MetricReader(PlainReading reading)
    : reading_(std::move(reading)), expressions_(std::make_unique<Expressions>()) {
  for (const PlainMetric& metric : reading_.metrics) {
    expressions_->compiled.push_back(metric.expression.empty() ? nullptr
                                                               : compile(metric.expression));
  }
}
MetricReader::~MetricReader() = default;
MetricReader::MetricReader(MetricReader&&) noexcept = default;

std::optional<Metrics> MetricReader::read(std::string_view line, bool overwritten) {
  const bool is_json = read_json(line);
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
      if (const auto number = take_number(found)) set(metric.name, *number);
    } else if (!is_json) {
      if (const auto number = number_behind(line, metric.name)) set(metric.name, *number);
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
  const auto values = std::exchange(pending_, {});
  if (is_repeated) return std::nullopt;
  Json object = Json::object();
  for (const auto& [name, value] : values) {
    if (std::isfinite(value)) {
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

/// Lines that end with a JSON object, as Syne Tune and many loggers print them.
bool MetricReader::read_json(std::string_view line) {
  const std::size_t begin = line.find('{');
  if (begin == line.npos) return false;
  const std::size_t end = line.find_last_not_of(" \t");
  if (line[end] != '}') return false;
  try {
    const Metrics metrics = parse_metrics(quote_non_finite(line.substr(begin, end - begin + 1)));
    for (const Metric& metric : metrics.numbers) set(metric.name, metric.value);
    return true;
  } catch (const std::invalid_argument&) {
    return false;  // a dictionary of Python's, or anything else with braces
  }
}

void MetricReader::set(std::string_view name, double value) {
  for (auto& [known, kept] : pending_) {
    if (known != name) continue;
    kept = value;
    return;
  }
  if (pending_.size() < most_metric_names) pending_.emplace_back(name, value);
}

const double* MetricReader::pending(std::string_view name) const {
  for (const auto& [known, value] : pending_) {
    if (known == name) return &value;
  }
  return nullptr;
}

std::optional<std::size_t> place_of_number(std::string_view line, std::string_view name) {
  for (std::size_t at = line.rfind(name); at != line.npos;) {
    const bool is_whole = at == 0 || !is_in_name(line[at - 1]);
    if (is_whole && number_at(line.substr(at + name.size()))) return at;
    if (at == 0) break;
    at = line.rfind(name, at - 1);
  }
  return std::nullopt;
}

std::optional<double> number_behind(std::string_view line, std::string_view name) {
  const auto at = place_of_number(line, name);
  return at ? number_at(line.substr(*at + name.size())) : std::nullopt;
}

std::vector<std::string> names_in(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at < text.size() && names.size() < most; ++at) {
    if (text[at] != ':' && text[at] != '=') continue;
    std::size_t end = at;
    while (end > 0 && is_blank(text[end - 1])) --end;
    if (end > 0 && is_quote(text[end - 1])) --end;
    std::size_t begin = end;
    while (begin > 0 && is_in_name(text[begin - 1])) --begin;
    while (begin < end && (text[begin] == '-' || text[begin] == '.')) ++begin;
    const std::string name(text.substr(begin, end - begin));
    const bool is_name =
        std::any_of(name.begin(), name.end(), [](unsigned char c) { return std::isalpha(c) != 0; });
    if (!is_name || !number_at(text.substr(end))) continue;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace tune
