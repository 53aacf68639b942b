// Renders the console's view: column widths, truncation to the terminal, one status line.
#include "callbacks/console_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "callbacks/text_width.h"
#include "tuner/base/clean_text.h"
#include "tuner/base/count_of.h"

namespace tune {

namespace {

constexpr std::size_t gap = 2;
constexpr std::size_t narrowest_last_column = 8;

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

std::string clean(std::string_view text, bool utf8) {
  const std::string harmless = clean_text(text);
  if (utf8) return harmless;
  std::string out;
  for (const char c : harmless) {
    if (static_cast<unsigned char>(c) < 0x80) {
      out += c;
    } else if (starts_character(c)) {
      out += '?';
    }
  }
  return out;
}

std::string cut(const std::string& text, std::size_t width, bool utf8) {
  if (width_of(text) <= width) return text;
  const std::string_view mark = utf8 ? "\u2026" : "...";
  const std::size_t mark_width = utf8 ? 1 : 3;
  const std::size_t keep = width > mark_width ? width - mark_width : 0;
  return std::string(first_columns(text, keep)) + std::string(width >= mark_width ? mark : "");
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, width_of(text)), ' ');
  return right ? space + text : text + space;
}

std::string amount(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

std::string counts(const ConsoleView& view) {
  std::string text = std::to_string(view.running) + " running, " + std::to_string(view.waiting) +
                     " waiting, " + std::to_string(view.completed) + " completed, ";
  if (view.pruned > 0) text += std::to_string(view.pruned) + " pruned, ";
  if (view.stopped > 0) text += std::to_string(view.stopped) + " stopped, ";
  text += std::to_string(view.failed) + " failed";
  if (view.total) text += " of " + std::to_string(*view.total);
  return text;
}

std::string rate(const ConsoleView& view) {
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%.1f results/s", view.results_per_s);
  return buffer;
}

std::string resources(const ConsoleView& view, std::string_view separator) {
  std::string text;
  for (const auto& use : view.resources) {
    if (!text.empty()) text += separator;
    text += use.name + ' ' + amount(use.used) + '/' + amount(use.total);
  }
  return text;
}

std::string best(const ConsoleView& view) {
  const BestTrial& trial = *view.best;
  std::string text =
      "best " + view.metrics.front() + ' ' + format_metric(trial.value) + " by " + trial.trial;
  if (trial.iteration > 0)
    text += " at iteration " + iteration_text(trial.iteration, trial.is_guess);
  return trial.tag.empty() ? text : text + " (" + trial.tag + ')';
}

std::string left(const ConsoleView& view) {
  std::string text;
  if (view.end.remaining_s) {
    text = (view.end.is_bound ? "at most " : "about ") + rough_duration(*view.end.remaining_s) +
           " left";
  }
  if (view.budget_left_s && !view.end.is_bound) {
    text +=
        (text.empty() ? "" : ", ") + rough_duration(*view.budget_left_s) + " of the time budget";
  }
  return text;
}

std::vector<std::string> trial_lines(const ConsoleView& view, const TextArea& area,
                                     std::size_t shown) {
  std::vector<TableColumn> columns = {{"trial"}, {"iteration", true}};
  for (const auto& metric : view.metrics) columns.push_back({metric, true});
  columns.insert(columns.end(), {{"checkpoint", true}, {"time", true}});
  const auto end = view.trials.begin() + static_cast<std::ptrdiff_t>(shown);
  const bool has_clones = std::any_of(
      view.trials.begin(), end, [](const RunningTrial& trial) { return !trial.copy_of.empty(); });
  const bool has_gpus = std::any_of(view.trials.begin(), end,
                                    [](const RunningTrial& trial) { return !trial.gpus.empty(); });
  if (has_gpus) columns.push_back({"gpu"});
  if (has_clones) columns.push_back({"copy of"});
  columns.push_back({"config"});
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& trial = view.trials[i];
    std::vector<std::string> row = {trial.trial, iteration_text(trial.iteration, trial.is_guess)};
    for (const auto& value : trial.values) row.push_back(value ? format_metric(*value) : "-");
    row.push_back(trial.checkpoint.empty() ? "-" : trial.checkpoint);
    // One failure has its notice; a trial that cannot save any more is worth more than that.
    if (trial.failed_saves >= 3) row.back() = "no save x" + std::to_string(trial.failed_saves);
    row.push_back(format_duration(trial.time_s));
    if (has_gpus) row.push_back(trial.gpus.empty() ? "-" : trial.gpus);
    if (has_clones) {
      const std::string often =
          trial.clonings > 1 ? ", " + std::to_string(trial.clonings) + " exploits" : "";
      row.push_back(trial.copy_of.empty() ? "-" : trial.copy_of + often);
    }
    row.push_back(trial.tag);
    rows.push_back(std::move(row));
  }
  return render_table(columns, rows, area);
}

}  // namespace

std::string fit(std::string_view text, const TextArea& area) {
  return cut(clean(text, area.utf8), static_cast<std::size_t>(std::max(area.width, 0)), area.utf8);
}

std::string format_duration(Seconds seconds) {
  const auto whole = static_cast<long long>(std::max(seconds, 0.0));
  char buffer[48];
  std::snprintf(buffer, sizeof buffer, "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                whole % 60);
  return buffer;
}

std::string format_metric(double value) {
  if (std::isnan(value)) return "NaN";
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::vector<std::string> render_table(const std::vector<TableColumn>& columns,
                                      const std::vector<std::vector<std::string>>& rows,
                                      const TextArea& area) {
  std::vector<std::vector<std::string>> cells(1);
  for (const auto& column : columns) cells[0].push_back(clean(column.title, area.utf8));
  for (const auto& row : rows) {
    auto& line = cells.emplace_back();
    for (const auto& cell : row) line.push_back(clean(cell, area.utf8));
  }
  std::vector<std::size_t> widths(columns.size(), 0);
  for (const auto& line : cells) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(line[i]));
    }
  }
  std::size_t before_last = 0;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) before_last += widths[i] + gap;
  const auto width = static_cast<std::size_t>(std::max(area.width, 0));
  const std::size_t left = width > before_last ? width - before_last : 0;
  widths.back() = std::min(widths.back(), std::max(left, narrowest_last_column));

  std::vector<std::string> lines;
  for (const auto& line : cells) {
    std::string text;
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string cell = cut(line[i], widths[i], area.utf8);
      text += padded(cell, widths[i], columns[i].is_number);
      if (i + 1 < line.size()) text.append(gap, ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    lines.push_back(cut(text, width, area.utf8));
  }
  return lines;
}

std::string best_line(const ConsoleView& view) { return "new " + best(view); }

std::string status_line(const ConsoleView& view) {
  std::string line = format_duration(view.elapsed) + ' ' + counts(view);
  if (!view.waits_for.empty()) line += " | waits for: " + view.waits_for;
  line += " | " + rate(view);
  if (!view.resources.empty()) line += " | " + resources(view, ", ");
  if (view.checkpoints > 0) line += " | " + count_of(view.checkpoints, "checkpoint") + " saved";
  if (const std::string text = left(view); !text.empty()) line += " | " + text;
  if (view.best) line += " | " + best(view);
  return line;
}

std::vector<std::string> render_view(const ConsoleView& view, const TextArea& area, int height) {
  std::vector<std::string> lines;
  const std::string used = resources(view, "  ");
  lines.push_back(fit(view.name + "  " + format_duration(view.elapsed) + "  " + rate(view) +
                          (used.empty() ? "" : "  " + used),
                      area));
  // In a line of their own: with a long name their end, the total, would be cut off.
  lines.push_back(fit(counts(view), area));
  if (!view.end.reason.empty()) {
    std::string end = "ends in " + text_of(view.end);
    if (!view.end.remaining_s) end = "end " + text_of(view.end);
    lines.push_back(fit(end, area));
  }
  if (view.best) lines.push_back(fit(best(view), area));
  if (!view.waits_for.empty()) lines.push_back(fit("waits for: " + view.waits_for, area));
  const auto room = static_cast<std::ptrdiff_t>(height) - static_cast<std::ptrdiff_t>(lines.size());
  // An empty line, the titles, one trial, and a line that says how many more there are.
  if (!view.trials.empty() && room >= 4) {
    auto shown = std::min(view.trials.size(), static_cast<std::size_t>(room) - 2);
    if (view.running > shown) shown = std::min(shown, static_cast<std::size_t>(room) - 3);
    lines.emplace_back();
    for (auto& line : trial_lines(view, area, shown)) lines.push_back(std::move(line));
    if (view.running > shown) {
      lines.push_back(fit("and " + std::to_string(view.running - shown) + " more running", area));
    }
  }
  lines.resize(std::min(lines.size(), static_cast<std::size_t>(std::max(height, 1))));
  return lines;
}

}  // namespace tune
