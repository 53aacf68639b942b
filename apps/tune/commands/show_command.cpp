// `tune show` and `tune logs`: one trial.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "apps/tune/commands.h"
#include "apps/tune/output.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/expression.h"
#include "tuner/base/wide_sum.h"
#include "tuner/disk/file_descriptor.h"
#include "tuner/disk/regular_file.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/metrics.h"
#include "tuner/model/paths.h"
#include "tuner/model/trial_words.h"
#include "tuner/provenance.h"
#include "tuner/view/best.h"
#include "tuner/view/experiment_view.h"
#include "tuner/view/trial_fields.h"

namespace tune {

namespace {

constexpr std::size_t curve_width = 60;
constexpr std::size_t shown_metrics = 12;

/// Of each of the metrics, its values by iteration, of the results that count.
std::map<std::string, std::vector<ExactNumber>> curves_of(const ResultGrid& grid,
                                                          const Trial& trial,
                                                          const std::vector<std::string>& metrics) {
  std::map<std::string, std::vector<ExactNumber>> curves;
  for (const std::string& metric : metrics) curves[metric];
  grid.each_row(trial, [&](const Metrics& row) {
    for (auto& [metric, curve] : curves) {
      if (const auto value = row.find_exact(metric)) curve.push_back(*value);
    }
  });
  return curves;
}

/// Each character is the mean of as many values; '!' where none is a number.
std::string sparkline(const std::vector<double>& curve) {
  static constexpr std::array blocks = {"\u2581", "\u2582", "\u2583", "\u2584",
                                        "\u2585", "\u2586", "\u2587", "\u2588"};
  std::vector<double> means;
  const std::size_t cells = std::min(curve.size(), curve_width);
  for (std::size_t i = 0; i < cells; ++i) {
    WideSum sum;
    int count = 0;
    for (std::size_t at = i * curve.size() / cells; at < (i + 1) * curve.size() / cells; ++at) {
      if (!std::isfinite(curve[at])) continue;
      sum.add(curve[at]);
      ++count;
    }
    means.push_back(count > 0 ? sum.average_of(count) : std::nan(""));
  }
  double low = INFINITY, high = -INFINITY;
  for (const double mean : means) {
    if (std::isnan(mean)) continue;
    low = std::min(low, mean);
    high = std::max(high, mean);
  }
  std::string text;
  for (const double mean : means) {
    if (std::isnan(mean)) {
      text += "!";
      continue;
    }
    const double share = high > low ? (mean / 2 - low / 2) / (high / 2 - low / 2) : 0;
    text += blocks[std::min(blocks.size() - 1, static_cast<std::size_t>(share * 8))];
  }
  return text;
}

std::string range_text(const MetricSummary& summary, const std::vector<double>& curve) {
  if (summary.count == 0) return "no number";
  return "from " + format_metric(summary.min) + " to " + format_metric(summary.max) + ", " +
         count_of(curve.size(), "value");
}

std::string end_text(const Trial& trial) {
  std::string text = to_string(trial.state);
  if (trial.held) {
    text += trial.state == TrialState::running ? ", to be paused by hand" : " by hand";
  }
  if (const auto end = trial.end()) text += std::string(", ") + to_string(*end);
  if (const std::string by = ended_by(trial); !by.empty()) text += ", by " + by;
  if (const std::string why = why_of(trial); !why.empty()) text += ": " + why;
  return text;
}

Json checkpoint_json(const ResultGrid& grid, const Trial& trial, const Checkpoint& checkpoint) {
  const auto place = paths::checkpoint(grid.directory(), {trial.id, checkpoint.index});
  return {{"index", checkpoint.index},
          {"training_iteration", checkpoint.iteration},
          {"score", encode_number(checkpoint.score)},
          {"bytes", checkpoint.bytes},
          {"path", place.string()},
          {"where", to_string(checkpoint_place(place))},
          {"is_guess", checkpoint.is_guess}};
}

/// Those that it has reported, the objectives first.
std::vector<std::string> metrics_of(const ResultGrid& grid, const Trial& trial) {
  std::vector<std::string> names;
  for (const auto& objective : grid.spec().objectives) {
    if (trial.summary(objective.metric) != nullptr) names.push_back(objective.metric);
  }
  for (const auto& summary : trial.summaries) {
    const std::string name(static_cast<std::string_view>(summary.name));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

/// What its driver waits for, as a phrase; empty if it does not say.
std::string phrase_of(const Awaited& awaited) {
  return awaited.answer ? clean_text(awaited.answer->sentence) : "";
}

void print_show_json(const ResultGrid& grid, const Trial& trial, const Awaited& awaited,
                     const Notes& notes, bool has_results) {
  const auto own = paths::trial(grid.directory(), trial.id);
  Json metrics = Json::object();
  const auto curves = curves_of(grid, trial, metrics_of(grid, trial));
  const auto earlier = grid.earlier_metrics(trial);
  for (const auto& summary : trial.summaries) {
    const std::string name(static_cast<std::string_view>(summary.name));
    Json curve = Json::array();
    for (const ExactNumber& value : curves.at(name)) curve.push_back(number_json(value));
    const auto exact = [&](Mode mode, Scope scope) {
      return number_json(grid.exact_value(trial, {name, mode}, scope));
    };
    const auto found = earlier.find(name);
    const std::int64_t last = found != earlier.end() ? found->second.iteration : trial.iteration;
    metrics[name] = {{"last", exact(Mode::max, Scope::last)},
                     {"last_iteration", last},
                     {"min", exact(Mode::min, Scope::all)},
                     {"max", exact(Mode::max, Scope::all)},
                     {"curve", std::move(curve)}};
  }
  Json checkpoints = Json::array();
  for (const auto& each : trial.checkpoints) {
    checkpoints.push_back(checkpoint_json(grid, trial, each));
  }
  print_json(
      {{"trial_id", to_string(trial.id)},
       {"state", to_string(trial.state)},
       {"waits_for", phrase_of(awaited).empty() ? Json() : Json(phrase_of(awaited))},
       {"driver_answers", awaited.answers_json()},
       {"end", end_of(trial)},
       {"ended_by", ended_by(trial)},
       {"why", why_of(trial)},
       {"paused_by", paused_by(trial)},
       {"by_hand", trial.by_hand},
       {"ran", grid.experiment().ran().empty() ? Json() : Json::parse(grid.experiment().ran())},
       {"config", Json::parse(present_config(trial))},
       {"training_iteration", trial.iteration},
       {"iteration_is_guess", trial.is_at_guess()},
       {"time_total_s", trial.time_total_s},
       {"attempt", trial.attempt},
       {"failures", trial.failures},
       {"error", *trial.error},
       {"metrics", std::move(metrics)},
       {"results", has_results ? results_json(grid, trial) : Json()},
       {"checkpoints", std::move(checkpoints)},
       {"started", trial.started != 0 ? Json(trial.started) : Json()},
       {"ended", trial.ended != 0 ? Json(trial.ended) : Json()},
       {"duration_s", duration_json(grid.experiment(), trial)},
       {"node", node_json(trial)},
       {"gpus", gpus_json(trial)},
       {"tags", notes.tags_json(trial.id)},
       {"notes", notes.notes_json(trial.id)},
       {"path", own.string()}});
}

/// Prints what a log has, and what has come since. What max_log_bytes has taken out of its middle
/// is a line that says so.
class LogPrinter {
 public:
  explicit LogPrinter(std::filesystem::path file) : file_(std::move(file)) {}

  void print_more() {
    obstacle_.clear();
    try {
      // A FIFO in place of the log would wait for ever.
      const FileDescriptor log(open_regular(file_.string(), O_RDONLY));
      if (log) print_from(log.get());
    } catch (const NotRegular& error) {
      obstacle_ = error.what();
    }
  }

  /// Exit code: nothing was to be printed, and that is not the program's silence, is said.
  int conclude() const {
    if (obstacle_.empty()) return exit_ok;
    throw machine_error(obstacle_);
  }

 private:
  void print_from(int descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) != 0) return;
    if (status.st_size < printed_) printed_ = 0;  // it was written anew
    std::array<char, 64 * 1024> block;
    while (printed_ < status.st_size) {
      const off_t data = ::lseek(descriptor, printed_, SEEK_DATA);
      const off_t hole = data < 0 ? status.st_size : ::lseek(descriptor, data, SEEK_HOLE);
      if (data > printed_) {
        print_data("\n[... " + format_bytes(static_cast<double>(data - printed_)) +
                   " were given up here: max_log_bytes ...]\n");
        printed_ = data;
      }
      const off_t end = std::min<off_t>(hole < 0 ? status.st_size : hole, status.st_size);
      while (printed_ < end) {
        const auto wanted = std::min<std::size_t>(block.size(), end - printed_);
        const ssize_t count = ::pread(descriptor, block.data(), wanted, printed_);
        if (count <= 0) return;
        print_data(std::string_view(block.data(), static_cast<std::size_t>(count)));
        printed_ += count;
      }
    }
  }

  const std::filesystem::path file_;
  off_t printed_ = 0;
  std::string obstacle_;
};

}  // namespace

int show_command(const ShowRequest& request) {
  if (request.results && !request.json) throw user_error("--results is for --json");
  const ExperimentView view = view_experiment(request.directory);
  const ResultGrid& grid = view.grid;
  grid.complete_summaries();
  const Trial& trial = find_trial(grid, request.trial);
  const bool runs = trial.state == TrialState::running;
  const Awaited awaited = runs ? ask_what_is_awaited(view, trial.id) : Awaited{};
  const Notes notes = Notes::read(grid.directory());
  print_each_notice(notes.notices());
  if (request.json) {
    print_show_json(grid, trial, awaited, notes, request.results);
    print_each_notice(grid.left_out());
    return exit_ok;
  }
  const auto own = paths::trial(grid.directory(), trial.id);
  std::vector<std::pair<std::string, std::string>> lines = {
      {"trial", to_string(trial.id) + " of " + grid.spec().name},
      {"state", end_text(trial)},
      {"iteration", iteration_text(trial.iteration, trial.is_at_guess()) + ", " +
                        format_seconds(trial.time_total_s)},
      {"attempts", std::to_string(trial.attempt) + ", " +
                       count_of(static_cast<std::uint64_t>(trial.failures), "failure")},
  };
  if (const std::string phrase = phrase_of(awaited); !phrase.empty()) {
    lines.emplace_back("waits for", phrase);
  }
  if (!awaited.silence.empty()) lines.emplace_back("no answer", awaited.silence);
  if (trial.started != 0) lines.emplace_back("started", iso_time(trial.started));
  if (trial.ended != 0) lines.emplace_back("ended", iso_time(trial.ended));
  if (const Json node = node_json(trial); !node.is_null()) {
    const std::string gpus = trial.gpus.empty() ? "" : ", gpus " + *trial.gpus;
    lines.emplace_back("ran on", cell_text(node) + gpus);
  }
  if (!trial.error.empty()) lines.emplace_back("error", *trial.error);
  if (trial.by_hand) lines.emplace_back("added", "by hand, with a config of its own");
  if (const auto text = program_text(grid.experiment().ran()); !text.empty()) {
    lines.emplace_back("program", text);
  }
  add_notes(notes, trial.id, lines);
  add_config(Json::parse(present_config(trial)), lines);
  std::string key = "metrics";
  auto names = metrics_of(grid, trial);
  const bool has_more = names.size() > shown_metrics;
  if (has_more) names.resize(shown_metrics);
  const auto curves = curves_of(grid, trial, names);
  const auto earlier = grid.earlier_metrics(trial);
  for (const std::string& name : names) {
    std::vector<double> curve;
    for (const ExactNumber& value : curves.at(name)) curve.push_back(value.value());
    const MetricSummary& summary = *trial.summary(name);
    const auto found = earlier.find(name);
    lines.emplace_back(
        std::exchange(key, ""),
        name + " = " + format_metric(summary.last) +
            (found != earlier.end()
                 ? " at iteration " + iteration_text(found->second.iteration,
                                                     trial.is_guess(found->second.iteration))
                 : "") +
            "  (" + range_text(summary, curve) + ")");
    if (curve.size() > 1) lines.emplace_back("", "  " + sparkline(curve));
  }
  if (has_more) lines.emplace_back("", "... and more: --json");
  key = "checkpoints";
  const std::size_t before = trial.checkpoints.size() - trial.present_checkpoints().size();
  for (const auto& checkpoint : trial.checkpoints) {
    const auto place = paths::checkpoint(own, checkpoint.index);
    const bool is_earlier = &checkpoint < trial.checkpoints.data() + before;
    lines.emplace_back(
        std::exchange(key, ""),
        place.filename().string() + ", iteration " + iteration_text(checkpoint) + ", " +
            format_bytes(static_cast<double>(checkpoint.bytes)) +
            (std::isnan(checkpoint.score) ? "" : ", score " + format_metric(checkpoint.score)) +
            (is_earlier ? ", of before its config changed" : "") + place_remark(place));
  }
  lines.emplace_back("directory", own.string());
  print_pairs(lines);
  print_each_notice(grid.left_out());
  return exit_ok;
}

int logs_command(const LogsRequest& request) {
  constexpr std::chrono::milliseconds look_period{200};
  constexpr int looks_between_states = 10;
  std::optional<ExperimentView> view = view_experiment(request.directory);
  const TrialId id = find_trial(view->grid, request.trial).id;
  const auto own = paths::trial(view->grid.directory(), id);
  const ExperimentSpec& spec = view->grid.spec();
  const int ranks = spec.workers ? spec.workers->count : 1;
  if (request.rank >= ranks) {
    throw user_error("a trial of " + spec.name + " has " +
                     count_of(static_cast<std::size_t>(ranks), "process", "processes") +
                     ", counted from 0: there is no rank " + std::to_string(request.rank));
  }
  const auto file = request.is_stderr && !spec.merge_output
                        ? paths::standard_error(own, request.rank)
                        : paths::standard_output(own, request.rank);
  LogPrinter log(file);
  for (int looks = 0;; ++looks) {
    const bool is_over = !request.follow || !has_reader() || !view->driver ||
                         is_final(view->grid.experiment().trial(id).state);
    log.print_more();
    if (is_over) return log.conclude();
    std::this_thread::sleep_for(look_period);
    if (looks % looks_between_states == 0) view = view_experiment(request.directory);
  }
}

}  // namespace tune
