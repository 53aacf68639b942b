// Column layouts of progress.csv, cached by the set of a result's metric names, and the formatting
// of cells.
#include "callbacks/csv_rows.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "tuner/base/csv_text.h"
#include "tuner/base/decimal.h"
#include "tuner/base/json_text.h"
#include "tuner/model/metric_cells.h"

namespace tune {

namespace {

constexpr std::size_t max_layouts = 16;

void append_csv_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-inf" : "inf";
  } else {
    append_decimal(out, value);
  }
}

/// As a table program reads it, in one line.
void append_csv_cell(std::string& out, const MetricCell& cell) {
  const std::string& text = cell.text;
  if (cell.kind == MetricCell::Kind::number) {
    csv::append_cell(out, text == "Infinity" ? "inf" : text == "-Infinity" ? "-inf" : text, false);
    return;
  }
  const bool plain =
      std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
  if (plain) {
    csv::append_text(out, text, false);
    return;
  }
  std::string escaped;
  append_string(escaped, text);
  csv::append_cell(out, escaped, false);
}

}  // namespace

CsvRows::Layout CsvRows::make_layout(FieldSet fields, std::vector<std::string> names) {
  Layout layout{fields, std::move(names), {}, {}};
  layout.shown.assign(layout.names.size(), true);
  std::unordered_set<std::string_view> seen;
  seen.reserve(layout.names.size());
  for (std::size_t i = layout.names.size(); i-- > 0;) {
    const auto& name = layout.names[i];
    layout.shown[i] = !is_driver_field(name) && seen.insert(name).second;
  }
  for (std::size_t i = 0; i < driver_fields.size(); ++i) {
    if (fields[i]) csv::append_cell(layout.header, driver_fields[i], i == 0);
  }
  for (std::size_t i = 0; i < layout.names.size(); ++i) {
    if (!layout.shown[i]) continue;
    std::string name = layout.names[i];
    std::replace_if(
        name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }, ' ');
    csv::append_text(layout.header, name, false);
  }
  return layout;
}

template <class Values>
const CsvRows::Layout& CsvRows::layout_of(FieldSet fields, const Values& values) {
  const auto fits = [&](const Layout& layout) {
    return layout.fields == fields &&
           std::equal(
               values.begin(), values.end(), layout.names.begin(), layout.names.end(),
               [](const auto& value, const std::string& name) { return value.name == name; });
  };
  const auto found = std::find_if(layouts_.begin(), layouts_.end(), fits);
  if (found == layouts_.end()) {
    std::vector<std::string> names;
    for (const auto& value : values) names.push_back(value.name);
    if (layouts_.size() == max_layouts) layouts_.pop_back();
    layouts_.push_front(make_layout(fields, std::move(names)));
  } else if (found != layouts_.begin()) {
    std::swap(*found, layouts_.front());
  }
  return layouts_.front();
}

template <class Values, class Append>
void CsvRows::append_row(const Values& values, Append append_value) {
  FieldSet fields;
  for (std::size_t i = 0; i < driver_fields.size(); ++i) fields[i] = !fields_.text(i).empty();
  const Layout& layout = layout_of(fields, values);
  layout_ = &layout;
  row_.clear();
  for (std::size_t i = 0; i < driver_fields.size(); ++i) {
    if (fields[i]) csv::append_cell(row_, fields_.text(i), i == 0);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (layout.shown[i]) append_value(values[i]);
  }
  row_ += '\n';
}

CsvRows::Row CsvRows::make(TrialId trial, const Result& result) {
  fields_.fill(trial, result);
  const auto& metrics = result.metrics;
  // From here on an integer may have digits that its double has not: 2^53 + 1 is this one.
  constexpr double first_inexact = 0x1p53;
  const bool are_exact =
      std::none_of(metrics.numbers.begin(), metrics.numbers.end(), [](const Metric& metric) {
        return std::isfinite(metric.value) && std::abs(metric.value) >= first_inexact;
      });
  if (!metrics.has_others && are_exact) {
    append_row(metrics.numbers, [&](const Metric& metric) {
      row_ += ',';
      append_csv_number(row_, metric.value);
    });
  } else {
    append_row(cells_of(metrics.text),
               [&](const MetricCell& cell) { append_csv_cell(row_, cell); });
  }
  return {layout_->header, row_};
}

}  // namespace tune
