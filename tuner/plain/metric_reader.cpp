// Reads one line: JSON, the user's expressions (RE2), tables, then names with numbers; redrawn
// progress bars count once.
#include "tuner/plain/metric_reader.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "trainable/values.h"
#include "tuner/plain/epoch_bars.h"
#include "tuner/plain/named_number.h"
#include "tuner/plain/no_result.h"
#include "tuner/plain/own_count.h"
#include "tuner/plain/printed_counts.h"
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

/// "epoch 3" or "[3", where lines of one epoch have the same; a number alone may be anything.
std::string count_of_epoch(std::string_view line) {
  const std::string text = without_times(line);
  std::string count = count_in(text);
  if (count.empty() || is_letter(count.front())) return count;
  // Such a count is what the line begins with.
  const bool is_in_brackets = count.find_first_not_of("0123456789", 1) == count.npos &&
                              count.front() == '[' && count.size() < text.size() &&
                              (text[count.size()] == ']' || text[count.size()] == '/');
  return is_in_brackets ? count : "";
}

/// Whether the line has `name` with other capitals, and not as the best so far. Who prints
/// "Loss 0.7 | best loss 0.5" means the former by "loss".
bool is_in_other_case(std::string_view line, std::string_view name) {
  const auto in_small_letters = [](std::string_view text) {
    std::string small(text);
    for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return small;
  };
  const std::string small = in_small_letters(line), small_name = in_small_letters(name);
  NamedNumber found = find_number(small, small_name, NumberForm::colon);
  if (found.is_none()) found = find_number(small, small_name, NumberForm::blank);
  return found.at && !found.is_best;
}

/// Whether what the line says of `name` is the best so far, or what the training has come to.
bool names_the_best(std::string_view line, std::string_view name) {
  NamedNumber found = find_number(line, name, NumberForm::colon);
  if (found.is_none()) found = find_number(line, name, NumberForm::blank);
  return found.is_best || line.starts_with("Final") || line.starts_with("final");
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

struct MetricReader::Stream {
  QuotedLines quoted;
  EpochSteps steps;
  TitledBars bars;
  std::vector<PrintedValue> shown;  ///< by the epoch's bar, last
  bool is_part = false;             ///< that is of some of the epoch's steps
  bool has_epochs_result = false;   ///< the epoch's steps have closed a result
};

/// Where a metric has stood before a colon: what stands behind a blank is prose then, but for lines
/// beside bars that alone have one.
enum class Colon {
  none,
  in_bars,
  in_lines,
};

/// How the metrics without an expression have been printed so far.
struct MetricReader::Forms {
  std::vector<Colon> colon;                   ///< one for each metric
  std::vector<Colon> may_colon;               ///< of what was read since the last result
  std::vector<std::optional<Colon>> of_line;  ///< of the line that was read last; nothing: none
  TableReader table;
  std::array<Stream, 2> streams;
};

MetricReader::MetricReader(PlainReading reading)
    : MetricReader(std::move(reading), std::make_unique<CountedPhases>()) {}

MetricReader::MetricReader(PlainReading reading, std::unique_ptr<CountedPhases> own)
    : MetricReader(std::move(reading), *own) {
  own_counted_ = std::move(own);
}

MetricReader::MetricReader(PlainReading reading, CountedPhases& counted)
    : reading_(std::move(reading)),
      expressions_(std::make_unique<Expressions>()),
      forms_(std::make_unique<Forms>()),
      join_(std::make_unique<ResultJoin>(reading_.closing, counted)) {
  forms_->colon.resize(reading_.metrics.size());
  forms_->may_colon.resize(reading_.metrics.size());
  forms_->of_line.resize(reading_.metrics.size());
  for (const PlainMetric& metric : reading_.metrics) {
    expressions_->compiled.push_back(metric.expression.empty() ? nullptr
                                                               : compile(metric.expression));
    never_read_.push_back(metric.name);
    is_by_name_ = is_by_name_ && (metric.expression.empty() || !is_closing(metric.name));
  }
}
MetricReader::~MetricReader() = default;
MetricReader::MetricReader(MetricReader&&) noexcept = default;

std::optional<Metrics> MetricReader::read(std::string_view line, bool overwritten,
                                          std::size_t stream) {
  Stream& of = forms_->streams.at(stream);
  const bool is_quoted = of.quoted.take(line, overwritten);
  of.bars.see(line);
  ++lines_;
  of_line_.clear();
  joined_phase_.reset();
  has_closing_ = false;
  std::fill(forms_->of_line.begin(), forms_->of_line.end(), std::nullopt);
  const bool is_json = !is_quoted && read_json(line);
  forms_->table.read(is_quoted || is_json ? "" : line, reading_.metrics);
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
        note(ReadingRemark::What::cut, line, metric.name);
      } else {
        set(metric.name, *number, text);
        forms_->of_line[i] = Colon::none;
      }
    } else if (!is_json) {
      read_by_name(line, i, is_quoted, is_bar(line, overwritten));
    }
  }
  return close(line, overwritten, of);
}

void MetricReader::judged(bool counts) {
  for (std::size_t i = 0; i < forms_->colon.size(); ++i) {
    const Colon now = std::exchange(forms_->may_colon[i], Colon::none);
    if (counts) forms_->colon[i] = std::max(forms_->colon[i], now);
  }
}

bool MetricReader::may_close(std::string_view line) const {
  const auto has_number = [&](const std::string& name) {
    const auto metric = std::find_if(reading_.metrics.begin(), reading_.metrics.end(),
                                     [&](const PlainMetric& each) { return each.name == name; });
    if (metric == reading_.metrics.end()) return false;
    const auto& expression =
        expressions_
            ->compiled[static_cast<std::size_t>(std::distance(reading_.metrics.begin(), metric))];
    if (expression) return RE2::PartialMatch({line.data(), line.size()}, *expression);
    return place_of_number(line, name).has_value();
  };
  return !line.empty() && std::any_of(reading_.closing.begin(), reading_.closing.end(), has_number);
}

void MetricReader::begin_launch() {
  std::vector<Colon> colon = std::move(forms_->colon);
  *forms_ = Forms{.colon = std::move(colon),
                  .may_colon = std::vector<Colon>(reading_.metrics.size()),
                  .of_line = std::vector<std::optional<Colon>>(reading_.metrics.size()),
                  .table = {},
                  .streams = {}};
  join_->begin_launch();
  of_line_.clear();
  pending_.clear();
  late_.clear();
  last_.clear();
  remarks_.clear();
  noted_.reset();
}

std::optional<Metrics> MetricReader::close(std::string_view line, bool overwritten, Stream& of) {
  using Line = EpochSteps::Line;
  const Line kind = is_by_name_ ? of.steps.take(line) : Line::other;
  if (kind == Line::title) {
    take_closed(line, overwritten);  // what it has beside, such as a count
    of.has_epochs_result = false;
    if (!std::exchange(of.is_part, false)) return std::nullopt;
    is_unchanged(of.shown);
    return metrics_of(std::exchange(of.shown, {}));
  }
  std::vector<PrintedValue> closed = take_closed(line, overwritten);
  if (closed.empty()) return std::nullopt;
  forget_forms_before_line();
  if (kind != Line::other) {
    if (of.has_epochs_result) return std::nullopt;
    if (!of.is_part) of.shown.clear();
    for (PrintedValue& value : closed) put(of.shown, std::move(value));
    // Keras draws all steps twice, the second time with the values of the validation, and those of
    // the training as they were at the end: that drawing is the one that nothing overwrites.
    of.is_part = kind == Line::part || overwritten || !has_all_named(of.shown);
    if (of.is_part) return std::nullopt;
    of.has_epochs_result = true;
    is_unchanged(of.shown);
    return metrics_of(std::exchange(of.shown, {}));
  }
  const bool is_same = is_unchanged(closed);
  const TitledBars::Drawing drawing = of.bars.take(line, overwritten, is_same);
  const std::vector<PrintedValue> before = std::exchange(of.shown, closed);
  if (drawing == TitledBars::Drawing::again) return std::nullopt;
  return metrics_of(drawing == TitledBars::Drawing::next ? before : closed);
}

/// The numbers of the result that the line which was read last closes, if it closes one. What waits
/// for others is no part of a line that has all.
std::vector<PrintedValue> MetricReader::take_closed(std::string_view line, bool overwritten) {
  const auto& names = reading_.closing;
  const auto has_all = [&](const std::vector<PrintedValue>& values) {
    return std::all_of(names.begin(), names.end(),
                       [&](const auto& name) { return find(values, name) != nullptr; });
  };
  if (names.size() > 1) {
    if (!has_all(of_line_)) return take_joined(line, overwritten);
    note_late(join_->settle());
    pending_ = join_->release();
  }
  for (PrintedValue& value : of_line_) put(pending_, std::move(value));
  return has_all(pending_) ? std::exchange(pending_, {}) : std::vector<PrintedValue>();
}

std::vector<PrintedValue> MetricReader::take_joined(std::string_view line, bool overwritten) {
  if (of_line_.empty()) return {};
  const bool may_close = std::any_of(of_line_.begin(), of_line_.end(),
                                     [&](const auto& value) { return is_closing(value.name); });
  const std::string count = may_close ? count_of_epoch(line) : "";
  const bool of_bar = may_close && is_bar(line, overwritten);
  for (PrintedValue& value : of_line_) {
    if (!is_closing(value.name)) continue;
    value.count = count;
    value.is_bar = of_bar;
    if (const auto closing = closing_line(line, value.name)) value.phase = closing->phase;
    value.sums_up = names_the_best(line, value.name);
  }
  std::vector<ResultJoin::Result> results = join_->take(lines_, std::exchange(of_line_, {}));
  std::vector<PrintedValue> closed;
  if (!results.empty() && results.back().line == lines_) {
    joined_phase_ = results.back().phase;
    closed = std::move(results.back().values);
    results.pop_back();
  }
  note_late(std::move(results));
  return closed;
}

void MetricReader::note_late(std::vector<ResultJoin::Result> results) {
  for (ResultJoin::Result& result : results) {
    late_.push_back({result.line, metrics_of(std::move(result.values)), result.phase});
  }
}

std::vector<MetricReader::Joined> MetricReader::take_late(bool is_end) {
  if (is_end) note_late(join_->settle());
  return std::exchange(late_, {});
}

/// Where one line has all that closes a result, what came before it has no part in that: of
/// "loss 0.3 | acc 61" behind "Test: Average loss: 0.4" the former tells how results are printed.
void MetricReader::forget_forms_before_line() {
  std::vector<std::optional<Colon>>& of_line = forms_->of_line;
  for (std::size_t i = 0; i < of_line.size(); ++i) {
    if (!of_line[i] && is_closing(reading_.metrics[i].name)) return;
  }
  for (std::size_t i = 0; i < of_line.size(); ++i) {
    if (of_line[i]) forms_->may_colon[i] = *of_line[i];
  }
}

std::optional<MetricReader::Last> MetricReader::finish() {
  for (std::size_t stream = 0; stream < forms_->streams.size(); ++stream) {
    Stream& of = forms_->streams[stream];
    if (!of.is_part && !of.bars.has_unchanged_end()) continue;
    if (auto metrics = metrics_of(std::exchange(of.shown, {}))) return Last{stream, *metrics};
  }
  return std::nullopt;
}

std::optional<Metrics> MetricReader::metrics_of(std::vector<PrintedValue> values) {
  Json object = Json::object();
  for (auto& [name, value, whole, phase, count, of_bar, sums_up] : values) {
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

bool MetricReader::is_row(std::string_view metric) const {
  return forms_->table.find(metric).value.has_value();
}

/// Whether all metrics that are read by name are there.
bool MetricReader::has_all_named(const std::vector<PrintedValue>& values) const {
  return std::all_of(reading_.metrics.begin(), reading_.metrics.end(), [&](const auto& metric) {
    return !metric.expression.empty() || find(values, metric.name) != nullptr;
  });
}

std::vector<std::string> MetricReader::lacking() const {
  std::vector<std::string> names;
  for (const std::string& name : reading_.closing) {
    if (find(pending_, name) == nullptr && !join_->has(name)) names.push_back(name);
  }
  return names;
}

bool MetricReader::is_closing(std::string_view name) const {
  return std::find(reading_.closing.begin(), reading_.closing.end(), name) !=
         reading_.closing.end();
}

bool MetricReader::is_unchanged(const std::vector<PrintedValue>& values) {
  std::vector<double> closed;
  for (const std::string& name : reading_.closing) {
    if (const auto* const value = find(values, name)) closed.push_back(value->value);
  }
  const auto is_same = [](double a, double b) {
    return a == b || (std::isnan(a) && std::isnan(b));
  };
  const bool is_unchanged =
      std::equal(closed.begin(), closed.end(), last_.begin(), last_.end(), is_same);
  last_ = std::move(closed);
  return is_unchanged;
}

void MetricReader::read_by_name(std::string_view line, std::size_t metric, bool is_quoted,
                                bool is_bar) {
  const std::string& name = reading_.metrics[metric].name;
  NamedNumber found = find_number(line, name, NumberForm::colon);
  const bool is_behind_blank = found.is_none();
  if (is_behind_blank) found = find_number(line, name, NumberForm::blank);
  if (found.is_best && is_in_other_case(line, name)) return;
  const bool is_row_of_table = found.is_none();
  if (is_row_of_table) found.number = forms_->table.find(name);
  if (found.is_none()) {
    if (forms_->table.is_foreign_of(name)) {
      note(forms_->table.may_be_row() ? ReadingRemark::What::lost_row
                                      : ReadingRemark::What::other_table,
           line, name);
    }
    return;
  }
  if (is_row_of_table && forms_->table.is_doubtful()) {
    note(ReadingRemark::What::doubtful_row, line, name);
  }
  const Colon colon = forms_->colon[metric];
  const bool is_left_out =
      is_behind_blank &&
      (colon == Colon::in_lines || (colon == Colon::in_bars && (is_bar || found.is_best)));
  if (is_quoted || found.is_ruled_out) {
    note(ReadingRemark::What::no_result, line, name);
  } else if (is_left_out) {
    if (found.number.value && !found.is_best) note(ReadingRemark::What::no_colon, line, name);
  } else if (found.number.is_cut) {
    note(ReadingRemark::What::cut, line, name);
  } else {
    // A line that sums up may have another form than the results.
    const Colon form = is_behind_blank || found.is_best ? Colon::none
                       : is_bar                         ? Colon::in_bars
                                                        : Colon::in_lines;
    forms_->may_colon[metric] = std::max(forms_->may_colon[metric], form);
    forms_->of_line[metric] = form;
    if (found.number.has_another) note(ReadingRemark::What::two_numbers, line, name);
    if (found.has_others) note(ReadingRemark::What::several_numbers, line, name);
    set(name, *found.number.value, line);
  }
}

void MetricReader::note(ReadingRemark::What what, std::string_view line, std::string_view name) {
  const auto kind = static_cast<std::size_t>(what);
  if (noted_[kind]) return;
  noted_.set(kind);
  remarks_.push_back({what, std::string(line), std::string(name)});
}

bool MetricReader::read_json(std::string_view line) {
  const auto numbers = object_at_end(line);
  if (!numbers || ends_in_settings(line.substr(0, line.find('{') + 1))) return false;
  for (const Metric& metric : *numbers) set(metric.name, metric.value, line);
  return true;
}

void MetricReader::set(std::string_view name, double value, std::string_view text) {
  has_closing_ = has_closing_ || is_closing(name);
  if (!never_read_.empty()) std::erase(never_read_, name);
  put(of_line_, {std::string(name), value, whole_number_in(text, name, value)});
}

}  // namespace tune
