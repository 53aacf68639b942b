// `tune export`: the learning curves of an experiment, as a file for `tune simulate`.
// Changes nothing in the experiment.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "callbacks/result_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/csv_text.h"
#include "tuner/base/decimal.h"
#include "tuner/base/error.h"
#include "tuner/base/quoted.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/kept_results.h"
#include "tuner/simulation/curve_table.h"
#include "tuner/view/event_replay.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

/// One iteration: all its numbers.
using Point = std::map<std::string, ExactNumber>;
/// What a trial has reported, by iteration.
using Points = std::map<std::int64_t, Point>;

constexpr const char* as_column = "as";

/// The fields that are about the driver's bookkeeping, and no curve's.
bool is_curve_value(const std::string& name) {
  const bool is_count = name == "timesteps_total" || name == "episodes_total";
  return is_count || !is_driver_field(name);
}

/// Whether a column of another meaning has the name.
bool is_taken(const std::string& name, bool by_lineage) {
  return name.starts_with(curve_config_prefix) || name == curve_id_column ||
         (by_lineage && name == as_column);
}

void add_metrics(Point& point, const Metrics& metrics) {
  for (const Metric& metric : metrics.numbers) {
    point.insert_or_assign(metric.name, metrics.exact(metric));
  }
}

/// What the driver counts, of a result or a trial.
template <class Counts>
void add_totals(Point& point, const Counts& counts) {
  const auto set = [&point](const char* name, double value) {
    point.insert_or_assign(name, value);
  };
  if (counts.timesteps_total) set("timesteps_total", *counts.timesteps_total);
  if (counts.episodes_total) set("episodes_total", *counts.episodes_total);
  set(curve_total_column, counts.time_total_s);
}

/// Whether its iteration may be a later one.
void mark(Point& point, bool is_guess) {
  if (is_guess) {
    point.insert_or_assign(curve_guess_column, 1);
  } else {
    point.erase(curve_guess_column);  // a metric of that name
  }
}

void add_point(Points& points, const Result& result) {
  Point& point = points[result.training_iteration];
  add_metrics(point, result.metrics);
  add_totals(point, result);
  mark(point, result.iteration_is_guess);
}

/// By name, nested with '/', as a curve file's cells have them.
void flatten_config(const std::string& name, const Json& value,
                    std::map<std::string, std::string>& cells) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [key, inner] : value.items()) {
      flatten_config(name.empty() ? key : name + "/" + key, inner, cells);
    }
    return;
  }
  std::string cell = value.dump();
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const bool has_breaks = text.find_first_of("\r\n") != std::string::npos;
    if (!text.empty() && !has_breaks && !Json::accept(text)) cell = text;
  }
  cells[name] = std::move(cell);
}

/// What a trial has reported under one config.
struct Stage {
  std::string trial;  ///< as which it was then
  std::map<std::string, std::string> config;
  Points points;
};

struct Exported {
  std::string trial;
  std::vector<Stage> stages;  ///< oldest first; one, unless it is of a clone's lineage
};

/// Why trials are left out, and which.
using LeftOut = std::map<std::string, std::vector<std::string>>;

std::map<std::string, std::string> config_cells(const std::string& config) {
  std::map<std::string, std::string> cells;
  flatten_config("", Json::parse(config), cells);
  if (cells.contains("")) cells.clear();  // an empty config
  return cells;
}

/// The results of one trial under one config. Error if some of them are nowhere: a curve has a line
/// of every iteration.
Points points_of(const ResultGrid& grid, const Trial& trial) {
  Points points;
  grid.each_row(trial, [&](const Metrics& row) {
    const auto iteration = static_cast<std::int64_t>(*row.find(curve_iteration_column));
    Point& point = points[iteration];
    add_metrics(point, row);
    mark(point, trial.is_guess(iteration));
  });
  for (std::int64_t iteration = 1; iteration <= trial.iteration; ++iteration) {
    const auto found = points.find(iteration);
    if (found != points.end() && found->second.contains(curve_total_column)) continue;
    throw machine_error(
        "a curve has every iteration, and results of theirs are nowhere any more: result.json does "
        "not have them, nor has the history; or the program counts by more than one");
  }
  return points;
}

/// What the models of all trials went through, from the events.
class Lineages {
 public:
  explicit Lineages(const std::filesystem::path& directory)
      : missing_(replay_events(directory, experiment_, [this](const Event& event) {
          const auto* const reported = std::get_if<ResultReported>(&event.body);
          if (reported != nullptr) take(*reported);
        })) {}

  /// Error if not all of it is known any more.
  std::vector<Stage> stages_of(TrialId id) const {
    if (missing_ > 0) {
      throw user_error(
          "what their models went through is not known any more: history.jsonl lacks " +
          count_of(missing_, "event"));
    }
    std::vector<Stage> stages;
    for (const ScheduleStep& step : schedule_of(experiment_, id)) {
      Stage& stage = stages.emplace_back();
      stage.trial = to_string(step.stretch.trial);
      stage.config = config_cells(config_of(experiment_, step.stretch));
      const auto found = points_.find({step.stretch.trial, step.stretch.number});
      if (found == points_.end()) continue;
      const Points& all = found->second;
      stage.points.insert(all.upper_bound(step.from), all.upper_bound(step.to));
    }
    return stages;
  }

 private:
  void take(const ResultReported& reported) {
    const Stretch stretch = present_stretch(experiment_.trial(reported.trial));
    Points& points = points_[{stretch.trial, stretch.number}];
    points.erase(points.upper_bound(kept_.last_before(reported)), points.end());
    add_point(points, reported.result);
  }

  std::map<std::pair<TrialId, std::size_t>, Points> points_;  ///< by stretch
  KeptResults kept_;
  Experiment experiment_;
  std::uint64_t missing_ = 0;
};

std::vector<Exported> read_exported(const std::filesystem::path& directory, bool by_lineage,
                                    LeftOut& left_out) {
  require_experiment(directory);
  const ResultGrid grid = ResultGrid::load(directory);
  std::optional<Lineages> lineages;
  std::vector<Exported> exported;
  for (const Trial& trial : grid.experiment().trials()) {
    if (trial.last_metrics.empty()) continue;
    const std::string id = to_string(trial.id);
    try {
      const bool is_clone = present_stretch(trial).number > 0;
      if (is_clone && !by_lineage) {
        throw user_error(
            "they went on with other configs, as copies of other trials or from checkpoints of "
            "their own, so that what they have reported is no learning curve of one config; "
            "--lineage writes what their models went through");
      }
      if (is_clone && !lineages) lineages.emplace(directory);
      exported.push_back({id, is_clone
                                  ? lineages->stages_of(trial.id)
                                  : std::vector<Stage>{{id, config_cells(present_config(trial)),
                                                        points_of(grid, trial)}}});
    } catch (const Error& error) {
      left_out[error.what()].push_back(id);
    }
  }
  print_each_notice(grid.left_out());
  if (!exported.empty()) return exported;
  if (!left_out.empty()) throw user_error("nothing is left to write: " + left_out.begin()->first);
  throw user_error("no trial of " + directory.string() + " has reported anything yet");
}

/// Metrics that are no columns.
struct LeftOutMetrics {
  std::set<std::string> partial;  ///< some results lack them
  std::set<std::string> taken;    ///< a column of another meaning has the name

  std::set<std::string> all() const {
    std::set<std::string> names = partial;
    names.insert(taken.begin(), taken.end());
    return names;
  }
};

/// The metrics that every result has: a curve with holes is of no use.
std::vector<std::string> common_metrics(const std::vector<Exported>& exported, bool by_lineage,
                                        LeftOutMetrics& left_out) {
  std::map<std::string, std::size_t> counts;
  std::size_t points = 0;
  for (const auto& one : exported) {
    for (const Stage& stage : one.stages) {
      points += stage.points.size();
      for (const auto& [iteration, point] : stage.points) {
        for (const auto& [name, value] : point) counts[name] += is_curve_value(name) ? 1 : 0;
      }
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    if (count == 0) continue;
    if (is_taken(name, by_lineage)) {
      left_out.taken.insert(name);
    } else if (count == points) {
      names.push_back(name);
    } else {
      left_out.partial.insert(name);
    }
  }
  return names;
}

std::string number_text(const ExactNumber& number) {
  const Json json = number_json(number);
  if (json.is_string()) return json.get<std::string>();
  if (json.is_number_integer()) return json.dump();
  std::string text;
  append_decimal(text, number.value());
  return text;
}

/// How many results have an iteration that may be a later one.
std::size_t guesses_in(const std::vector<Exported>& exported) {
  std::size_t count = 0;
  for (const auto& one : exported) {
    for (const Stage& stage : one.stages) {
      for (const auto& [iteration, point] : stage.points) count += point.count(curve_guess_column);
    }
  }
  return count;
}

std::string curves_csv(const std::vector<Exported>& exported,
                       const std::vector<std::string>& metrics, bool by_lineage) {
  std::set<std::string> config;
  for (const auto& one : exported) {
    for (const Stage& stage : one.stages) {
      for (const auto& [name, cell] : stage.config) config.insert(name);
    }
  }
  if (config.empty())
    throw user_error("the trials' configs are empty: there is nothing to compare");
  std::string text = curve_id_column;
  if (by_lineage) csv::append_cell(text, as_column, false);
  for (const auto& name : config) csv::append_text(text, curve_config_prefix + name, false);
  csv::append_cell(text, curve_iteration_column, false);
  csv::append_cell(text, curve_total_column, false);
  const bool has_guesses = guesses_in(exported) > 0;
  if (has_guesses) csv::append_cell(text, curve_guess_column, false);
  for (const auto& name : metrics) csv::append_text(text, name, false);
  text += '\n';
  for (const auto& one : exported) {
    for (const Stage& stage : one.stages) {
      std::string beginning = one.trial;
      if (by_lineage) csv::append_cell(beginning, stage.trial, false);
      for (const auto& name : config) {
        const auto cell = stage.config.find(name);
        csv::append_text(beginning, cell == stage.config.end() ? "" : cell->second, false);
      }
      for (const auto& [iteration, point] : stage.points) {
        text += beginning + "," + std::to_string(iteration) + "," +
                number_text(point.at(curve_total_column));
        if (has_guesses) text += point.contains(curve_guess_column) ? ",true" : ",";
        for (const auto& name : metrics) text += "," + number_text(point.at(name));
        text += '\n';
      }
    }
  }
  return text;
}

std::size_t length_of(const Exported& one) {
  std::size_t length = 0;
  for (const Stage& stage : one.stages) length += stage.points.size();
  return length;
}

/// "2 trials are left out (trial_00001, trial_00004): ..."
void say(const LeftOut& left_out) {
  constexpr std::size_t most_named = 5;
  for (const auto& [why, trials] : left_out) {
    std::string names;
    for (std::size_t i = 0; i < std::min(trials.size(), most_named); ++i) {
      names += (i == 0 ? "" : ", ") + trials[i];
    }
    if (trials.size() > most_named) names += " ...";
    complain(count_of(trials.size(), "trial") + (trials.size() == 1 ? " is" : " are") +
             " left out (" + names + "): " + why);
  }
}

void write_new(const std::filesystem::path& file, const std::string& text) {
  if (std::filesystem::exists(file)) {
    throw user_error(file.string() + " exists already: it is not overwritten");
  }
  make_posix_file_system()->replace(file, text);
}

}  // namespace

int export_command(const ExportRequest& request) {
  if (request.json && request.curves == "-") {
    throw user_error("--json says what was written to a file: with --curves - leave it out");
  }
  LeftOut left_out;
  const auto exported = read_exported(
      std::filesystem::absolute(request.directory).lexically_normal(), request.lineage, left_out);
  LeftOutMetrics metrics;
  const std::string text =
      curves_csv(exported, common_metrics(exported, request.lineage, metrics), request.lineage);
  say(left_out);
  for (const auto& name : metrics.partial) {
    complain(as_quoted(name) + " is left out, because some results lack it");
  }
  for (const auto& name : metrics.taken) {
    complain(as_quoted(name) + " is left out, because a column of another meaning has that name");
  }
  const std::size_t guesses = guesses_in(exported);
  if (guesses > 0) {
    print_notice("the iterations of " + count_of(guesses, "result") +
                 " may be later ones, as their programs went on from checkpoints \"or later\": the "
                 "column " +
                 curve_guess_column + " has true there (docs/plain.md)");
  }
  if (request.curves == "-") {
    print_data(text);
    return exit_ok;
  }
  write_new(request.curves, text);
  std::size_t shortest = length_of(exported.front());
  std::size_t longest = shortest;
  for (const auto& one : exported) {
    shortest = std::min(shortest, length_of(one));
    longest = std::max(longest, length_of(one));
  }
  if (request.json) {
    Json trials = Json::array();
    for (const auto& [why, ids] : left_out) trials.push_back({{"why", why}, {"trial_ids", ids}});
    print_json({{"file", std::filesystem::absolute(request.curves).lexically_normal().string()},
                {"curves", exported.size()},
                {"iterations_min", shortest},
                {"iterations_max", longest},
                {"iterations_guessed", guesses},
                {"left_out", metrics.all()},
                {"left_out_trials", std::move(trials)}});
    return exit_ok;
  }
  print(count_of(exported.size(), "curve") + " of " +
        (shortest < longest ? std::to_string(shortest) + " to " : "") +
        count_of(longest, "iteration") + " in " + request.curves + "\n");
  return exit_ok;
}

}  // namespace tune
