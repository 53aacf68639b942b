// One launch of a trial, as the loop sees it: what its worker group has done so far, and what is
// due.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/model/event.h"
#include "tuner/model/failure_rules.h"
#include "tuner/run/checkpoints/checkpoint_manager.h"
#include "tuner/run/trials/attempt_state.h"
#include "tuner/run/trials/hangs.h"
#include "tuner/run/trials/repeated_start.h"
#include "tuner/run/workers/worker_group.h"

namespace tune {

/// Why an attempt ends that was saved before its node's end.
inline constexpr std::string_view node_ends = "its node ends, and it goes on elsewhere";

/// How an attempt ends, once that is known. The end is recorded when its processes are gone and its
/// checkpoints are committed.
struct Ending {
  Outcome outcome = Outcome::completed;
  std::string reason;
  std::optional<std::string> no_retry;  ///< why a failure must not be retried, by the spec's rules
  Blame blame = Blame::unknown;         ///< of a failure
};

struct Attempt {
  AttemptLife life;
  TrialId trial{};
  int number = 0;
  WorkerGroup* worker_group = nullptr;  ///< never null
  Seconds began_at = 0;                 ///< steady
  CheckpointManager::Source source;  ///< its checkpoint is pinned until the first result, then none
  bool is_warm = false;              ///< in the process that its trial had before it was paused
  bool has_result = false;           ///< in this attempt
  bool can_save = false;             ///< it may be told to save after its last result
  bool save_failed = false;          ///< the last one
  bool save_asked = false;           ///< by hand, at the next result
  bool was_unfit_to_start = false;   ///< a fault of its machine's, and that has ended it
  bool lost_node = false;            ///< its node was lost, and that has ended it
  bool leaves_node = false;          ///< with its next checkpoint, since its node ends
  bool clone_waits = false;          ///< for its checkpoint, which it makes at the next result
  /// Why it is to end with its next result; that is in the journal.
  std::optional<std::string> stop_asked;
  EndedBy ended_by = EndedBy::exit;  ///< `done`: its function has returned
  /// The last result as a checkpoint would have it; with the directory that the trainable was told
  /// to write into, until it has answered.
  Save save;
  int pending_work = 0;           ///< commits and look-ups on the I/O pool that its end waits for
  Action next = Action::proceed;  ///< carried out when the save is answered
  std::optional<Ending> ending;   ///< exactly while its life is ending
  Seconds awaits_until = 0;       ///< steady; of AttemptState::awaiting_shutdown
  FailureFacts failure;           ///< of an exit by itself
  /// Of a program that saves by itself: what it has saved and nobody has copied yet, in its order;
  /// of each name the newest.
  std::deque<CheckpointFound> found;
  std::deque<Save> results;            ///< the last ones, as checkpoints of them would have them
  AttemptStart start;                  ///< if its program is plain
  bool has_checkpoint_of_own = false;  ///< it has saved in this attempt
  RecentTimes steps;                   ///< how long they took, but for its first
  std::optional<Hang> hang;            ///< of the step under way, if it takes far too long
};

}  // namespace tune
