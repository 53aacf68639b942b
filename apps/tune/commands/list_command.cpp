// `tune ls`: the trials of one experiment or several as a table, CSV or JSON, filtered and sorted.
#include <algorithm>
#include <deque>
#include <set>

#include "apps/tune/commands.h"
#include "apps/tune/experiment_list.h"
#include "apps/tune/group_list.h"
#include "apps/tune/output.h"
#include "apps/tune/trial_table.h"
#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/quoted.h"
#include "tuner/journal/generations.h"
#include "tuner/model/result.h"
#include "tuner/model/trial_words.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/trial_fields.h"
#include "tuner/view/trial_filter.h"

namespace tune {

namespace {

using Field = TrialFields::Field;

struct Row {
  const TrialSource* source = nullptr;
  const Trial* trial = nullptr;
  Json sort_key = nullptr;
};

/// Error (user) for a word that is no state, but may be how trials have ended.
Error no_state(const std::string& name, const std::string& large) {
  for (const TrialEnd end : trial_ends) {
    if (name != to_string(end)) continue;
    return user_error("--state: " + name + " is no state but an end: --filter 'end == \"" + name +
                      "\"'");
  }
  const std::vector<std::string> known = {"PENDING", "RUNNING", "PAUSED", "TERMINATED", "ERROR"};
  return user_error(unknown_name("state", large, known));
}

std::set<TrialState> parse_states(const std::vector<std::string>& names) {
  std::set<TrialState> states;
  for (const std::string& name : names) {
    std::string large = name;
    std::transform(large.begin(), large.end(), large.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const auto state = parse_trial_state(large);
    if (!state) throw no_state(name, large);
    states.insert(*state);
  }
  return states;
}

/// The columns of somebody who has not said any.
class UsualColumns {
 public:
  explicit UsualColumns(const TrialFields& fields) : fields_(fields) {}

  void add(const std::string& name) {
    if (!names_.insert(name).second) return;
    columns_.push_back(fields_.find("column", name));
  }

  /// By its short name, where that means the same.
  void add_of_config(const std::string& name) {
    if (!names_.insert(name).second) return;
    Field field = fields_.find("column", name);
    const std::string shorter = name.substr(std::string_view("config.").size());
    if (fields_.find("column", shorter).name == field.name) field.name = shorter;
    columns_.push_back(std::move(field));
  }

  std::vector<Field> take() { return std::move(columns_); }

 private:
  const TrialFields& fields_;
  std::set<std::string> names_;
  std::vector<Field> columns_;
};

/// The metric that counts, what was drawn, each in a column of its own unless they are many, and
/// how it has ended; last what may be long.
std::vector<Field> usual_columns(const std::vector<TrialSource>& sources,
                                 const TrialFields& fields) {
  const auto some = [&](const auto& holds) {
    return std::any_of(sources.begin(), sources.end(), holds);
  };
  const auto some_are = [&](TrialState state) {
    return some(
        [state](const TrialSource& source) { return source.grid->experiment().count(state) > 0; });
  };
  UsualColumns columns(fields);
  if (sources.size() > 1) columns.add("experiment");
  for (const char* const name : {"trial_id", "state", "training_iteration"}) columns.add(name);
  std::set<std::string> drawn;
  std::vector<std::string> in_order;
  for (const TrialSource& source : sources) {
    const auto& spec = source.grid->spec();
    for (const auto& [metric, mode] : spec.objectives) {
      if (metric == "time_total_s") {
        columns.add("time_total_s");
      } else if (metric != "training_iteration" && !is_drivers_column(metric)) {
        columns.add(fields.find("column", "metrics." + metric).name);
      }
    }
    for (const std::string& name : fields.drawn(spec.param_space)) {
      if (drawn.insert(name).second) in_order.push_back(name);
    }
  }
  if (some([](const TrialSource& source) { return sole(source.grid->spec().objectives); })) {
    columns.add("best");
  }
  if (some_are(TrialState::error)) columns.add("failures");
  constexpr std::size_t many = 8;
  if (drawn.empty() || drawn.size() > many) {
    columns.add("tag");
  } else {
    for (const std::string& name : in_order) columns.add_of_config(name);
  }
  if (some_are(TrialState::terminated)) columns.add("end");
  if (some([](const TrialSource& source) { return source.notes.has_tags(); })) columns.add("tags");
  if (some([](const TrialSource& source) { return source.notes.has_notes(); })) {
    columns.add("notes");
  }
  return columns.take();
}

std::vector<Field> find_columns(const ListRequest& request, const std::vector<TrialSource>& sources,
                                const TrialFields& fields) {
  if (!request.columns.empty()) {
    std::vector<Field> found;
    for (const auto& name : request.columns) found.push_back(fields.find("column", name));
    return found;
  }
  return request.csv ? fields.all() : usual_columns(sources, fields);
}

/// Everything about a trial, for programs.
Json trial_json(const TrialSource& source, const Trial& trial, bool has_results) {
  static const std::vector<std::string> own = {
      "experiment", "best",  "best_iteration", "best_iteration_is_guess",
      "started",    "ended", "duration_s",     "node",
      "gpus",       "tags"};
  const TrialResult result = (*source.grid)[index_of(trial.id)];
  Json json = {{"trial_id", result.trial_id},
               {"state", to_string(trial.state)},
               {"config", result.config},
               {"metrics", result.metrics},
               {"earlier_metrics", earlier_metrics_json(*source.grid, trial)},
               {"training_iteration", trial.iteration},
               {"iteration_is_guess", trial.is_at_guess()},
               {"time_total_s", trial.time_total_s},
               {"attempt", trial.attempt},
               {"failures", trial.failures},
               {"error", *trial.error},
               {"end", end_of(trial)},
               {"ended_by", ended_by(trial)},
               {"why", why_of(trial)},
               {"paused_by", paused_by(trial)},
               {"checkpoint", result.checkpoint ? Json(result.checkpoint->string()) : Json()},
               {"path", result.path.string()},
               {"results", has_results ? results_json(*source.grid, trial) : Json()},
               {"notes", source.notes.notes_json(trial.id)}};
  std::vector<Field> fields;
  for (const auto& name : own) fields.push_back({name, Field::Source::own, name});
  const std::vector<Json> values = values_of(source, trial, fields);
  for (std::size_t i = 0; i < own.size(); ++i) json[own[i]] = values[i];
  return json;
}

/// Error (user) with the option that sorts the other way.
void refuse_sign(const ListRequest& request, const TrialFields& fields) {
  if (!request.sort.starts_with('-') && !request.sort.starts_with('+')) return;
  const std::string name = request.sort.substr(1);
  try {
    (void)fields.find("column", request.sort);
  } catch (const Error&) {
    const std::string field = fields.find("column", name).name;
    throw user_error("--sort takes no sign: --sort " + shell_word(field) +
                     (request.sort.front() == '-' ? " --desc" : ""));
  }
}

std::vector<Row> select(const ListRequest& request, const std::vector<TrialSource>& sources,
                        const TrialFields& fields) {
  const std::set<TrialState> states = parse_states(request.states);
  std::optional<TrialFilter> filter;
  if (!request.filter.empty()) filter.emplace(request.filter, fields);
  std::vector<Field> sort_field;
  const bool sorts_trials = !request.sort.empty() && request.over.empty();
  if (sorts_trials) refuse_sign(request, fields);
  if (sorts_trials) sort_field.push_back(fields.find("column", request.sort));
  std::vector<Row> rows;
  for (const TrialSource& source : sources) {
    for (const auto& trial : source.grid->experiment().trials()) {
      if (!states.empty() && !states.contains(trial.state)) continue;
      if (filter && !filter->accepts(source, trial)) continue;
      rows.push_back({&source, &trial});
      if (!sort_field.empty()) {
        rows.back().sort_key = values_of(source, trial, sort_field).front();
      }
    }
  }
  if (!request.over.empty()) return rows;
  if (!sort_field.empty()) {
    std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
      return sorts_before(a.sort_key, b.sort_key, request.descending);
    });
  } else if (request.descending) {
    std::reverse(rows.begin(), rows.end());
  }
  if (request.limit > 0 && rows.size() > request.limit) rows.resize(request.limit);
  return rows;
}

/// The only directory, if it holds experiments and is none. Error (user) if something is asked for
/// that trials have.
bool lists_experiments(const ListRequest& request) {
  if (request.directories.size() > 1 || is_experiment(request.directories.front())) return false;
  auto all = experiments_in(request.directories.front());
  // Of a project.
  if (all.empty()) {
    all = experiments_in(std::filesystem::path(request.directories.front()) / usual_storage);
  }
  if (all.empty()) return false;
  const bool asks_for_trials = !request.sort.empty() || !request.filter.empty() ||
                               !request.states.empty() || !request.columns.empty() ||
                               !request.over.empty() || request.results || request.limit > 0;
  if (asks_for_trials) {
    throw user_error(request.directories.front() +
                     " holds experiments and is none: of trials ask one, " +
                     shell_word(all.front()) + ", or several");
  }
  if (request.csv) {
    list_experiments_as_csv(all);
  } else {
    list_experiments(all, request.json);
  }
  return true;
}

/// By the names of their directories, or by all of their paths where two have the same.
std::vector<TrialSource> sources_of(const std::deque<ExperimentView>& views) {
  std::multiset<std::string> names;
  for (const ExperimentView& view : views) names.insert(view.grid.directory().filename().string());
  std::vector<TrialSource> sources;
  for (const ExperimentView& view : views) {
    view.grid.complete_summaries();
    const std::string name = view.grid.directory().filename().string();
    sources.push_back({&view.grid, names.count(name) > 1 ? view.grid.directory().string() : name,
                       Notes::read(view.grid.directory())});
  }
  return sources;
}

/// Where a row has values of several iterations.
void tell_earlier(const std::vector<Field>& columns, const std::vector<Row>& rows) {
  std::map<std::string, std::string> said;
  for (const Field& column : columns) {
    if (column.source != Field::Source::metric) continue;
    for (const auto& [source, trial, key] : rows) {
      const auto last = source->grid->last_iteration(*trial, column.key);
      if (!last || *last == trial->iteration) continue;
      said.try_emplace(column.name, to_string(trial->id) + " iteration " +
                                        iteration_text(*last, trial->is_guess(*last)));
      break;
    }
  }
  for (const auto& [name, example] : said) {
    print_notice("where a trial's last result lacks " + name +
                 ", its value is that of the newest result that has it: of " + example);
  }
}

void print_trials(const ListRequest& request, const std::vector<TrialSource>& sources,
                  const TrialFields& fields, const std::vector<Row>& rows) {
  const std::vector<Field> columns = find_columns(request, sources, fields);
  const bool all_as_json = request.json && request.columns.empty();
  Json list = Json::array();
  TableRows cells, shown;
  for (const auto& row : rows) {
    if (all_as_json) {
      list.push_back(trial_json(*row.source, *row.trial, request.results));
      continue;
    }
    cells.push_back(values_of(*row.source, *row.trial, columns));
    if (!request.json && !request.csv) {
      auto& line = shown.emplace_back();
      for (std::size_t i = 0; i < columns.size(); ++i) {
        line.push_back(in_a_table(*row.trial, columns[i], cells.back()[i]));
      }
    }
    if (!request.json) continue;
    Json& object = list.emplace_back(Json::object());
    for (std::size_t i = 0; i < columns.size(); ++i) object[columns[i].name] = cells.back()[i];
  }
  if (request.json) {
    print_json(list);
  } else if (request.csv) {
    print_as_csv(columns, cells);
  } else {
    print_as_table(columns, cells, shown);
  }
  if (!all_as_json) tell_earlier(columns, rows);
}

/// A trial that has failed is not in ERROR where it will be tried again.
void tell_retried(const ListRequest& request, const std::deque<ExperimentView>& views) {
  const std::set<TrialState> states = parse_states(request.states);
  if (!states.contains(TrialState::error) || states.contains(TrialState::pending)) return;
  for (const ExperimentView& view : views) {
    const std::string text = failed_text(view.grid);
    if (why_given_up(view.grid.experiment()).empty() || text.empty()) continue;
    print_notice(view.grid.directory().string() + ": " + text);
  }
}

}  // namespace

int list_command(const ListRequest& request) {
  if (request.results && !(request.json && request.columns.empty() && request.over.empty())) {
    throw user_error("--results is for --json without --columns and --over");
  }
  if (lists_experiments(request)) return exit_ok;
  std::deque<ExperimentView> views;
  for (const std::string& directory : request.directories)
    views.push_back(view_experiment(directory));
  const std::vector<TrialSource> sources = sources_of(views);
  for (const TrialSource& source : sources) print_each_notice(source.notes.notices());
  const TrialFields fields(sources);
  const std::vector<Row> rows = select(request, sources, fields);
  if (!request.over.empty()) {
    std::vector<std::pair<const TrialSource*, const Trial*>> trials;
    for (const Row& row : rows) trials.emplace_back(row.source, row.trial);
    list_groups(request, sources, fields, trials);
    return exit_ok;
  }
  print_trials(request, sources, fields, rows);
  tell_retried(request, views);
  for (const ExperimentView& view : views) {
    const std::string where = where_running_breaks_off(view);
    if (where.empty()) continue;
    print_notice(view.grid.directory().string() + ": " +
                 std::to_string(view.grid.experiment().count(TrialState::running)) + " RUNNING " +
                 where + "; to go on: " + resume_command(view.grid));
  }
  for (const TrialSource& source : sources) print_each_notice(source.grid->left_out());
  return exit_ok;
}

}  // namespace tune
