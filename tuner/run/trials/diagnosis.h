// What the end of a process by itself means for its attempt, and whether a failure is worth another
// try.
// Reads a log on request.
#pragma once

#include <optional>
#include <string>

#include "tuner/base/error_line.h"
#include "tuner/model/trial.h"
#include "tuner/run/trials/attempt.h"
#include "tuner/run/trials/shutdown.h"
#include "tuner/spec/spec.h"

namespace tune {

/// Whether the machine is at fault that the processes are gone. After a first result an obstacle of
/// the launch no longer explains an end.
bool is_machines_fault(const WorkerGroup::Gone& gone, bool has_result);

/// The sentence for that.
std::string machines_fault(const WorkerGroup::Gone& gone);

/// The end of an attempt whose processes were not asked to leave. `facts` gets what the rules of
/// the spec ask about.
Ending ending_of(const WorkerGroup::Gone& gone, bool has_result, FailureFacts& facts);

/// Whether a process was ended by a signal that usually reaches the driver, too: from a batch
/// system, or from a terminal.
bool is_ended_from_outside(const WorkerGroup::Gone& gone);

/// What the program itself said last: mostly what the user wants to know.
struct LogDiagnosis {
  ErrorLine said;
  std::optional<std::string> no_retry;  ///< see Ending
  Blame blame = Blame::unknown;
  /// The disk of its log is full: that may be why it failed, and its last words may be missing.
  bool is_disk_full = false;
  /// On its stdout, where that tells more than its stderr does.
  ErrorLine said_on_stdout = {};
  bool is_on_stdout_alone = false;  ///< it has written nothing else
  bool takes_pairs = false;         ///< "--lr=0.1" was to be "lr=0.1", as Hydra has it
};
/// Reads the log, and stdout's beside it, if that was written to since `launched_at` (Unix time):
/// for an I/O thread.
LogDiagnosis look_into(const FailureJudge& judge, const std::filesystem::path& log,
                       std::uint64_t begin, FailureFacts facts, Seconds launched_at = 0);
void add(Ending& ending, LogDiagnosis diagnosis, const std::filesystem::path& log);

/// The record of the attempt's end; a failure may be followed by another try. That of a run which
/// is interrupted is no failure: what interrupts it may have reached the trial, too.
AttemptEnded end_record(const Attempt& attempt, const Trial& trial, const FailureConfig& config,
                        const ShutdownState& shutdown, Seconds now);

}  // namespace tune
