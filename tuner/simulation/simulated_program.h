// A simulated training program: a function says what it reports and how long each step takes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trainable/values.h"
#include "tuner/base/clock.h"
#include "tuner/model/metrics.h"

namespace tune {

/// A trial as the simulated program sees it, from its start or restore on.
struct SimulatedRun {
  std::string trial_id;  ///< "trial_00012"
  Json config;
  /// Of the step that is being made, from 1; a checkpoint holds it, so that a restore takes it
  /// back, or on to another trial's.
  std::int64_t iteration = 0;
  Json state;              ///< whatever the program wants to remember; a checkpoint holds it too
  bool hangs = false;      ///< it reads nothing any more; a signal ends it
  bool is_at_end = false;  ///< it has run to its end, and was told to stop
};

/// What comes of one step.
struct SimulatedStep {
  std::optional<Metrics> metrics;  ///< nothing: no new iteration, only `done`
  Seconds takes_s = 1;             ///< at least 0
  bool done = false;
  bool should_checkpoint = false;
  std::optional<std::string> hands_over;  ///< function API: a checkpoint directory it has written
  // Instead of a report:
  std::optional<int> exits;           ///< with this code
  std::optional<int> dies_of;         ///< this signal
  std::optional<std::string> faults;  ///< says that it failed, in a sentence
  bool hangs = false;                 ///< nothing more is heard
};

struct SimulatedProgram {
  /// Called at the start of the step; the report comes when its time is over.
  std::function<SimulatedStep(SimulatedRun&)> step;
  Seconds launch_s = 0;  ///< from the launch to the hello
  Seconds save_s = 0;    ///< for which training stands still
  Seconds exit_s = 0;    ///< from being told to leave, or killed, to the end
  bool is_function = false;
  bool can_save = false;  ///< of a function: after each result, when it is told to
  bool can_reset = false;
  bool can_stay = false;     ///< told to stop, it waits for another trial where it may
  bool runs_to_end = false;  ///< told to stop, it has done all of its steps before: see RanToEnd
  // What may go wrong:
  bool cannot_launch = false;
  bool is_trials_fault = false;  ///< that it cannot be launched
  bool refuses_reset = false;
  bool hangs_in_save = false;
  std::function<std::optional<std::string>()> save_error;  ///< why a save fails now
};

}  // namespace tune
