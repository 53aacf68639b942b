// What the loop keeps for each live process and each attempt that it works for.
#pragma once

#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "tuner/core/event.h"
#include "tuner/core/failure_rules.h"
#include "tuner/core/resources.h"
#include "tuner/exec/executor.h"
#include "tuner/loop/saver.h"

namespace tune {

inline constexpr Seconds never_s = std::numeric_limits<Seconds>::infinity();

/// How an attempt ends, once that is known. The record follows when its process is out of the way
/// and its checkpoints are committed.
struct Ending {
  Outcome outcome = Outcome::completed;
  std::string reason;
  bool looked_into = false;             ///< of a failure: its log has been read
  std::optional<std::string> no_retry;  ///< why a failure must not be retried, by the spec's rules
};

/// One launch of a trial, as the loop sees it.
struct Attempt {
  enum class Phase {
    preparing,  ///< its directory is made and its checkpoint verified
    starting,   ///< its process was launched or reset, and has not said hello
    training,   ///< was told to step
    saving,     ///< was told to save, or the directory for that is being made
    waiting,    ///< has answered; what follows is held back until a commit is done
    ending,     ///< `ending` is set
  };
  TrialId trial{};
  int number = 0;
  Allocation allocation;
  Phase phase = Phase::preparing;
  std::optional<LaunchId> process;
  Saver::Source source;      ///< its checkpoint is pinned until the first result, then none
  Seconds told_at = 0;       ///< steady; when it was last told to do something
  bool has_result = false;   ///< in this attempt
  bool said_start = false;   ///< its process knows config and checkpoint
  bool save_failed = false;  ///< the last one
  bool save_asked = false;   ///< by hand, at the next result
  /// Why it is to end with its next result; that is in the journal.
  std::optional<std::string> stop_asked;
  bool gives_back_process = false;  ///< to the next trial, when it ends (`reuse_processes`)
  /// The last result as a checkpoint would have it; with the directory that the trainable was told
  /// to write into, until it has answered.
  Save save;
  int pending_work = 0;           ///< commits and look-ups on the I/O pool that its end waits for
  Action next = Action::proceed;  ///< carried out when the save is answered
  std::optional<Ending> ending;
  FailureFacts failure;         ///< of an exit by itself
  std::filesystem::path log;    ///< its process's stderr
  std::uint64_t log_begin = 0;  ///< where in `log` that process begins
};

/// One live process.
struct TrialProcess {
  LaunchId id{};
  std::optional<TrialId> trial;  ///< nothing: idle, or on its way out
  Allocation allocation;         ///< of an idle process, kept for its next trial
  std::filesystem::path log;     ///< its stderr
  std::uint64_t log_begin = 0;   ///< bytes in `log` before it ran
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  bool is_launched = false;  ///< the executor has it; before, it is but decided on
  bool is_function = false;
  bool can_reset = false;
  bool idle = false;
  bool disconnected = false;
  Seconds deadline = never_s;  ///< steady; see Loop::on_deadline
  enum class Leaving { no, asked, terminated, killed } leaving = Leaving::no;
};

}  // namespace tune
