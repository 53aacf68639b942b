// What the console shows, as lines of text: pure functions of values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/model/end_estimate.h"

namespace tune {

/// How wide the lines may be, and of which characters.
struct TextArea {
  int width = 80;
  bool utf8 = false;  ///< else characters beyond ASCII become "?", and "..." stands for a cut
};

struct TableColumn {
  std::string title;
  bool is_number = false;  ///< aligned to the right
};

/// A title line and one line a row, columns two spaces apart. If it is too wide, the last column is
/// cut first, then the lines.
std::vector<std::string> render_table(const std::vector<TableColumn>& columns,
                                      const std::vector<std::vector<std::string>>& rows,
                                      const TextArea& area);

/// `text` in at most `area.width` columns, with nothing in it that a terminal obeys.
std::string fit(std::string_view text, const TextArea& area);

std::string format_duration(Seconds seconds);  ///< "1:02:03"
std::string format_metric(double value);       ///< six significant digits

struct ResourceUse {
  std::string name;
  double used = 0;
  double total = 0;
};

struct BestTrial {
  std::string trial;
  std::string tag;
  std::int64_t iteration = 0;  ///< 0: not known any more
  double value = 0;
  bool is_guess = false;  ///< it may be a later iteration
};

struct RunningTrial {
  std::string trial;
  std::string tag;
  std::int64_t iteration = 0;
  double time_s = 0;
  std::string gpus;                           ///< "0,1"; empty: none
  std::vector<std::optional<double>> values;  ///< the last ones of the metrics that count
  std::string checkpoint;                     ///< iteration of the latest; empty: none
  int failed_saves = 0;                       ///< in a row
  std::string copy_of;                        ///< the donor's name, if it is a clone
  std::size_t clonings = 0;                   ///< how often it became one
  bool is_guess = false;                      ///< it may be at a later iteration
};

/// One moment of an experiment.
struct ConsoleView {
  std::string name;
  std::vector<std::string> metrics;  ///< those that count
  Seconds elapsed = 0;
  std::size_t running = 0;
  std::size_t waiting = 0;
  std::size_t completed = 0;
  std::size_t pruned = 0;
  std::size_t stopped = 0;
  std::size_t failed = 0;
  std::optional<std::uint64_t> total;
  std::string waits_for;  ///< what keeps the next trial from starting; empty: nothing unusual
  double results_per_s = 0;
  std::vector<ResourceUse> resources;
  std::uint64_t checkpoints = 0;         ///< saved, in all sessions
  EndEstimate end;                       ///< with neither a time nor a reason once it is over
  std::optional<Seconds> budget_left_s;  ///< of the time budget
  std::optional<BestTrial> best;         ///< only with one metric
  std::vector<RunningTrial> trials;      ///< of the running ones, those that are to be shown
};

/// "new best loss 0.25 by trial_00003 at iteration 9 (lr=0.1)"
std::string best_line(const ConsoleView& view);

/// All of the view in one line, for a log.
std::string status_line(const ConsoleView& view);

/// The view in at most `height` lines.
std::vector<std::string> render_view(const ConsoleView& view, const TextArea& area, int height);

}  // namespace tune
