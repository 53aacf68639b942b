// Means and standard errors over seeds, and their three forms: table, CSV, JSON.
#include "apps/tune/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "apps/tune/output.h"
#include "tuner/base/csv_text.h"
#include "tuner/base/wide_sum.h"

namespace tune {

namespace {

using Cells = std::vector<std::pair<const char*, Json>>;

/// In the order of the CSV's columns.
Cells cells_of(const ComparedLine& line) {
  return {{"scheduler", line.scheduler},
          {"workers", line.workers},
          {"time_budget_s", line.budget_s ? Json(*line.budget_s) : Json()},
          {"seeds", line.seeds},
          {"best_mean", number_or_null(line.best.mean)},
          {"best_error", number_or_null(line.best.error)},
          {"target_s_mean", number_or_null(line.target_s.mean)},
          {"target_s_error", number_or_null(line.target_s.error)},
          {"target_reached", line.target_s.count},
          {"trials", line.trials},
          {"iterations", line.iterations},
          {"time_s", line.time_s}};
}

/// Whole seconds where there are many.
std::string seconds_text(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, seconds < 100 ? "%.3g" : "%.0f", seconds);
  return text;
}

template <class Format>
std::string with_error(const Spread& spread, const Format& format) {
  if (std::isnan(spread.mean)) return "-";
  return format(spread.mean) + (std::isnan(spread.error) ? "" : " +- " + format(spread.error));
}

/// Of a mean: whole numbers as they are.
std::string count_text(double mean) {
  char text[32];
  std::snprintf(text, sizeof text, std::floor(mean) == mean ? "%.0f" : "%.1f", mean);
  return text;
}

}  // namespace

Spread spread_of(const std::vector<double>& values) {
  Spread spread{.count = values.size(), .mean = std::nan(""), .error = std::nan("")};
  if (values.empty()) return spread;
  const auto n = static_cast<double>(values.size());
  spread.mean = average_of(values);
  if (values.size() > 1) spread.error = standard_deviation_of(values, n - 1) / std::sqrt(n);
  return spread;
}

ComparedLine summarize(std::string scheduler, std::uint64_t workers,
                       const std::vector<ReplayMark>& marks) {
  ComparedLine line{.scheduler = std::move(scheduler),
                    .workers = workers,
                    .budget_s = marks.front().budget_s,
                    .seeds = marks.size()};
  std::vector<double> best;
  std::vector<double> target;
  const double n = static_cast<double>(marks.size());
  for (const ReplayMark& mark : marks) {
    if (!std::isnan(mark.best)) best.push_back(mark.best);
    if (mark.target_s) target.push_back(*mark.target_s);
    line.trials += static_cast<double>(mark.trials) / n;
    line.iterations += static_cast<double>(mark.iterations) / n;
    line.time_s += mark.time_s / n;
  }
  line.best = spread_of(best);
  line.target_s = spread_of(target);
  return line;
}

std::string comparison_csv(const std::vector<ComparedLine>& lines) {
  std::string text;
  for (const ComparedLine& line : lines) {
    const Cells cells = cells_of(line);
    if (text.empty()) {
      for (const auto& [name, value] : cells) csv::append_text(text, name, text.empty());
      text += '\n';
    }
    std::string row;
    for (const auto& [name, value] : cells) {
      const std::string cell = value.is_null()     ? ""
                               : value.is_string() ? value.get<std::string>()
                                                   : value.dump();
      csv::append_text(row, cell, row.empty());
    }
    text += row + "\n";
  }
  return text;
}

Json comparison_json(const std::vector<ComparedLine>& lines) {
  Json list = Json::array();
  for (const ComparedLine& line : lines) {
    Json& object = list.emplace_back(Json::object());
    for (const auto& [name, value] : cells_of(line)) object[name] = value;
  }
  return list;
}

void print_comparison(const std::vector<ComparedLine>& lines, const std::string& metric) {
  const bool has_budgets = lines.front().budget_s.has_value();
  std::vector<TableColumn> columns = {{"scheduler"}, {"workers", true}};
  if (has_budgets) columns.push_back({"budget s", true});
  columns.insert(columns.end(), {{"best " + metric, true},
                                 {"s to target", true},
                                 {"reached", true},
                                 {"trials", true},
                                 {"iterations", true},
                                 {"time s", true}});
  std::vector<std::vector<std::string>> rows;
  for (const ComparedLine& line : lines) {
    auto& row = rows.emplace_back();
    row = {line.scheduler, std::to_string(line.workers)};
    if (has_budgets) row.push_back(seconds_text(*line.budget_s));
    row.insert(row.end(),
               {with_error(line.best, format_metric), with_error(line.target_s, seconds_text),
                std::to_string(line.target_s.count) + "/" + std::to_string(line.seeds),
                count_text(line.trials), count_text(line.iterations), seconds_text(line.time_s)});
  }
  print_table(columns, rows);
}

}  // namespace tune
