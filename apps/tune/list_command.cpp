// `tune ls`: the trials of an experiment as a table, CSV or JSON, filtered and sorted.
// Knows no journal: look_at has read it.
#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>

#include "apps/tune/commands.h"
#include "apps/tune/look.h"
#include "apps/tune/output.h"
#include "apps/tune/trial_fields.h"
#include "callbacks/csv_text.h"
#include "tuner/core/error.h"
#include "tuner/core/expression.h"
#include "tuner/core/nearest_name.h"

namespace tune {

namespace {

using Field = TrialFields::Field;

struct Row {
  const Trial* trial = nullptr;
  Json sort_key;
};

bool is_missing(const Json& value) {
  const auto number = decode_number(value);
  return value.is_null() || (number && std::isnan(*number));
}

/// Numbers by value, before text by its letters.
bool comes_before(const Json& a, const Json& b) {
  const auto x = decode_number(a);
  const auto y = decode_number(b);
  if (x && y) return *x < *y;
  if (x || y) return x.has_value();
  return a < b;
}

/// What is missing or NaN comes last, whichever way the rest is sorted.
void sort_rows(std::vector<Row>& rows, bool descending) {
  std::stable_sort(rows.begin(), rows.end(), [descending](const Row& a, const Row& b) {
    if (is_missing(a.sort_key) || is_missing(b.sort_key)) {
      return !is_missing(a.sort_key) && is_missing(b.sort_key);
    }
    return descending ? comes_before(b.sort_key, a.sort_key) : comes_before(a.sort_key, b.sort_key);
  });
}

/// The condition of --filter.
class Filter {
 public:
  Filter(const std::string& text, const TrialFields& fields) : expression_(parse(text)) {
    for (const auto& name : expression_.variables()) {
      if (name == "state") {
        throw user_error("--filter compares numbers: for states there is --state RUNNING,ERROR");
      }
      fields_.push_back(fields.find("name in --filter", name));
    }
  }

  /// False for a trial that lacks one of the numbers.
  bool accepts(const Trial& trial) const {
    const std::vector<Json> values = values_of(trial, fields_);
    const auto value = expression_.evaluate([&](const std::string& name) {
      const auto& names = expression_.variables();
      const auto found = std::find(names.begin(), names.end(), name);
      return decode_number(values[static_cast<std::size_t>(found - names.begin())]);
    });
    return value && *value != 0 && !std::isnan(*value);
  }

 private:
  static Expression parse(const std::string& text) {
    try {
      return Expression(text);
    } catch (const std::invalid_argument& error) {
      throw user_error(std::string("--filter: ") + error.what());
    }
  }

  Expression expression_;
  std::vector<Field> fields_;  ///< of its variables, in their order
};

std::set<TrialState> parse_states(const std::vector<std::string>& names) {
  std::set<TrialState> states;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const auto state = parse_trial_state(name);
    if (!state) {
      const std::vector<std::string> known = {"PENDING", "RUNNING", "PAUSED", "TERMINATED",
                                              "ERROR"};
      throw user_error(unknown_name("state", name, known));
    }
    states.insert(*state);
  }
  return states;
}

/// What somebody wants to see who has not said: the metric that counts, and what was drawn.
std::vector<std::string> usual_columns(const ResultGrid& grid) {
  std::vector<std::string> columns = {"trial_id", "state", "training_iteration", "time_total_s"};
  for (const auto& objective : grid.spec().objectives) columns.push_back(objective.metric);
  if (grid.experiment().count(TrialState::error) > 0) columns.emplace_back("failures");
  columns.emplace_back("tag");
  return columns;
}

std::vector<Field> find_columns(const ListRequest& request, const ResultGrid& grid,
                                const TrialFields& fields) {
  if (request.columns.empty() && request.csv) return fields.all();
  std::vector<Field> found;
  for (const auto& name : request.columns.empty() ? usual_columns(grid) : request.columns) {
    found.push_back(fields.find("column", name));
  }
  return found;
}

std::string cell_text(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return format_metric(value.get<double>());
  return value.dump();
}

bool is_number_column(const std::vector<std::vector<Json>>& rows, std::size_t column) {
  return std::all_of(rows.begin(), rows.end(), [column](const auto& row) {
    return row[column].is_null() || decode_number(row[column]);
  });
}

void print_as_table(const std::vector<Field>& columns, const std::vector<std::vector<Json>>& rows) {
  std::vector<TableColumn> titles;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    titles.push_back({columns[i].name, is_number_column(rows, i)});
  }
  std::vector<std::vector<std::string>> cells;
  for (const auto& row : rows) {
    auto& line = cells.emplace_back();
    for (const auto& value : row) line.push_back(cell_text(value));
  }
  print_table(titles, cells);
}

void print_as_csv(const std::vector<Field>& columns, const std::vector<std::vector<Json>>& rows) {
  std::string text;
  const auto add_line = [&text](std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      std::replace(cells[i].begin(), cells[i].end(), '\n', ' ');
      std::replace(cells[i].begin(), cells[i].end(), '\r', ' ');
      csv::append_cell(text, cells[i], i == 0);
    }
    text += '\n';
  };
  std::vector<std::string> cells;
  for (const auto& column : columns) cells.push_back(column.name);
  add_line(cells);
  for (const auto& row : rows) {
    cells.clear();
    for (const auto& value : row) {
      const bool is_text = value.is_string();
      cells.push_back(value.is_null() ? "" : is_text ? value.get<std::string>() : value.dump());
    }
    add_line(cells);
  }
  print_data(text);
}

/// Everything about a trial, for programs.
Json trial_json(const ResultGrid& grid, const Trial& trial) {
  const TrialResult result = grid[index_of(trial.id)];
  return {{"trial_id", result.trial_id},
          {"state", to_string(trial.state)},
          {"config", result.config},
          {"metrics", result.metrics},
          {"training_iteration", trial.iteration},
          {"time_total_s", trial.time_total_s},
          {"attempt", trial.attempt},
          {"failures", trial.failures},
          {"error", trial.error},
          {"checkpoint", result.checkpoint ? Json(result.checkpoint->string()) : Json()},
          {"path", result.path.string()}};
}

std::vector<Row> select(const ListRequest& request, const Experiment& experiment,
                        const TrialFields& fields) {
  const std::set<TrialState> states = parse_states(request.states);
  std::optional<Filter> filter;
  if (!request.filter.empty()) filter.emplace(request.filter, fields);
  std::vector<Field> sort_field;
  if (!request.sort.empty()) sort_field.push_back(fields.find("column", request.sort));
  std::vector<Row> rows;
  for (const auto& trial : experiment.trials()) {
    if (!states.empty() && !states.contains(trial.state)) continue;
    if (filter && !filter->accepts(trial)) continue;
    rows.push_back({&trial, sort_field.empty() ? Json() : values_of(trial, sort_field).front()});
  }
  if (!sort_field.empty()) {
    sort_rows(rows, request.descending);
  } else if (request.descending) {
    std::reverse(rows.begin(), rows.end());
  }
  if (request.limit > 0 && rows.size() > request.limit) rows.resize(request.limit);
  return rows;
}

}  // namespace

int list_command(const ListRequest& request) {
  const Look look = look_at(request.directory);
  const ResultGrid& grid = look.grid;
  std::vector<std::string> expected;
  for (const auto& objective : grid.spec().objectives) expected.push_back(objective.metric);
  const TrialFields fields(grid.experiment(), expected);
  const std::vector<Field> columns = find_columns(request, grid, fields);
  const std::vector<Row> rows = select(request, grid.experiment(), fields);
  const bool all_as_json = request.json && request.columns.empty();
  Json list = Json::array();
  std::vector<std::vector<Json>> cells;
  for (const auto& row : rows) {
    if (all_as_json) {
      list.push_back(trial_json(grid, *row.trial));
      continue;
    }
    cells.push_back(values_of(*row.trial, columns));
    if (!request.json) continue;
    Json& object = list.emplace_back(Json::object());
    for (std::size_t i = 0; i < columns.size(); ++i) object[columns[i].name] = cells.back()[i];
  }
  if (request.json) {
    print_json(list);
  } else if (request.csv) {
    print_as_csv(columns, cells);
  } else {
    print_as_table(columns, cells);
  }
  return exit_ok;
}

}  // namespace tune
