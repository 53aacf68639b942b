// Sorts rows of values and prints them as a table or CSV.
#include "apps/tune/trial_table.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "apps/tune/output.h"
#include "tuner/base/csv_text.h"

namespace tune {

namespace {

bool is_missing(const Json& value) {
  const auto number = decode_number(value);
  return value.is_null() || (number && std::isnan(*number));
}

/// Numbers by value, before text by its letters.
bool comes_before(const Json& a, const Json& b) {
  const auto x = exact_number(a);
  const auto y = exact_number(b);
  if (x && y) return *x < *y;
  if (x || y) return x.has_value();
  return a < b;
}

bool is_number_column(const TableRows& rows, std::size_t column) {
  return std::all_of(rows.begin(), rows.end(), [column](const auto& row) {
    return row[column].is_null() || decode_number(row[column]);
  });
}

/// JSON has times as numbers.
Json with_date(const TrialFields::Field& column, const Json& value) {
  return column.is_time && value.is_number() ? Json(iso_time(value.get<double>())) : value;
}

}  // namespace

bool sorts_before(const Json& a, const Json& b, bool descending) {
  if (is_missing(a) || is_missing(b)) return !is_missing(a) && is_missing(b);
  return descending ? comes_before(b, a) : comes_before(a, b);
}

void print_as_table(const std::vector<TrialFields::Field>& columns, const TableRows& rows,
                    const TableRows& shown) {
  std::vector<TableColumn> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    titles.push_back({columns[i].name, !columns[i].is_time && is_number_column(rows, i)});
  }
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : shown.empty() ? rows : shown) {
    auto& line = cells.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      line.push_back(cell_text(with_date(columns[i], row[i])));
    }
  }
  print_table(titles, cells);
}

void print_as_csv(const std::vector<TrialFields::Field>& columns, const TableRows& rows) {
  std::string text;
  const auto add_line = [&text](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) csv::append_text(text, cells[i], i == 0);
    text += '\n';
  };
  std::vector<std::string> cells;
  for (const auto& column : columns) cells.push_back(column.name);
  add_line(cells);
  for (const auto& row : rows) {
    cells.clear();
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Json value = with_date(columns[i], row[i]);
      const bool is_list = columns[i].source == TrialFields::Field::Source::own && value.is_array();
      if (value.is_null() || (is_list && value.empty())) {
        cells.emplace_back();
      } else if (value.is_string() || is_list) {
        cells.push_back(cell_text(value));
      } else {
        cells.push_back(value.dump());
      }
    }
    add_line(cells);
  }
  print_data(text);
}

}  // namespace tune
