// What goes on, for people: a live table on a terminal, plain lines elsewhere.
// Knows values only; console_table renders and terminal writes.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "callbacks/callbacks.h"
#include "callbacks/console_table.h"
#include "callbacks/result_rows.h"
#include "callbacks/terminal.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"
#include "tuner/model/ancestry.h"
#include "tuner/space/config_changes.h"

namespace tune {

namespace {

/// Routine lines (starts, ends, checkpoints) a second; the rest is counted in the status line.
constexpr int max_lines_per_s = 20;
constexpr Seconds rate_window_s = 2;
constexpr Seconds best_period_s = 1;  ///< from one line about a new best trial to the next
constexpr std::uintmax_t most_read_bytes = 16 << 20;  ///< of a result.json, at a resume

class SystemClock final : public Clock {
 public:
  Seconds now() const override { return since_epoch(std::chrono::system_clock::now()); }
  Seconds steady() const override { return since_epoch(std::chrono::steady_clock::now()); }

 private:
  template <class Time>
  static Seconds since_epoch(Time time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  }
};

class Console final : public Callback {
 public:
  explicit Console(ConsoleOptions options) : options_(std::move(options)) {
    if (options_.clock == nullptr) options_.clock = &system_clock_;
    if (options_.style == ConsoleStyle::automatic) {
      options_.style =
          !options_.write && stdout_is_terminal() ? ConsoleStyle::table : ConsoleStyle::lines;
    }
    if (!options_.write) {
      pump_.emplace(STDOUT_FILENO);
      options_.utf8 = locale_is_utf8();
    }
  }

  std::string name() const override { return "console"; }

  void setup(const RunInfo& info, const Experiment& experiment) override;
  void on_step_begin(const Experiment& experiment) override;
  void on_step_end(const Experiment& experiment) override;
  void on_trial_start(const Trial& trial) override;
  void on_trial_restore(const Trial& trial, const Checkpoint* checkpoint) override;
  void on_trial_result(const Trial& trial, Result& result) override;
  void on_trial_exploit(const Trial& trial, const Cloning&) override { told_of_.erase(trial.id); }
  void on_trial_complete(const Trial& trial) override;
  void on_trial_recover(const Trial& trial) override;
  void on_trial_error(const Trial& trial) override;
  void on_experiment_end(const Experiment& experiment) override;
  void on_total(std::optional<std::uint64_t> trials) override { info_.total_trials = trials; }
  void on_waits(const std::string& what) override { waits_for_ = what; }
  void on_hangs(const std::vector<TrialId>& trials) override { hanging_ = trials; }
  void on_notice(const std::string& sentence) override { line("notice: " + sentence); }

 private:
  std::string time_of_day() const;
  void tell_of_best(const Experiment& experiment, Seconds now);
  Seconds elapsed() const { return options_.clock->steady() - started_; }
  bool is_table() const { return options_.style == ConsoleStyle::table; }
  void write(const std::string& text);
  void line(const std::string& text);
  void routine_line(const std::string& text);
  void redraw(const Experiment& experiment);
  std::string erase() const;
  TextArea area() const;
  int height() const;
  ConsoleView view(const Experiment& experiment, std::size_t rows);
  std::vector<TrialId> best_running(const Experiment& experiment, std::size_t most) const;
  void add(const Trial& trial, double value, std::int64_t iteration, bool is_guess);
  void take_in_all(const Experiment& experiment);
  bool is_feasible(const Trial& trial) const;
  std::string metric_of(const Trial& trial) const;
  void summarise(const Experiment& experiment);

  ConsoleOptions options_;
  SystemClock system_clock_;
  std::optional<OutputPump> pump_;
  RunInfo info_;
  const Objective* objective_ = nullptr;    ///< if there is one only
  const Experiment* experiment_ = nullptr;  ///< between the steps of a run
  std::set<TrialId> told_of_;  ///< that they run: they may pause and go on without a word
  std::optional<BestTrial> best_;
  bool best_is_stale_ = false;  ///< it was taken back
  std::optional<double> told_best_;
  Seconds next_best_ = 0;
  bool knows_earlier_sessions_ = true;
  std::string waits_for_;
  std::vector<TrialId> hanging_;
  Seconds started_ = 0;
  Seconds next_draw_ = 0;
  std::size_t frame_lines_ = 0;  ///< of the table that stands on the terminal

  std::int64_t second_ = -1;  ///< that `lines_in_second_` counts
  int lines_in_second_ = 0;
  std::uint64_t lines_left_out_ = 0;

  Seconds rate_since_ = 0;
  std::uint64_t rate_results_ = 0;
  std::uint64_t earlier_results_ = 0;  ///< of sessions before this one
  double rate_ = 0;
};

void Console::write(const std::string& text) {
  if (pump_) {
    pump_->write(text);
  } else {
    options_.write(text);
  }
}

/// What takes the table off the terminal, so that other text can stand there.
std::string Console::erase() const {
  if (frame_lines_ == 0) return {};
  return "\r\033[" + std::to_string(frame_lines_) + "A\033[J";
}

/// When lines of a log were written: local time, ISO 8601.
std::string Console::time_of_day() const {
  const auto now = static_cast<std::time_t>(options_.clock->now());
  std::tm parts{};
  ::localtime_r(&now, &parts);
  char buffer[32];
  const std::size_t length = std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%S", &parts);
  return {buffer, length};
}

void Console::line(const std::string& text) {
  const std::string clean = fit(text, {static_cast<int>(text.size()), options_.utf8});
  write(erase() + time_of_day() + ' ' + clean + '\n');
  if (frame_lines_ > 0) next_draw_ = 0;
  frame_lines_ = 0;
}

void Console::routine_line(const std::string& text) {
  if (is_table()) return;
  const auto second = static_cast<std::int64_t>(elapsed());
  if (second != second_) {
    second_ = second;
    lines_in_second_ = 0;
  }
  if (lines_in_second_ == max_lines_per_s) {
    ++lines_left_out_;
    return;
  }
  ++lines_in_second_;
  line(text);
}

/// Of trials that are equal the one with the lower number is the best, as in all commands.
void Console::add(const Trial& trial, double value, std::int64_t iteration, bool is_guess) {
  const bool is_earlier_of_equal = best_ && value == best_->value &&
                                   index_of(trial.id) < index_of(*parse_trial_id(best_->trial));
  if (best_ ? better(objective_->mode, value, best_->value) || is_earlier_of_equal
            : std::isfinite(value)) {
    best_ = BestTrial{to_string(trial.id), present_tag(trial), iteration, value, is_guess};
  }
}

bool Console::is_feasible(const Trial& trial) const {
  return !(violation(values_of(info_.constraints, trial)) > 0);
}

/// The best one of all results of each trial, by what their last results have to say.
void Console::take_in_all(const Experiment& experiment) {
  best_.reset();
  best_is_stale_ = false;
  for (const auto& trial : experiment.trials()) {
    const auto* const summary = trial.summary(objective_->metric);
    if (summary != nullptr && summary->count > 0 && is_feasible(trial)) {
      const double value = summary->best(objective_->mode);
      const std::int64_t iteration = summary->last == value ? trial.iteration : 0;
      add(trial, value, iteration, trial.is_guess(iteration));
    }
  }
  if (best_) {
    const auto file = info_.directory / best_->trial / "result.json";
    std::error_code unknown;
    if (std::filesystem::file_size(file, unknown) <= most_read_bytes && !unknown) {
      const Trial& trial = experiment.trial(*parse_trial_id(best_->trial));
      const auto begin = first_iteration(experiment, present_stretch(trial));
      best_->iteration =
          iteration_of(file, objective_->metric, best_->value, begin).value_or(best_->iteration);
      best_->is_guess = trial.is_guess(best_->iteration);
    }
  }
}

void Console::setup(const RunInfo& info, const Experiment&) {
  info_ = info;
  objective_ = sole(info_.objectives);
  started_ = options_.clock->steady();
  rate_since_ = started_;
  knows_earlier_sessions_ = !info.resumed;
  next_best_ = started_ + best_period_s;
  next_draw_ = started_ + (is_table() ? 0 : options_.status_period_s);
  std::string text = info_.resumed ? "resuming " : "running ";
  text += info_.name + " in " + info_.directory.string();
  if (info_.total_trials) text += ", " + count_of(*info_.total_trials, "trial");
  for (const auto& [metric, mode] : info_.objectives) {
    text += std::string(", ") + to_string(mode) + ' ' + metric;
  }
  line(text);
}

void Console::on_step_begin(const Experiment& experiment) {
  experiment_ = &experiment;
  if (std::exchange(knows_earlier_sessions_, true)) return;
  rate_results_ = earlier_results_ = experiment.results();
  if (objective_) take_in_all(experiment);
  if (best_) told_best_ = best_->value;
}

void Console::on_step_end(const Experiment& experiment) {
  const Seconds now = options_.clock->steady();
  if (now < next_draw_) {
    tell_of_best(experiment, now);
    return;
  }
  if (is_table()) {
    if (pump_ && pump_->busy()) return;
    next_draw_ = now + options_.redraw_period_s;
    redraw(experiment);
    return;
  }
  next_draw_ = now + options_.status_period_s;
  if (best_) told_best_ = best_->value;
  std::string text = status_line(view(experiment, 0));
  if (lines_left_out_ > 0) {
    text += " | " + std::to_string(std::exchange(lines_left_out_, 0)) + " lines left out";
  }
  line(text);
}

/// Results are what it is all about; but one line each would be too many.
void Console::tell_of_best(const Experiment& experiment, Seconds now) {
  if (is_table() || !objective_ || now < next_best_) return;
  if (best_is_stale_ && !info_.constraints.empty()) {
    next_best_ = now + best_period_s;
    take_in_all(experiment);
  }
  if (!best_ || best_is_stale_) return;
  if (told_best_ && !better(objective_->mode, best_->value, *told_best_)) return;
  told_best_ = best_->value;
  next_best_ = now + best_period_s;
  ConsoleView view;
  view.metrics = {objective_->metric};
  view.best = best_;
  routine_line(best_line(view));
}

/// Those that run, the best ones first.
std::vector<TrialId> Console::best_running(const Experiment& experiment, std::size_t most) const {
  std::vector<std::pair<double, TrialId>> scored;
  for (const TrialId id : experiment.running()) {
    double score = std::nan("");
    if (!info_.objectives.empty()) {
      const auto& [metric, mode] = info_.objectives.front();
      const auto* const summary = experiment.trial(id).summary(metric);
      if (summary != nullptr) score = score_of(mode, summary->best(mode));
    }
    scored.emplace_back(score, id);
  }
  const auto end = scored.begin() + static_cast<std::ptrdiff_t>(std::min(most, scored.size()));
  std::partial_sort(scored.begin(), end, scored.end(), [](const auto& a, const auto& b) {
    if (better(Mode::max, a.first, b.first)) return true;
    return !better(Mode::max, b.first, a.first) && a.second < b.second;
  });
  std::vector<TrialId> ids;
  std::transform(scored.begin(), end, std::back_inserter(ids),
                 [](const auto& each) { return each.second; });
  return ids;
}

TextArea Console::area() const {
  return {options_.width > 0 ? options_.width : stdout_size().width, options_.utf8};
}

int Console::height() const { return options_.height > 0 ? options_.height : stdout_size().height; }

void Console::redraw(const Experiment& experiment) {
  // The line below the table, where the cursor rests, is not for text.
  const int rows = std::max(height() - 1, 1);
  const auto lines = render_view(view(experiment, static_cast<std::size_t>(rows)), area(), rows);
  std::string text;
  if (frame_lines_ > 0) text = "\r\033[" + std::to_string(frame_lines_) + 'A';
  for (const auto& row : lines) text += row + "\033[K\n";
  write(text + "\033[J");
  frame_lines_ = lines.size();
}

ConsoleView Console::view(const Experiment& experiment, std::size_t rows) {
  const Seconds now = options_.clock->steady();
  if (now - rate_since_ >= rate_window_s) {
    rate_ = static_cast<double>(experiment.results() - rate_results_) / (now - rate_since_);
    rate_since_ = now;
    rate_results_ = experiment.results();
  }
  if (best_is_stale_) take_in_all(experiment);
  ConsoleView view;
  view.name = info_.name;
  for (const Objective& objective : info_.objectives) view.metrics.push_back(objective.metric);
  view.elapsed = elapsed();
  view.running = experiment.running().size();
  view.waiting = experiment.count(TrialState::pending) + experiment.count(TrialState::paused);
  view.completed = experiment.count(TrialEnd::completed);
  view.pruned = experiment.count(TrialEnd::pruned);
  view.stopped = experiment.count(TrialEnd::stopped);
  view.failed = experiment.count(TrialEnd::failed);
  view.total = info_.total_trials;
  view.waits_for = waits_for_;
  view.results_per_s = rate_;
  for (const auto& [resource, total] : info_.resources) {
    const auto each = info_.resources_per_trial.find(resource);
    if (each == info_.resources_per_trial.end()) continue;
    view.resources.push_back({resource, each->second * static_cast<double>(view.running), total});
  }
  view.best = best_;
  view.checkpoints = experiment.saves().committed;  // of all sessions, as the trials beside it
  if (experiment.session_end().empty()) {
    EndConditions conditions = end_conditions(info_.total_trials, info_.stop, info_.time_budget_s,
                                              experiment.spec_changes());
    conditions.hanging = hanging_;
    view.end = estimate_end(experiment, conditions, options_.clock->now());
    view.budget_left_s = budget_left_s(experiment, conditions, options_.clock->now());
  }
  for (const TrialId id : best_running(experiment, rows)) {
    const Trial& trial = experiment.trial(id);
    RunningTrial row{to_string(id),
                     present_tag(trial),
                     trial.iteration,
                     trial.time_total_s,
                     *trial.gpus,
                     {},
                     {},
                     trial.failed_saves_in_a_row,
                     {},
                     {},
                     trial.is_at_guess()};
    for (const auto& metric : view.metrics) {
      const auto* const summary = trial.summary(metric);
      row.values.push_back(summary != nullptr ? std::optional(summary->last) : std::nullopt);
    }
    if (const auto* const latest = trial.latest_checkpoint())
      row.checkpoint = iteration_text(*latest);
    const Stretch present = present_stretch(trial);
    if (present.number > 0 && trial.lineage[present.number - 1].donor != id) {
      row.copy_of = to_string(trial.lineage[present.number - 1].donor);
      row.clonings = present.number;
    }
    view.trials.push_back(std::move(row));
  }
  return view;
}

void Console::on_trial_start(const Trial& trial) {
  // What becomes of a clone is known when its checkpoint has been looked at.
  const bool is_clone = !trial.lineage.empty() && trial.lineage.back().attempt == trial.attempt;
  if ((is_clone && trial.attempt > 1) || !told_of_.insert(trial.id).second) return;
  std::string text = to_string(trial.id) + " started";
  if (trial.failures > 0) text += ", attempt " + std::to_string(trial.attempt);
  if (trial.iteration > 0)
    text += ", from iteration " + iteration_text(trial.iteration, trial.is_at_guess());
  routine_line(trial.tag.empty() ? text : text + ": " + trial.tag);
}

void Console::on_trial_restore(const Trial& trial, const Checkpoint* checkpoint) {
  const bool is_clone = !trial.lineage.empty() && trial.lineage.back().attempt == trial.attempt;
  // What it takes back may have been the best of all. To look at all trials waits for the next
  // time that the best is shown.
  const bool takes_back =
      best_ && (is_clone || best_->iteration > (checkpoint != nullptr ? checkpoint->iteration : 0));
  if (takes_back && best_->trial == to_string(trial.id)) {
    best_is_stale_ = true;
    told_best_.reset();
  }
  if (!is_clone || !told_of_.insert(trial.id).second) return;
  const Cloning& cloning = trial.lineage.back();
  std::string text = to_string(trial.id) + " goes on";
  if (cloning.donor != trial.id) text += " as a copy of " + to_string(cloning.donor);
  text += " from iteration " +
          iteration_text(cloning.donor_iteration, cloning.donor_iteration_is_guess);
  if (experiment_ != nullptr) {
    const auto origin = origin_of(*experiment_, present_stretch(trial));
    const Json before = origin ? Json::parse(config_of(*experiment_, *origin))
                               : Json::parse(cloning.old_config.text());
    text += ": " + changes_text(before, Json::parse(trial.config.text()));
  }
  routine_line(text);
}

void Console::on_trial_result(const Trial& trial, Result& result) {
  if (!objective_) return;
  const auto value = result.find(objective_->metric);
  const auto add_it = [&] {
    // The trial does not know this result yet.
    if (value) add(trial, *value, result.training_iteration, result.iteration_is_guess);
  };
  if (info_.constraints.empty()) {
    add_it();
    return;
  }
  // A trial's last result says whether all of its results count, the earlier ones, too.
  const auto& [metric, mode] = *objective_;
  if (violation(values_of(info_.constraints, trial, result)) > 0) {
    if (best_ && best_->trial == to_string(trial.id)) {
      best_is_stale_ = true;
      told_best_.reset();
    }
    return;
  }
  const auto* const summary = trial.summary(metric);
  const bool was_better = summary != nullptr && summary->count > 0 &&
                          !(value && better(mode, *value, summary->best(mode)));
  if (!was_better) {
    add_it();
  } else if (!best_ || !better(mode, best_->value, summary->best(mode))) {
    best_is_stale_ = best_is_stale_ || !best_ || best_->trial != to_string(trial.id);
  }
}

std::string Console::metric_of(const Trial& trial) const {
  std::string text;
  for (const auto& [metric, mode] : info_.objectives) {
    const auto* const summary = trial.summary(metric);
    if (summary != nullptr) text += ", " + metric + ' ' + format_metric(summary->last);
  }
  return text;
}

namespace {

/// "pruned"; "RUNNING" of one that has not ended.
const char* end_or_state(const Trial& trial) {
  const auto end = trial.end();
  return end ? to_string(*end) : to_string(trial.state);
}

/// A traceback that stands in one line helps nobody; its log has it.
std::string first_line_of(std::string_view error) {
  return headline(error.substr(0, error.find('\n')));
}

}  // namespace

void Console::on_trial_complete(const Trial& trial) {
  std::string by = to_string(trial.ended_by);
  if (!by.empty()) by = " (" + by + (trial.why.empty() ? "" : ": " + trial.why) + ")";
  routine_line(to_string(trial.id) + ' ' + end_or_state(trial) + " at iteration " +
               iteration_text(trial.iteration, trial.is_at_guess()) + metric_of(trial) + by);
}

void Console::on_trial_recover(const Trial& trial) {
  told_of_.erase(trial.id);
  line(to_string(trial.id) + " failed in attempt " + std::to_string(trial.attempt) +
       " and will be tried again: " + first_line_of(*trial.error));
}

void Console::on_trial_error(const Trial& trial) {
  line(to_string(trial.id) + " failed: " + first_line_of(*trial.error));
}

void Console::on_experiment_end(const Experiment& experiment) {
  if (!knows_earlier_sessions_) on_step_begin(experiment);  // nothing was left to do
  experiment_ = nullptr;
  waits_for_.clear();
  // A later result may have broken them.
  if (objective_ && !info_.constraints.empty()) take_in_all(experiment);
  ConsoleView last = view(experiment, 0);
  last.end = {};
  last.budget_left_s.reset();
  // Of the whole session: the last two seconds of one, or all of a short one, say nothing.
  const auto results = static_cast<double>(experiment.results() - earlier_results_);
  if (elapsed() > 0) last.results_per_s = results / elapsed();
  line(status_line(last));
  summarise(experiment);
  if (pump_) pump_->flush();
}

void Console::summarise(const Experiment& experiment) {
  TextArea wide = area();
  if (!is_table() && options_.width == 0) wide.width = 200;
  std::string text;
  if (best_) {
    const auto& [metric, mode] = *objective_;
    std::vector<std::pair<double, const Trial*>> ranked;
    for (const auto& trial : experiment.trials()) {
      const auto* const summary = trial.summary(metric);
      if (summary == nullptr || summary->count == 0 || !is_feasible(trial)) continue;
      ranked.emplace_back(summary->best(mode), &trial);
    }
    const auto shown = std::min(ranked.size(), static_cast<std::size_t>(options_.best_trials));
    const auto end = ranked.begin() + static_cast<std::ptrdiff_t>(shown);
    std::partial_sort(ranked.begin(), end, ranked.end(), [m = mode](const auto& a, const auto& b) {
      return better(m, a.first, b.first) || (a.first == b.first && a.second->id < b.second->id);
    });
    std::vector<std::vector<std::string>> rows;
    for (auto row = ranked.begin(); row != end; ++row) {
      const Trial& trial = *row->second;
      const auto* const latest = trial.latest_checkpoint();
      rows.push_back({to_string(trial.id), end_or_state(trial),
                      iteration_text(trial.iteration, trial.is_at_guess()),
                      format_metric(row->first), latest ? iteration_text(*latest) : "-",
                      present_tag(trial)});
    }
    const std::vector<TableColumn> columns = {
        {"trial"}, {"state"}, {"iteration", true}, {"best " + metric, true}, {"checkpoint", true},
        {"config"}};
    for (const auto& row : render_table(columns, rows, wide)) text += row + '\n';
  }
  if (!text.empty()) write(text);
}

}  // namespace

std::unique_ptr<Callback> make_console(ConsoleOptions options) {
  return std::make_unique<Console>(std::move(options));
}

}  // namespace tune
