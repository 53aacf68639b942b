// `tune ls`: the trials of an experiment as a table, CSV or JSON, filtered and sorted.
// Knows no journal: look_at has read it.
#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
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
  Filter(const std::string& text, const TrialFields& fields)
      : expression_(parse(text, take_out_texts(text))) {
    for (const auto& name : expression_.variables()) {
      const auto test = tests_.find(name);
      if (test == tests_.end() && name == "state") {
        throw user_error("--filter: a state is a text: state == \"ERROR\", or --state ERROR");
      }
      fields_.push_back(
          fields.find("name in --filter", test != tests_.end() ? test->second.name : name));
    }
  }

  /// False for a trial that lacks one of the numbers.
  bool accepts(const Trial& trial) const {
    const std::vector<Json> values = values_of(trial, fields_);
    const auto value = expression_.evaluate([&](const std::string& name) -> std::optional<double> {
      const auto& names = expression_.variables();
      const auto found = std::find(names.begin(), names.end(), name);
      const Json& there = values[static_cast<std::size_t>(found - names.begin())];
      const auto test = tests_.find(name);
      if (test == tests_.end()) return decode_number(there);
      if (there.is_null()) return std::nullopt;
      const std::string is = there.is_string() ? there.get<std::string>() : there.dump();
      return (is == test->second.text) == test->second.wants_equal ? 1 : 0;
    });
    return value && *value != 0 && !std::isnan(*value);
  }

 private:
  /// optimizer == "adam"
  struct TextTest {
    std::string name, text;
    bool wants_equal;
  };

  /// Expressions know numbers alone: a comparison with a text becomes a name for what it answers.
  std::string take_out_texts(const std::string& text) {
    constexpr std::size_t longest = 4096;  // the comparison with a pattern goes as deep
    if (text.size() > longest) {
      throw user_error("--filter is longer than " + std::to_string(longest) + " characters");
    }
    if (text.find(stand_in) != text.npos) throw no_condition(text);
    static const std::regex comparison(
        R"RE(([A-Za-z_][A-Za-z0-9_.]*)\s*(==|!=)\s*("([^"]*)"|'([^']*)'))RE");
    std::string numeric;
    auto rest = text.cbegin();
    for (std::sregex_iterator at(text.begin(), text.end(), comparison), end; at != end; ++at) {
      const auto before = std::find_if_not(std::make_reverse_iterator((*at)[0].first), text.crend(),
                                           [](char c) { return c == ' '; });
      // Arithmetic on either side would bind stronger than the comparison.
      if (before != text.crend() &&
          std::string_view("+-*/^<>=").find(*before) != std::string::npos) {
        throw no_condition(text);
      }
      const std::string name = stand_in + std::to_string(tests_.size());
      const std::string wanted = (*at)[4].matched ? (*at)[4].str() : (*at)[5].str();
      tests_[name] = {(*at)[1].str(), wanted, (*at)[2].str() == "=="};
      numeric.append(rest, (*at)[0].first).append(name);
      rest = (*at)[0].second;
    }
    return numeric.append(rest, text.cend());
  }

  static Expression parse(const std::string& text, const std::string& numeric) {
    try {
      return Expression(numeric);
    } catch (const std::invalid_argument& error) {
      static const std::regex word(R"(\b(and|or|not|in)\b)");
      const bool has_words = std::regex_search(numeric, word);
      if (!has_words && numeric == text) {
        throw user_error(std::string("--filter: ") + error.what());
      }
      throw no_condition(text);
    }
  }

  static Error no_condition(const std::string& text) {
    return user_error("--filter: '" + text +
                      "' is no condition: write && for and, || for or, and " +
                      "a text in quotes behind == or !=, as in 'optimizer == \"adam\"'");
  }

  static constexpr const char* stand_in = "text_comparison_";

  std::map<std::string, TextTest> tests_;  ///< by the name that stands for each
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

/// What somebody wants to see who has not said: the metric that counts, who has ended it, and what
/// was drawn, each in a column of its own unless they are many.
std::vector<std::string> usual_columns(const ResultGrid& grid, const TrialFields& fields) {
  std::vector<std::string> columns = {"trial_id", "state", "training_iteration", "time_total_s"};
  for (const auto& objective : grid.spec().objectives) columns.push_back(objective.metric);
  if (grid.experiment().count(TrialState::error) > 0) columns.emplace_back("failures");
  if (grid.experiment().count(TrialState::terminated) > 0) columns.emplace_back("ended_by");
  constexpr std::size_t many = 8;
  const auto drawn = fields.drawn(grid.spec().param_space);
  if (drawn.empty() || drawn.size() > many) {
    columns.emplace_back("tag");
  } else {
    columns.insert(columns.end(), drawn.begin(), drawn.end());
  }
  return columns;
}

std::vector<Field> find_columns(const ListRequest& request, const ResultGrid& grid,
                                const TrialFields& fields) {
  if (request.columns.empty() && request.csv) return fields.all();
  std::vector<Field> found;
  for (const auto& name : request.columns.empty() ? usual_columns(grid, fields) : request.columns) {
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
      csv::append_text(text, cells[i], i == 0);
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
          {"error", *trial.error},
          {"ended_by", to_string(trial.ended_by)},
          {"why", trial.why},
          {"paused_by", paused_by(trial)},
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

/// A line for each experiment of a folder.
Json experiment_json(const std::filesystem::path& directory) {
  Json json = {{"experiment", directory.filename().string()}, {"directory", directory.string()}};
  try {
    const Look look = look_at(directory);
    const Experiment& experiment = look.grid.experiment();
    const Objective* const objective = sole(look.grid.spec().objectives);
    const auto best = objective ? look.grid.best_trial(*objective, Scope::all) : std::nullopt;
    json["trials"] = experiment.trials().size();
    json["running"] = experiment.count(TrialState::running);
    json["paused"] = experiment.count(TrialState::paused);
    json["ended"] = experiment.count(TrialState::terminated);
    json["failed"] = experiment.count(TrialState::error);
    json["metric"] = objective ? Json(objective->metric) : Json();
    json["best"] = best ? encode_number(value_of(experiment.trial(*best), objective->metric,
                                                 objective->mode, Scope::all))
                        : Json();
    json["started"] = experiment.started() > 0 ? Json(experiment.started()) : Json();
    json["driver"] = look.driver ? name_of(*look.driver) : "";
    json["problem"] = "";
  } catch (const Error& error) {
    json["problem"] = error.what();
  }
  return json;
}

int list_experiments(const ListRequest& request, const std::vector<std::filesystem::path>& all) {
  const bool asks_for_trials = !request.sort.empty() || !request.filter.empty() ||
                               !request.states.empty() || !request.columns.empty() || request.csv ||
                               request.limit > 0;
  if (asks_for_trials) {
    throw user_error(request.directory + " holds experiments and is none: of trials ask one, " +
                     shell_word(all.front()));
  }
  if (request.json) {
    Json list = Json::array();
    for (const auto& directory : all) list.push_back(experiment_json(directory));
    print_json(list);
    return exit_ok;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& directory : all) {
    const Json json = experiment_json(directory);
    auto& row = rows.emplace_back();
    for (const char* const name : {"experiment", "trials", "running", "paused", "ended", "failed",
                                   "metric", "best", "started", "driver"}) {
      const Json value = json.value(name, Json());
      row.push_back(std::string_view(name) == "started" && value.is_number()
                        ? format_time(value.get<double>())
                        : cell_text(value));
    }
    if (const std::string problem = json.value("problem", ""); !problem.empty()) {
      row.back() = problem;
    }
  }
  print_table({{"experiment"},
               {"trials", true},
               {"running", true},
               {"paused", true},
               {"ended", true},
               {"failed", true},
               {"metric"},
               {"best", true},
               {"started"},
               {"driver"}},
              rows);
  return exit_ok;
}

}  // namespace

int list_command(const ListRequest& request) {
  if (!is_experiment(request.directory)) {
    const auto experiments = experiments_in(request.directory);
    if (!experiments.empty()) return list_experiments(request, experiments);
  }
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
