#include "tests/bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace tune::bench {

namespace {

std::string short_text(double value) {
  char buffer[32];
  const double size = std::abs(value);
  std::snprintf(buffer, sizeof buffer, size >= 1000 ? "%.0f" : size >= 10 ? "%.1f" : "%.3g", value);
  return buffer;
}

bool is_met(const Row& row) {
  const double score = median(row.scores());
  return row.kind == Aim::at_least ? score >= *row.aim : score <= *row.aim;
}

std::string verdict(const Row& row) {
  if (!row.aim) return "";
  return is_met(row) ? "yes" : "NO";
}

std::vector<std::string> cells(const Row& row) {
  const auto scores = row.scores();
  std::string ratio;
  if (!row.limit.empty()) ratio = short_text(median(scores));
  std::string aim;
  if (row.aim) aim = (row.kind == Aim::at_least ? ">= " : "<= ") + short_text(*row.aim);
  return {row.name,
          short_text(median(row.measured)) + " " + row.unit,
          row.limit.empty() ? "" : short_text(median(row.limit)) + " " + row.unit,
          ratio,
          short_text(scores.front()) + " .. " + short_text(scores.back()),
          aim,
          verdict(row)};
}

}  // namespace

std::vector<double> Row::scores() const {
  std::vector<double> all;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    all.push_back(limit.empty() ? measured[i] : measured[i] / limit[i]);
  }
  std::sort(all.begin(), all.end());
  return all;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double quantile(std::vector<double> values, double part) {
  const auto place = std::min(values.size() - 1,
                              static_cast<std::size_t>(part * static_cast<double>(values.size())));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place),
                   values.end());
  return values[place];
}

Row& Report::row(const Row& like) {
  for (auto& row : rows) {
    if (row.name == like.name) return row;
  }
  return rows.emplace_back(like);
}

void Report::print(std::ostream& out) const {
  std::vector<std::vector<std::string>> table{
      {"what", "measured", "raw limit", "ratio", "lowest .. highest", "aim", "met"}};
  for (const bool with_limit : {true, false}) {
    for (const auto& row : rows) {
      if (row.limit.empty() != with_limit) table.push_back(cells(row));
    }
  }
  std::vector<std::size_t> widths(table.front().size());
  for (const auto& line : table) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (std::size_t l = 0; l < table.size(); ++l) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      out << "| " << table[l][i] << std::string(widths[i] - table[l][i].size() + 1, ' ');
    }
    out << "|\n";
    if (l > 0) continue;
    for (const auto width : widths) out << "| " << std::string(width, '-') << ' ';
    out << "|\n";
  }
}

Json Report::to_json() const {
  Json all = Json::array();
  for (const auto& row : rows) {
    Json json = {{"name", row.name},
                 {"unit", row.unit},
                 {"measured", row.measured},
                 {"limit", row.limit},
                 {"score", median(row.scores())}};
    if (row.aim) {
      json["aim"] = *row.aim;
      json["kind"] = row.kind == Aim::at_least ? "at least" : "at most";
      json["met"] = is_met(row);
    }
    all.push_back(std::move(json));
  }
  return all;
}

}  // namespace tune::bench
