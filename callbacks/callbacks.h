// The callbacks that come with the driver: files in each trial's directory, and the console.
// docs/callbacks.md is the guide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/policy/callback.h"
#include "tuner/policy/catalogue.h"

namespace tune {

/// Takes a sentence for the user; called from any thread. An empty one means standard error.
using Notice = std::function<void(std::string)>;

/// For the callbacks that keep files. All writing happens on a thread of each callback's own.
struct FileLogOptions {
  Notice notice;
  Seconds flush_period_s = 0.1;  ///< rows reach the kernel at most this much later
  /// What may wait for a slow disk before rows are left out (they come back at a resume).
  std::size_t memory_limit_bytes = 64 << 20;
};

/// "json": result.json, one JSON object a line, one line for each accepted iteration, once.
std::unique_ptr<Callback> make_json_logger(FileLogOptions options = {});

/// "csv": progress.csv, the same as a flat table; new metrics make new columns.
std::unique_ptr<Callback> make_csv_logger(FileLogOptions options = {});

/// "tensorboard": event files, in each trial's directory, so that `tensorboard --logdir` of the
/// experiment shows each trial as a run, with its config in the tab HParams.
std::unique_ptr<Callback> make_tensorboard_logger(FileLogOptions options = {});

/// "params": params.json (the config) and error.txt (every failure).
std::unique_ptr<Callback> make_params_logger(FileLogOptions options = {});

/// "exploits": pbt_global.txt and pbt_policy_<trial>.txt in the experiment's directory, once there
/// is a trial that goes on as a copy of another one.
std::unique_ptr<Callback> make_exploit_log(FileLogOptions options = {});

enum class ConsoleStyle {
  automatic,  ///< `table` on a terminal that can show it, else `lines`
  table,      ///< redrawn in place
  lines,      ///< plain text that can be kept in a file
};

struct ConsoleOptions {
  ConsoleStyle style = ConsoleStyle::automatic;
  Seconds redraw_period_s = 0.25;  ///< of the table
  Seconds status_period_s = 10;    ///< of the status line among the plain lines
  int best_trials = 5;             ///< rows of the summary at the end

  // For tests and other surfaces. Nothing given: standard output, through a thread of its own.
  std::function<void(std::string_view)> write;  ///< called on the loop's thread: must be quick
  const Clock* clock = nullptr;                 ///< nullptr: the system's
  int width = 0;                                ///< columns; 0: ask the terminal
  int height = 0;
  bool utf8 = false;  ///< only with `write`; else the locale says
};

/// "console": what goes on, for people.
std::unique_ptr<Callback> make_console(ConsoleOptions options = {});

struct CheckpointBestOptions {
  Objective objective;  ///< by name: the experiment's own
  /// Results that do not fulfil them are not the best.
  std::vector<Constraint> constraints = {};
  std::int64_t grace_period = 0;  ///< iterations of a trial for which nothing is asked
};

/// "checkpoint_best": asks for a checkpoint whenever a result is the best of the whole experiment
/// so far.
std::unique_ptr<Callback> make_checkpoint_best(CheckpointBestOptions options);

/// Adds the names above. Callbacks made by name send their notices to PolicyContext::notice.
void add_callbacks(Catalogue& catalogue);

}  // namespace tune
