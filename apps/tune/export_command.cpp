// `tune export`: the learning curves of an experiment, as a file for `tune simulate`.
// Changes nothing in the experiment.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "apps/tune/commands.h"
#include "apps/tune/look.h"
#include "apps/tune/output.h"
#include "callbacks/csv_text.h"
#include "callbacks/file_writer.h"
#include "callbacks/result_text.h"
#include "tuner/ask_session.h"
#include "tuner/core/decimal.h"
#include "tuner/core/error.h"
#include "tuner/loop/recovery.h"
#include "tuner/simulation/curve_table.h"
#include "tuner/store/experiment_store.h"
#include "tuner/store/paths.h"

namespace tune {

namespace {

/// One iteration: all its numbers.
using Point = std::map<std::string, double>;
/// What a trial has reported, by iteration.
using Points = std::map<std::int64_t, Point>;

/// The fields that are about the driver's bookkeeping, and no curve's.
bool is_curve_value(const std::string& name) {
  const bool is_count = name == "timesteps_total" || name == "episodes_total";
  return (is_count || !is_driver_field(name)) && !name.starts_with(curve_config_prefix);
}

/// The results in the journal. After a compaction the early ones are in result.json alone.
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
      Points& points = by_trial[reported->trial];
      const Result& result = reported->result;
      // What came after the checkpoint that an attempt went back to does not count.
      points.erase(points.lower_bound(result.training_iteration), points.end());
      Point& point = points[result.training_iteration];
      for (const auto& metric : result.metrics.numbers) point[metric.name] = metric.value;
      if (result.timesteps_total) point["timesteps_total"] = *result.timesteps_total;
      if (result.episodes_total) point["episodes_total"] = *result.episodes_total;
      point[curve_total_column] = result.time_total_s;
    }
    ExperimentReader::on_event(std::move(event));
  }

  std::map<TrialId, Points> by_trial;
  bool is_whole = true;
};

Points read_result_log(const std::filesystem::path& file) {
  std::ifstream in(file);
  Points points;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (in.eof()) break;  // just being written
    Metrics row;
    try {
      row = read_metrics(line);
    } catch (const std::invalid_argument& error) {
      throw machine_error(file.native() + ":" + std::to_string(number) + ": " + error.what());
    }
    const auto iteration = row.find(curve_iteration_column);
    if (!iteration) {
      throw machine_error(file.native() + ":" + std::to_string(number) +
                          ": there is no training_iteration");
    }
    Point& point = points[static_cast<std::int64_t>(*iteration)];
    point.clear();
    for (auto& metric : row.numbers) point[metric.name] = metric.value;
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

struct Exported {
  std::string trial;
  std::map<std::string, std::string> config;
  Points points;
};

/// All that a trial has which somebody else has run: one result.
Point last_point(const Trial& trial) {
  Point point;
  for (auto& metric : read_metrics(trial.last_metrics.text()).numbers) {
    point[metric.name] = metric.value;
  }
  if (trial.timesteps_total) point["timesteps_total"] = *trial.timesteps_total;
  if (trial.episodes_total) point["episodes_total"] = *trial.episodes_total;
  point[curve_total_column] = trial.time_total_s;
  return point;
}

std::vector<Exported> read_exported(const std::filesystem::path& directory) {
  require_experiment(directory);
  Experiment experiment;
  JournalCurves journal(experiment);
  std::vector<std::string> torn_end;
  ExperimentStore::read(*make_posix_file_system(), directory, journal, torn_end);
  std::vector<Problem> ignored;
  const bool is_told = tune::is_told(parse_recorded_spec(
      ExperimentStore::read_spec(*make_posix_file_system(), directory), Catalogue{}, ignored));
  std::vector<Exported> exported;
  for (const Trial& trial : experiment.trials()) {
    if (trial.last_metrics.empty()) continue;
    if (!trial.lineage.empty()) {
      throw user_error(to_string(trial.id) +
                       " went on as a copy of another trial, with another config: what it has "
                       "reported is no learning curve of one config");
    }
    Exported& one = exported.emplace_back();
    one.trial = to_string(trial.id);
    const auto file = paths::trial(directory, trial.id) / "result.json";
    if (auto points = read_result_logs(file)) {
      one.points = std::move(*points);
    } else if (is_told) {
      one.points = {{trial.iteration, last_point(trial)}};
    } else if (journal.is_whole) {
      one.points = std::move(journal.by_trial[trial.id]);
    } else {
      throw machine_error("the results of " + one.trial + " are nowhere any more: " +
                          file.native() + " does not exist, and the journal has been compacted");
    }
    flatten_config("", Json::parse(trial.config.text()), one.config);
    if (one.config.contains("")) one.config.clear();  // an empty config
  }
  if (exported.empty()) {
    throw user_error("no trial of " + directory.string() + " has reported anything yet");
  }
  return exported;
}

/// The metrics that every result has: a curve with holes is of no use. The others go to `partial`.
std::vector<std::string> common_metrics(const std::vector<Exported>& exported,
                                        std::set<std::string>& partial) {
  std::map<std::string, std::size_t> counts;
  std::size_t points = 0;
  for (const auto& one : exported) {
    points += one.points.size();
    for (const auto& [iteration, point] : one.points) {
      for (const auto& [name, value] : point) counts[name] += is_curve_value(name) ? 1 : 0;
    }
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : counts) {
    if (count == points) names.push_back(name);
    if (count > 0 && count < points) partial.insert(name);
  }
  return names;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return encode_number(value).get<std::string>();
  std::string text;
  append_decimal(text, value);
  return text;
}

std::string curves_csv(const std::vector<Exported>& exported,
                       const std::vector<std::string>& metrics) {
  std::set<std::string> config;
  for (const auto& one : exported) {
    for (const auto& [name, cell] : one.config) config.insert(name);
  }
  if (config.empty())
    throw user_error("the trials' configs are empty: there is nothing to compare");
  std::string text = curve_id_column;
  for (const auto& name : config) csv::append_text(text, curve_config_prefix + name, false);
  csv::append_cell(text, curve_iteration_column, false);
  csv::append_cell(text, curve_total_column, false);
  for (const auto& name : metrics) csv::append_text(text, name, false);
  text += '\n';
  for (const auto& one : exported) {
    std::string beginning = one.trial;
    for (const auto& name : config) {
      const auto cell = one.config.find(name);
      csv::append_text(beginning, cell == one.config.end() ? "" : cell->second, false);
    }
    for (const auto& [iteration, point] : one.points) {
      text += beginning + "," + std::to_string(iteration) + "," +
              number_text(point.at(curve_total_column));
      for (const auto& name : metrics) text += "," + number_text(point.at(name));
      text += '\n';
    }
  }
  return text;
}

void write_new(const std::filesystem::path& file, const std::string& text) {
  if (std::filesystem::exists(file)) {
    throw user_error(file.string() + " exists already: it is not overwritten");
  }
  make_posix_file_system()->replace(file, text);
}

}  // namespace

int export_command(const std::string& directory, const std::string& file, bool json) {
  if (json && file == "-") {
    throw user_error("--json says what was written to a file: with --curves - leave it out");
  }
  const auto exported = read_exported(std::filesystem::absolute(directory).lexically_normal());
  std::set<std::string> partial;
  const std::string text = curves_csv(exported, common_metrics(exported, partial));
  for (const auto& name : partial) {
    complain("'" + name + "' is left out, because some results lack it");
  }
  if (file == "-") {
    print_data(text);
    return exit_ok;
  }
  write_new(file, text);
  std::size_t shortest = exported.front().points.size();
  std::size_t longest = shortest;
  for (const auto& one : exported) {
    shortest = std::min(shortest, one.points.size());
    longest = std::max(longest, one.points.size());
  }
  if (json) {
    print_json({{"file", std::filesystem::absolute(file).lexically_normal().string()},
                {"curves", exported.size()},
                {"iterations_min", shortest},
                {"iterations_max", longest},
                {"left_out", partial}});
    return exit_ok;
  }
  print(count_of(exported.size(), "curve") + " of " +
        (shortest < longest ? std::to_string(shortest) + " to " : "") +
        count_of(longest, "iteration") + " in " + file + "\n");
  return exit_ok;
}

}  // namespace tune
