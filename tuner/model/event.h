// Everything that can happen to an experiment: one event, one line of the journal. An event holds
// what happened *and* what was decided about it. The one vocabulary of journal, memory and
// callbacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tuner/model/decision.h"
#include "tuner/model/state_cost.h"
#include "tuner/model/trial.h"

namespace tune {

/// A driver took up the experiment.
struct SessionStarted {
  std::string host;
  std::int64_t pid = 0;
  std::string version;
  std::string ran =
      {};  ///< JSON object: what the driver runs (tuner/provenance.h); empty: not known
};

/// A slow searcher is asked for the config of a future trial: its answer depends on the events up
/// to here. The answer is recorded with the trial (TrialAdded), if the trial is added at all.
struct SuggestionAsked {
  TrialId next{};
};

/// The searcher suggested a config, or somebody has given one.
struct TrialAdded {
  TrialId trial{};
  std::string config;  ///< JSON text
  std::string tag;
  std::string start_checkpoint;  ///< directory, or empty
  bool by_hand = false;          ///< no searcher was asked
};

/// A launch was decided on. With a checkpoint, the trial is rewound to it.
struct AttemptStarted {
  TrialId trial{};
  int attempt = 0;
  int checkpoint = 0;     ///< index in the trial, or 0: from scratch or `start_checkpoint`
  std::vector<int> gpus;  ///< devices it holds
  std::optional<TrialId> donor = {};  ///< `checkpoint` is one of this trial's
  bool saves_itself = false;          ///< which results get checkpoints is the program's own choice
  /// What its CUDA_VISIBLE_DEVICES says, where that is not the numbers in `gpus`.
  std::string devices = {};
  /// The searcher, asked for a new trial, has answered that this one goes on.
  bool by_searcher = false;
  std::string node = {};  ///< where it runs; empty: on the driver's host
};

/// The attempt's process runs: the next driver ends this process if this driver dies.
struct ProcessStarted {
  TrialId trial{};
  int attempt = 0;
  std::int64_t pid = 0;           ///< also the process group
  std::uint64_t start_ticks = 0;  ///< field 22 of /proc/PID/stat, to know the process again
};

/// A result was accepted, and what was decided about it.
struct ResultReported {
  TrialId trial{};
  int attempt = 0;
  Result result;
  Decision decision;  ///< `checkpoint` holds the sum of all triggers
};

struct CheckpointCommitted {
  TrialId trial{};
  Checkpoint checkpoint;
};

/// A save or its commit failed; training goes on.
struct CheckpointFailed {
  TrialId trial{};
  int index = 0;
  std::string reason;
};

/// These checkpoints count no more; their directories are deleted once this event is on disk.
struct CheckpointsDropped {
  TrialId trial{};
  std::vector<int> indices;
};

/// Verification before a restore found it broken; it was set aside. An attempt that has just been
/// started from it starts from the one before instead.
struct CheckpointDamaged {
  TrialId trial{};
  int index = 0;
  std::string reason;
  std::optional<TrialId> clone = {};  ///< it was to be restored into this trial
};

enum class Outcome {
  completed,    ///< TERMINATED: stopped, done, or ended by itself
  paused,       ///< PAUSED, with a checkpoint
  exploiting,   ///< PENDING: goes on from a donor's checkpoint
  failed,       ///< PENDING again if `retry`, else ERROR
  interrupted,  ///< PENDING again: the driver left, or died; no fault of the trial
};

struct AttemptEnded {
  TrialId trial{};
  int attempt = 0;
  Outcome outcome = Outcome::completed;
  std::string reason;      ///< a sentence; empty if all is well
  bool retry = false;      ///< decided: a failed attempt is tried again
  Seconds not_before = 0;  ///< decided: Unix time before which it must not be
  /// Of a completed one that nobody else has ended: `done`, or `exit`.
  EndedBy by = EndedBy::exit;
  /// Of a failure: the machine's (a full disk, a batch system's SIGTERM), so that no searcher takes
  /// it for the config's.
  bool of_machine = false;
};

/// A trial that had ended is to run again, because the user said so at a resume: PENDING, with no
/// failure counted. From scratch, it has no checkpoint, no result and no metric any more.
struct TrialRequeued {
  TrialId trial{};
  bool from_scratch = false;
};

/// No new trials; those that run are ended. Says why.
struct StopRequested {
  std::string reason;
  /// Running trials are saved and wait, PENDING, for a resume; else they are TERMINATED with their
  /// next result (records from before version 0.2).
  bool keeps = false;
};

/// Reasons that several places give, for people only: no code decides by them.
inline constexpr std::string_view said_done = "it said that it was done";
inline constexpr std::string_view stopped_by_user = "stopped by the user (tune stop)";
inline constexpr std::string_view paused_by_user = "paused by the user (tune pause)";

/// A scheduler or the user ends this trial, TERMINATED: at once if it does not run, else when its
/// attempt ends, whatever would be decided about its next result.
struct TrialStopRequested {
  TrialId trial{};
  std::string reason;
  EndedBy by = EndedBy::scheduler;  ///< or `user`
};

/// A waiting trial goes on as a copy of another one, because the scheduler said so.
struct TrialExploited {
  TrialId trial{};
  Exploit exploit;
};

/// What a callback wants to know again, saved when the driver leaves in good order.
struct CallbackSaved {
  std::string callback;  ///< its name
  std::string state;     ///< JSON text
};

/// How a session has ended whose driver has left in good order.
enum class SessionEnd : std::uint8_t {
  finished,        ///< nothing is left to do
  named_finished,  ///< nothing of what was asked for; other trials may wait
  stopped,         ///< by a stopper, a budget, fail_fast true or `tune stop`
  raised,          ///< by a failed trial at once, since fail_fast is "raise"
  interrupted,     ///< by a signal or `tune pause`
  given_up,        ///< trial after trial has failed, or none could be started
  fault,           ///< of a policy or the driver itself
};
const char* to_string(SessionEnd end);  ///< "finished", ...
std::optional<SessionEnd> parse_session_end(std::string_view text);
/// Told from the sentence, for records that have no field for it (before version 0.2).
SessionEnd session_end_in(std::string_view reason);

/// The beginning of the sentence of a session that was given up; the reason follows.
inline constexpr std::string_view given_up_word = "given up: ";

/// The driver leaves in good order.
struct SessionEnded {
  std::string reason;  ///< "finished", or a sentence; for people
  StateCost cost;      ///< of this session
  SessionEnd how = SessionEnd::finished;
};

/// The machine's clock was set, or the machine was suspended: times before and after this event
/// differ by more (or less) than the time that was spent.
struct ClockStepped {
  Seconds by_s = 0;
};

/// Somebody has changed the spec while a driver runs: from here on these fields have these values.
struct SpecChanged {
  std::string fields;  ///< JSON object: by the name of a top-level field its new value
};

/// The user has paused this trial, or lets it go on. A held trial is not started, whichever policy
/// chooses it; a running one is saved with its next result and then waits.
struct TrialHeld {
  TrialId trial{};
  bool released = false;
};

using EventBody =
    std::variant<SessionStarted, TrialAdded, AttemptStarted, ProcessStarted, ResultReported,
                 CheckpointCommitted, CheckpointFailed, CheckpointsDropped, CheckpointDamaged,
                 AttemptEnded, StopRequested, CallbackSaved, SessionEnded, TrialRequeued,
                 TrialStopRequested, TrialExploited, SuggestionAsked, ClockStepped, SpecChanged,
                 TrialHeld>;

struct Event {
  std::uint64_t number = 0;  ///< 1, 2, 3 ... without holes
  Seconds time = 0;          ///< Unix time
  EventBody body;
};

/// The trial that the event is about; nothing if it is about the whole experiment. (One event
/// changes two: CheckpointDamaged its `clone`, too.)
std::optional<TrialId> trial_of(const EventBody& body);

/// Appends the event's JSON object, in one line, without a newline.
void append_json(std::string& out, const Event& event);

/// The event in `text`. Throws std::invalid_argument that says what is wrong.
Event parse_event(std::string_view text);

}  // namespace tune
