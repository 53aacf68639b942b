// Finds the columns of metrics in a header row, then reads numbers below it.
#include "tuner/plain/table_reader.h"

#include <algorithm>
#include <cctype>

namespace tune {

namespace {

constexpr std::size_t most_cells = 1'000;
constexpr std::string_view blanks = " \t";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

std::vector<std::string_view> split(std::string_view line, std::string_view separator) {
  std::vector<std::string_view> cells;
  for (std::size_t begin = 0; cells.size() <= most_cells;) {
    const std::size_t end = line.find(separator, begin);
    cells.push_back(trimmed(line.substr(begin, end == line.npos ? end : end - begin)));
    if (end == line.npos) break;
    begin = end + separator.size();
  }
  return cells;
}

/// A time such as 00:12, a share such as 12%, and what was not measured, too.
bool begins_as_number(std::string_view cell) {
  if (cell.empty() || cell == "-" || cell == "#na#") return true;
  if (cell.front() == '-' || cell.front() == '+' || cell.front() == '.') cell.remove_prefix(1);
  return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell.front())) != 0 ||
                           number_of_cell(cell).value.has_value());  // NaN
}

}  // namespace

std::vector<std::string_view> TableReader::cells_of(std::string_view line) {
  line = trimmed(line);
  for (const std::string_view bar : {"|", "│", "┃", ",", "\t"}) {
    if (line.find(bar) == line.npos) continue;
    auto cells = split(line, bar);
    if (cells.size() > 1 && cells.front().empty()) cells.erase(cells.begin());
    if (cells.size() > 1 && cells.back().empty() && bar != "," && bar != "\t") cells.pop_back();
    return cells;
  }
  std::vector<std::string_view> cells;
  for (std::string_view cell : split(line, " ")) {
    if (!cell.empty()) cells.push_back(cell);
  }
  return cells;
}

void TableReader::read(std::string_view line, const std::vector<PlainMetric>& metrics) {
  values_.clear();
  const bool has_name = std::any_of(metrics.begin(), metrics.end(), [&](const PlainMetric& metric) {
    return metric.expression.empty() && line.find(metric.name) != line.npos;
  });
  if (names_.empty() && !has_name) return;  // most lines
  const auto cells = cells_of(line);
  if (cells.size() > most_cells) return;
  if (cells.size() < 2) return read_column(cells, metrics);
  const bool is_header =
      has_name &&
      std::none_of(cells.begin(), cells.end(),
                   [](std::string_view cell) { return !cell.empty() && begins_as_number(cell); }) &&
      std::any_of(metrics.begin(), metrics.end(), [&](const PlainMetric& metric) {
        return std::find(cells.begin(), cells.end(), metric.name) != cells.end();
      });
  if (is_header) {
    names_.assign(cells.begin(), cells.end());
    return;
  }
  if (names_.size() == 1) names_.clear();
  if (cells.size() != names_.size()) return;
  if (!std::all_of(cells.begin(), cells.end(), begins_as_number)) return;
  for (const std::string_view cell : cells) values_.push_back(number_of_cell(cell));
}

/// Any word may stand alone in a line, and any number: a column ends at the first line that is none
/// of its numbers.
void TableReader::read_column(const std::vector<std::string_view>& cells,
                              const std::vector<PlainMetric>& metrics) {
  const std::string_view cell = cells.empty() ? "" : cells.front();
  const bool is_header = std::any_of(metrics.begin(), metrics.end(), [cell](const auto& metric) {
    return metric.expression.empty() && metric.name == cell;
  });
  if (is_header) {
    names_.assign(1, std::string(cell));
  } else if (names_.size() == 1 && number_of_cell(cell).value) {
    values_.push_back(number_of_cell(cell));
  } else if (names_.size() == 1 && cell.find_first_not_of("-=+") != cell.npos) {
    names_.clear();
  }
}

PrintedNumber TableReader::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  const auto at = static_cast<std::size_t>(found - names_.begin());
  return at < values_.size() ? values_[at] : PrintedNumber();
}

}  // namespace tune
