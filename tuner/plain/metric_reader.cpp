#include "tuner/plain/metric_reader.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "trainable/values.h"
#include "tuner/plain/named_number.h"
#include "tuner/plain/printed_number.h"
#include "tuner/plain/table_reader.h"

namespace tune {

namespace {

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

}  // namespace tune
