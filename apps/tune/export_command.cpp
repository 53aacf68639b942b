// `tune export`: the learning curves of an experiment, as a file for `tune simulate`.
// Changes nothing in the experiment.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "apps/tune/commands.h"
#include "apps/tune/event_replay.h"
#include "apps/tune/look.h"
#include "apps/tune/output.h"
#include "callbacks/csv_text.h"
#include "callbacks/file_writer.h"
#include "callbacks/result_rows.h"
#include "callbacks/result_text.h"
#include "tuner/ask_session.h"
#include "tuner/core/ancestry.h"
#include "tuner/core/decimal.h"
#include "tuner/core/error.h"
#include "tuner/core/quoted.h"
#include "tuner/files/lines.h"
#include "tuner/loop/recovery.h"
#include "tuner/recorded_results.h"
#include "tuner/simulation/curve_table.h"
#include "tuner/store/experiment_store.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

/// One iteration: all its numbers.
using Point = std::map<std::string, ExactNumber>;
/// What a trial has reported, by iteration.
using Points = std::map<std::int64_t, Point>;

/// The fields that are about the driver's bookkeeping, and no curve's.
bool is_curve_value(const std::string& name) {
  const bool is_count = name == "timesteps_total" || name == "episodes_total";
  return (is_count || !is_driver_field(name)) && !name.starts_with(curve_config_prefix);
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

void add_point(Points& points, const Result& result) {
  // What came after the checkpoint that an attempt went back to does not count.
  points.erase(points.lower_bound(result.training_iteration), points.end());
  Point& point = points[result.training_iteration];
  add_metrics(point, result.metrics);
  add_totals(point, result);
}

/// The results in the journal. After a compaction the early ones are in result.json and the
/// history.
class JournalCurves final : public ExperimentReader {
 public:
  using ExperimentReader::ExperimentReader;
  void restart() override {
    ExperimentReader::restart();
    by_trial.clear();
    is_whole = true;
  }
  void on_snapshot(const Json& state) override {
    ExperimentReader::on_snapshot(state);
    is_whole = false;
  }
  void on_event(Event&& event) override {
    if (const auto* const reported = std::get_if<ResultReported>(&event.body)) {
      add_point(by_trial[reported->trial], reported->result);
    }
    ExperimentReader::on_event(std::move(event));
  }

  std::map<TrialId, Points> by_trial;
  bool is_whole = true;
};

Points read_result_log(const std::filesystem::path& file) {
  Points points;
  const LinesRead read = read_lines(file, most_row_bytes, [&](const FileLine& line) {
    if (!line.is_ended) return;  // just being written
    const std::string place = file.native() + ":" + std::to_string(line.number) + ": ";
    Metrics row;
    try {
      row = read_metrics(line.text);
    } catch (const std::invalid_argument& error) {
      throw machine_error(place + error.what());
    }
    const auto iteration = row.find(curve_iteration_column);
    if (!iteration) throw machine_error(place + "there is no training_iteration");
    Point& point = points[static_cast<std::int64_t>(*iteration)];
    point.clear();
    add_metrics(point, row);
  });
  if (read.too_long > 0) {
    throw machine_error(file.native() + " has a line of more than 16 MiB, which no driver wrote");
  }
  return points;
}

/// All that is left of a trial's results, nothing if there is no file of them.
std::optional<Points> read_result_logs(const std::filesystem::path& file) {
  const std::filesystem::path stand_in = stand_in_of(file.native());
  std::optional<Points> points;
  // Something else may stand there, which is why there is the other one.
  if (std::filesystem::is_regular_file(std::filesystem::symlink_status(file))) {
    points = read_result_log(file);
  }
  if (!std::filesystem::exists(stand_in)) return points;
  Points later = read_result_log(stand_in);
  if (!points) points.emplace();
  if (!later.empty()) points->erase(points->lower_bound(later.begin()->first), points->end());
  points->merge(later);
  return points;
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

/// All that a trial has which somebody else has run: one result.
Point last_point(const Trial& trial) {
  Point point;
  add_metrics(point, read_metrics(trial.last_metrics.text()));
  add_totals(point, trial);
  return point;
}

std::map<std::string, std::string> config_cells(const std::string& config) {
  std::map<std::string, std::string> cells;
  flatten_config("", Json::parse(config), cells);
  if (cells.contains("")) cells.clear();  // an empty config
  return cells;
}

/// The results of one trial under one config. Error if they are nowhere, or cannot be read.
Points points_of(const Trial& trial, const std::filesystem::path& directory, bool is_told,
                 JournalCurves& journal, std::optional<RecordedResults>& recorded) {
  const auto file = paths::trial(directory, trial.id) / "result.json";
  if (auto points = read_result_logs(file)) return std::move(*points);
  if (is_told) return {{trial.iteration, last_point(trial)}};
  if (journal.is_whole) return std::move(journal.by_trial[trial.id]);
  if (!recorded) recorded.emplace(directory);
  Points points;
  recorded->each_row(trial.id, [&](const Metrics& row) {
    Point& point = points[static_cast<std::int64_t>(*row.find(curve_iteration_column))];
    add_metrics(point, row);
  });
  if (!points.empty()) return points;
  throw machine_error(
      "their results are nowhere any more: there is no result.json, and the history does not have "
      "them");
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
    add_point(points_[{stretch.trial, stretch.number}], reported.result);
  }

  std::map<std::pair<TrialId, std::size_t>, Points> points_;  ///< by stretch
  Experiment experiment_;
  std::uint64_t missing_ = 0;
};

std::vector<Exported> read_exported(const std::filesystem::path& directory, bool by_lineage,
                                    LeftOut& left_out) {
  require_experiment(directory);
  Experiment experiment;
  JournalCurves journal(experiment);
  std::vector<std::string> torn_end;
  ExperimentStore::read(*make_posix_file_system(), directory, journal, torn_end);
  std::vector<Problem> ignored;
  const bool is_told = tune::is_told(parse_recorded_spec(
      ExperimentStore::read_spec(*make_posix_file_system(), directory), Catalogue{}, ignored));
  std::optional<Lineages> lineages;
  std::vector<Exported> exported;
  std::optional<RecordedResults> recorded;
  for (const Trial& trial : experiment.trials()) {
    if (trial.last_metrics.empty()) continue;
    const std::string id = to_string(trial.id);
    try {
      const bool is_clone = present_stretch(trial).number > 0;
      if (is_clone && !by_lineage) {
        throw user_error(
            "they went on as copies of other trials, with other configs, so that what "
            "they have reported is no learning curve of one config; --lineage writes "
            "what their models went through");
      }
      if (is_clone && !lineages) lineages.emplace(directory);
      exported.push_back({id, is_clone ? lineages->stages_of(trial.id)
                                       : std::vector<Stage>{{id, config_cells(trial.config.text()),
                                                             points_of(trial, directory, is_told,
                                                                       journal, recorded)}}});
    } catch (const Error& error) {
      left_out[error.what()].push_back(id);
    }
  }
  if (!exported.empty()) return exported;
  if (!left_out.empty()) throw user_error("nothing is left to write: " + left_out.begin()->first);
  throw user_error("no trial of " + directory.string() + " has reported anything yet");
}

/// The metrics that every result has: a curve with holes is of no use. The others go to `partial`.
std::vector<std::string> common_metrics(const std::vector<Exported>& exported,
                                        std::set<std::string>& partial) {
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
    if (count == points) names.push_back(name);
    if (count > 0 && count < points) partial.insert(name);
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
  if (by_lineage) csv::append_cell(text, "as", false);
  for (const auto& name : config) csv::append_text(text, curve_config_prefix + name, false);
  csv::append_cell(text, curve_iteration_column, false);
  csv::append_cell(text, curve_total_column, false);
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
  std::set<std::string> partial;
  const std::string text = curves_csv(exported, common_metrics(exported, partial), request.lineage);
  say(left_out);
  for (const auto& name : partial) {
    complain(as_quoted(name) + " is left out, because some results lack it");
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
                {"left_out", partial},
                {"left_out_trials", std::move(trials)}});
    return exit_ok;
  }
  print(count_of(exported.size(), "curve") + " of " +
        (shortest < longest ? std::to_string(shortest) + " to " : "") +
        count_of(longest, "iteration") + " in " + request.curves + "\n");
  return exit_ok;
}

}  // namespace tune
