// `tune compare`: how trials differ, of one experiment or of several.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <set>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/trial_words.h"
#include "tuner/space/config_changes.h"
#include "tuner/space/domain.h"
#include "tuner/view/curves_side_by_side.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/trial_fields.h"

namespace tune {

namespace {

constexpr std::size_t shown_points = 10;

/// One of the trials, and what was read of its rows.
struct Compared {
  const ExperimentView* view = nullptr;
  const Notes* notes = nullptr;
  const Trial* trial = nullptr;
  std::string name;                    ///< tells it from the others
  std::map<std::string, Json> config;  ///< by name, nested with '/'
  MetricCurve curve;                   ///< of the metric that counts
  std::optional<double> time_per_iteration_s;
  std::optional<std::int64_t> best_iteration, last_iteration;
};

/// A trial that was named on the command line.
struct Named {
  std::filesystem::path directory;
  std::string trial;
};

bool is_trial_word(const std::string& word) { return parse_trial_id(word).has_value(); }

/// Directories, each with trials behind it: DIR 3 7, DIR:3 OTHER:7.
std::vector<Named> parse_words(const std::vector<std::string>& words) {
  std::vector<Named> named;
  std::filesystem::path directory;
  for (const std::string& word : words) {
    const std::size_t colon = word.rfind(':');
    if (!directory.empty() && is_trial_word(word)) {
      named.push_back({directory, word});
    } else if (colon != word.npos && is_trial_word(word.substr(colon + 1))) {
      directory = word.substr(0, colon);
      named.push_back({directory, word.substr(colon + 1)});
    } else {
      directory = word;
    }
  }
  if (named.size() < 2) {
    throw user_error("name two trials or more: tune compare DIR 3 7, or DIR:3 OTHER:7");
  }
  return named;
}

/// The metric by iteration, and how long an iteration took, of the rows that count.
void read_rows(Compared& one, const std::string& metric) {
  double seconds = 0;
  std::size_t count = 0;
  one.view->grid.each_row(*one.trial, [&](const Metrics& row) {
    const auto iteration = row.find("training_iteration");
    if (const auto value = row.find_exact(metric)) {
      one.curve.insert_or_assign(static_cast<std::int64_t>(*iteration), *value);
    }
    if (const auto time_s = row.find("time_this_iter_s")) {
      seconds += *time_s;
      ++count;
    }
  });
  if (count > 0) one.time_per_iteration_s = seconds / static_cast<double>(count);
}

/// "trial_00003 to iteration 10, trial_00001 to iteration 20": of a clone, through which hands its
/// model went.
std::string lineage_text(const Experiment& experiment, const Trial& trial) {
  std::string text;
  for (const ScheduleStep& step : schedule_of(experiment, trial.id)) {
    text += (text.empty() ? "" : ", ") + to_string(step.stretch.trial) + " to iteration " +
            iteration_text(step.to, step.to_is_guess);
  }
  return text;
}

Json lineage_json(const Experiment& experiment, const Trial& trial) {
  Json list = Json::array();
  if (trial.lineage.empty()) return list;
  for (const ScheduleStep& step : schedule_of(experiment, trial.id)) {
    list.push_back({{"trial_id", to_string(step.stretch.trial)},
                    {"from", step.from},
                    {"to", step.to},
                    {"from_is_guess", step.from_is_guess},
                    {"to_is_guess", step.to_is_guess}});
  }
  return list;
}

/// The names of values of the configs: those that differ, and all.
struct Hyperparameters {
  std::set<std::string> differing, equal;
};

Hyperparameters hyperparameters_of(const std::vector<Compared>& all) {
  std::set<std::string> names;
  for (const Compared& one : all) {
    for (const auto& [name, value] : one.config) names.insert(name);
  }
  Hyperparameters found;
  for (const std::string& name : names) {
    const bool is_equal = std::all_of(all.begin(), all.end(), [&](const Compared& one) {
      return one.config.contains(name) && all.front().config.contains(name) &&
             is_same(one.config.at(name), all.front().config.at(name));
    });
    (is_equal ? found.equal : found.differing).insert(name);
  }
  return found;
}

ExactNumber value_in(const Compared& one, const Objective& objective, Scope scope) {
  if (scope != Scope::last && is_last_value_only(objective.metric)) return NAN;
  return one.view->grid.exact_value(*one.trial, objective, scope);
}

Json finite_or_null(const ExactNumber& number) {
  return std::isfinite(number.value()) ? number_json(number) : Json();
}

bool is_guess(const Compared& one, const std::optional<std::int64_t>& iteration) {
  return iteration && one.trial->is_guess(*iteration);
}

/// Whether one of them may have been a later iteration there.
bool is_guess(const std::vector<Compared>& all, std::int64_t iteration) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Compared& one) { return one.trial->is_guess(iteration); });
}

Json to_json(const Compared& one, const Objective& objective) {
  const Experiment& experiment = one.view->grid.experiment();
  const Trial& trial = *one.trial;
  return {
      {"name", one.name},
      {"directory", one.view->grid.directory().string()},
      {"trial_id", to_string(trial.id)},
      {"state", to_string(trial.state)},
      {"end", end_of(trial)},
      {"ended_by", ended_by(trial)},
      {"why", why_of(trial)},
      {"error", *trial.error},
      {"config", Json::parse(present_config(trial))},
      {"best", finite_or_null(value_in(one, objective, Scope::all))},
      {"best_iteration", one.best_iteration ? Json(*one.best_iteration) : Json()},
      {"best_iteration_is_guess", is_guess(one, one.best_iteration)},
      {"last", trial.summary(objective.metric) != nullptr || is_last_value_only(objective.metric)
                   ? number_json(value_in(one, objective, Scope::last))
                   : Json()},
      {"last_iteration", one.last_iteration ? Json(*one.last_iteration) : Json()},
      {"last_iteration_is_guess", is_guess(one, one.last_iteration)},
      {"training_iteration", trial.iteration},
      {"iteration_is_guess", trial.is_at_guess()},
      {"time_total_s", trial.time_total_s},
      {"time_per_iteration_s", one.time_per_iteration_s ? Json(*one.time_per_iteration_s) : Json()},
      {"duration_s", duration_json(experiment, trial)},
      {"node", node_json(trial)},
      {"gpus", gpus_json(trial)},
      {"lineage", lineage_json(experiment, trial)},
      {"tags", one.notes->tags_json(trial.id)},
      {"notes", one.notes->notes_json(trial.id)}};
}

void print_comparison_json(const std::vector<Compared>& all, const Objective& objective,
                           const std::vector<SharedPoint>& points) {
  const Hyperparameters parameters = hyperparameters_of(all);
  Json trials = Json::array();
  for (const Compared& one : all) trials.push_back(to_json(one, objective));
  Json differing = Json::object();
  for (const std::string& name : parameters.differing) {
    for (const Compared& one : all) {
      differing[name].push_back(one.config.contains(name) ? one.config.at(name) : Json());
    }
  }
  Json equal = Json::object();
  for (const std::string& name : parameters.equal) {
    equal[name] = all.front().config.at(name);
  }
  Json curves = Json::array();
  for (const SharedPoint& point : points) {
    Json values = Json::array();
    for (const ExactNumber& value : point.values) values.push_back(number_json(value));
    curves.push_back({{"training_iteration", point.iteration},
                      {"iteration_is_guess", is_guess(all, point.iteration)},
                      {"values", std::move(values)}});
  }
  const auto ahead = ahead_for_good(points, objective.mode);
  Json leader = nullptr;
  if (ahead) leader = {{"name", all[ahead->first].name}, {"from_iteration", ahead->second}};
  print_json({{"metric", objective.metric},
              {"mode", to_string(objective.mode)},
              {"trials", std::move(trials)},
              {"differing", std::move(differing)},
              {"equal", std::move(equal)},
              {"curves", std::move(curves)},
              {"ahead", std::move(leader)}});
}

/// A row for each thing that can be said, a column for each trial.
class SideBySide {
 public:
  explicit SideBySide(const std::vector<Compared>& all) : all_(all) {
    for (const Compared& one : all) columns_.push_back({one.name});
  }

  template <class TextOf>
  void add(const std::string& title, const TextOf& text_of) {
    std::vector<std::string> row = {title};
    for (const Compared& one : all_) row.push_back(text_of(one));
    const bool is_said = std::any_of(row.begin() + 1, row.end(),
                                     [](const std::string& text) { return !text.empty(); });
    if (is_said) rows_.push_back(std::move(row));
  }

  void print() const { print_table(columns_, rows_); }

 private:
  const std::vector<Compared>& all_;
  std::vector<TableColumn> columns_ = {{""}};
  std::vector<std::vector<std::string>> rows_;
};

/// "0.25 at iteration 7"
std::string value_text(const Compared& one, double value,
                       const std::optional<std::int64_t>& iteration) {
  if (std::isnan(value)) return "-";
  return format_metric(value) +
         (iteration ? " at iteration " + iteration_text(*iteration, is_guess(one, iteration)) : "");
}

void print_trials(const std::vector<Compared>& all, const Objective& objective, bool also_equal) {
  const Hyperparameters parameters = hyperparameters_of(all);
  SideBySide table(all);
  table.add("state", [](const Compared& one) { return std::string(to_string(one.trial->state)); });
  table.add("end", [](const Compared& one) { return std::string(end_of(*one.trial)); });
  table.add("ended by", [](const Compared& one) { return std::string(ended_by(*one.trial)); });
  // What the driver counts is compared by its last value; a row without any would look like a gap.
  const bool has_best = !is_last_value_only(objective.metric);
  table.add("best " + objective.metric, [&](const Compared& one) {
    if (!has_best) return std::string();
    return value_text(one, value_in(one, objective, Scope::all).value(), one.best_iteration);
  });
  table.add("last " + objective.metric, [&](const Compared& one) {
    return value_text(one, value_in(one, objective, Scope::last).value(), one.last_iteration);
  });
  table.add("time per iteration", [](const Compared& one) {
    return one.time_per_iteration_s ? format_seconds(*one.time_per_iteration_s) : "-";
  });
  table.add("gpus", [](const Compared& one) { return *one.trial->gpus; });
  table.add("model of", [](const Compared& one) {
    const bool is_clone = !one.trial->lineage.empty();
    return is_clone ? lineage_text(one.view->grid.experiment(), *one.trial) : std::string();
  });
  table.add("tags", [](const Compared& one) {
    const Json tags = one.notes->tags_json(one.trial->id);
    return tags.empty() ? std::string() : cell_text(tags);
  });
  std::set<std::string> shown = parameters.differing;
  if (also_equal) shown.insert(parameters.equal.begin(), parameters.equal.end());
  for (const std::string& name : shown) {
    std::string title = name;
    std::replace(title.begin(), title.end(), '/', '.');
    table.add(title, [&](const Compared& one) {
      return one.config.contains(name) ? short_value(one.config.at(name)) : std::string("-");
    });
  }
  table.print();
  if (parameters.equal.empty()) return;
  print("\n" + std::to_string(parameters.equal.size()) + " of " +
        count_of(parameters.equal.size() + parameters.differing.size(), "hyperparameter") +
        (parameters.equal.size() == 1 ? " is" : " are") + " equal" +
        (also_equal ? "" : ": --all shows them") + "\n");
}

void print_curves(const std::vector<Compared>& all, const Objective& objective,
                  const std::vector<SharedPoint>& points) {
  if (points.empty()) {
    std::string have;
    for (const Compared& one : all) {
      have += (have.empty() ? "" : "; ") + one.name + " has " +
              (one.curve.empty() ? "none"
                                 : std::to_string(one.curve.begin()->first) + " to " +
                                       std::to_string(one.curve.rbegin()->first));
    }
    print("\nthey have no iteration with " + objective.metric + " in common: " + have + "\n");
    return;
  }
  const bool is_pair = all.size() == 2;
  std::vector<TableColumn> columns = {{"iteration", true}};
  for (const Compared& one : all) columns.push_back({one.name, true});
  if (is_pair) columns.push_back({"difference", true});
  const auto text_of = [&](std::int64_t iteration) {
    return iteration_text(iteration, is_guess(all, iteration));
  };
  std::vector<std::vector<std::string>> rows;
  for (const SharedPoint& point : some_of(points, shown_points)) {
    auto& row = rows.emplace_back(std::vector<std::string>{text_of(point.iteration)});
    for (const ExactNumber& value : point.values) row.push_back(format_metric(value.value()));
    if (is_pair) row.push_back(format_metric((point.values[0] - point.values[1]).value()));
  }
  print("\n" + objective.metric + " at " +
        (points.size() > shown_points
             ? std::to_string(rows.size()) + " of the " + count_of(points.size(), "iteration") +
                   " that they have in common (all: --json)"
             : "the iterations that they have in common") +
        ":\n");
  print_table(columns, rows);
  const auto ahead = ahead_for_good(points, objective.mode);
  print(ahead ? all[ahead->first].name + " is ahead for good from iteration " +
                    text_of(ahead->second) + " on, up to iteration " +
                    text_of(points.back().iteration) + "\n"
              : "none is ahead at iteration " + text_of(points.back().iteration) + "\n");
}

}  // namespace

int compare_command(const CompareRequest& request) {
  const std::vector<Named> named = parse_words(request.words);
  std::map<std::filesystem::path, ExperimentView> views;
  std::map<std::filesystem::path, Notes> notes;
  std::set<std::string> ids;
  for (const Named& one : named) {
    if (views.contains(one.directory)) continue;
    const ExperimentView& view =
        views.emplace(one.directory, view_experiment(one.directory)).first->second;
    view.grid.complete_summaries();
    notes[one.directory] = Notes::read(view.grid.directory());
    print_each_notice(notes[one.directory].notices());
  }
  const Objective objective =
      objective_for(views.at(named.front().directory).grid, request.metric, request.mode);
  std::vector<Compared> all;
  for (const Named& one : named) {
    const ExperimentView& view = views.at(one.directory);
    Compared compared{.view = &view,
                      .notes = &notes.at(one.directory),
                      .trial = &find_trial(view.grid, one.trial)};
    const std::string experiment = view.grid.directory().filename().string();
    compared.name = (views.size() > 1 ? experiment + ":" : "") + to_string(compared.trial->id);
    // Two directories of one name.
    if (!ids.insert(compared.name).second) {
      compared.name = one.directory.string() + ":" + to_string(compared.trial->id);
    }
    compared.config = leaves_of(Json::parse(present_config(*compared.trial)));
    if (!is_last_value_only(objective.metric)) {
      compared.best_iteration = view.grid.best_iteration(*compared.trial, objective);
    }
    compared.last_iteration = view.grid.last_iteration(*compared.trial, objective.metric);
    read_rows(compared, objective.metric);
    all.push_back(std::move(compared));
  }
  for (const auto& [directory, view] : views) print_each_notice(view.grid.left_out());
  std::vector<MetricCurve> curves;
  for (const Compared& one : all) curves.push_back(one.curve);
  const std::vector<SharedPoint> points = shared_points(curves);
  if (request.json) {
    print_comparison_json(all, objective, points);
    return exit_ok;
  }
  print_trials(all, objective, request.all);
  print_curves(all, objective, points);
  return exit_ok;
}

}  // namespace tune
