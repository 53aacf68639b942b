// Quoting and splitting of cells, with an apostrophe before what a spreadsheet would take for a
// formula.
#include "tuner/base/csv_text.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

namespace tune::csv {
namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// Or would be without the apostrophes before it.
bool is_formula(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of('\''), text.size());
  const std::string_view rest = text.substr(begin);
  if (rest.empty() || std::string_view("=+-@\t\r\n").find(rest.front()) == std::string_view::npos) {
    return false;
  }
  return begin > 0 || !is_number(rest);
}

}  // namespace

void append_cell(std::string& line, std::string_view cell, bool first) {
  if (!first) line += ',';
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += cell;
    return;
  }
  line += '"';
  for (const char c : cell) {
    if (c == '"') line += '"';
    line += c;
  }
  line += '"';
}

void append_text(std::string& line, std::string_view text, bool first) {
  is_formula(text) ? append_cell(line, "'" + std::string(text), first)
                   : append_cell(line, text, first);
}

std::string_view text_of(std::string_view cell) {
  return cell.starts_with('\'') && is_formula(cell.substr(1)) ? cell.substr(1) : cell;
}

std::vector<std::string> split(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return cells;
}

std::string widened(std::string_view header, std::string_view more) {
  std::set<std::string, std::less<>> known;
  for (const auto& column : split(header)) known.emplace(text_of(column));
  std::string wide(header);
  for (const auto& column : split(more)) {
    if (known.emplace(text_of(column)).second) append_cell(wide, column, false);
  }
  return wide;
}

std::string moved(std::string_view rows, std::string_view from, std::string_view to) {
  constexpr auto nowhere = std::numeric_limits<std::size_t>::max();
  std::unordered_map<std::string, std::size_t> positions;
  for (const auto& column : split(from)) positions.emplace(text_of(column), positions.size());
  std::vector<std::size_t> sources;
  for (const auto& column : split(to)) {
    const auto found = positions.find(std::string(text_of(column)));
    sources.push_back(found == positions.end() ? nowhere : found->second);
  }
  std::string out;
  while (!rows.empty()) {
    const auto end = rows.find('\n');
    const auto cells = split(rows.substr(0, end));
    for (std::size_t i = 0; i < sources.size(); ++i) {
      append_cell(out, sources[i] < cells.size() ? std::string_view(cells[sources[i]]) : "",
                  i == 0);
    }
    out += '\n';
    rows.remove_prefix(end == std::string_view::npos ? rows.size() : end + 1);
  }
  return out;
}

}  // namespace tune::csv
