// The interface between the loop and whatever runs processes: it launches them, sends them commands
// and ends them; their events come as LaunchEvents through a Reactor (reactor.h). All of it is
// values, so that processes may run on another machine. It knows launches, not what a trial is.
// Implementations: ProcessExecutor (children on this machine), AgentExecutor (on other machines),
// SimulatedExecutor (virtual time).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "trainable/protocol.h"
#include "tuner/model/metrics.h"
#include "tuner/model/resources.h"
#include "tuner/plain/plain_program.h"
#include "tuner/process/process_spec.h"

namespace tune {

/// One of the processes that train a trial together.
struct Rank {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;                ///< among those of its node
  Resources resources;               ///< what this one may use
  std::vector<std::string> devices;  ///< the same, as CUDA_VISIBLE_DEVICES names them
  std::optional<LaunchId> first;     ///< rank 0's launch; none: this is that
};

/// A process that is to be a trial's.
struct LaunchSpec : ProcessSpec {
  /// The program knows nothing of the driver: what it prints is read instead.
  std::optional<PlainReading> plain = {};
  /// It gets MASTER_PORT, where the first one may listen, unless an environment has it.
  std::optional<Rank> rank = {};
  int node = 0;  ///< where, see NodeAllocation
};

// What can happen to a launch. The order is that in which it happened, for each launch.

/// The process runs.
struct Launched {
  LaunchId launch{};
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;   ///< field 22 of /proc/PID/stat
  std::uint64_t stderr_begin = 0;  ///< bytes that were in its `stderr_path` before
  std::uint16_t port = 0;          ///< MASTER_PORT, of a rank 0 that got it from here; else 0
};

/// It could not be started; nothing is left of it and nothing more will come.
struct LaunchFailed {
  LaunchId launch{};
  std::string reason;  ///< a sentence: which program, why
  /// Because of what lies in the trial's directory; else it is a fault of the machine's.
  bool is_trials_fault = false;
};

/// The trainable said hello.
struct Greeted {
  LaunchId launch{};
  protocol::Hello hello;
};

/// It refuses a reset to another trial; or, told to stop, does not stay for another trial.
struct Refused {
  LaunchId launch{};
  std::string reason = {};  ///< a phrase; may be empty
};

/// It reported a result.
struct Reported {
  LaunchId launch{};
  std::optional<std::int64_t> iteration = {};  ///< of the step that it says it answers
  std::optional<Metrics> metrics;              ///< nothing: no new iteration, only `done`
  bool done = false;
  bool should_checkpoint = false;
  bool can_save = false;                  ///< function API: it may be told to save now
  std::optional<std::string> checkpoint;  ///< function API: name of a directory handed over
  std::optional<double> load_s = {};      ///< that loading took, before the first step
  std::vector<std::string> more_checkpoints = {};  ///< by other ranks: parts of the same checkpoint
  bool stays = false;                              ///< told to stop, it waits for another trial
  bool iteration_is_guess = false;                 ///< see Result
};

/// A program that saves by itself has done so.
struct CheckpointFound {
  LaunchId launch{};
  /// It has what led to this iteration's result, perhaps more.
  std::int64_t iteration = 0;
  CheckpointFiles files;
  /// The results up to `iteration` that were not reported, as it was to leave before; in order.
  std::vector<PrintedResult> ahead = {};
  bool is_guess = false;                 ///< nothing told its order: it may be of a later iteration
  std::optional<SavedWhen> order = {};   ///< that tells; nothing: none is known
  std::string kind = {};                 ///< of what is saved in that order, see `kind_of_file`
  std::vector<std::string> counts = {};  ///< of its last results, see LastCounts
};

/// Something about a program that its user will not expect; mostly of one that does not speak the
/// protocol.
struct LaunchAdvisory {
  enum class What {
    silent,      ///< it prints nothing
    other_name,  ///< it prints a metric that is called almost as the one that is awaited
    unread,      ///< it prints numbers for a minute, and none of the metric
    restless,    ///< what it saves is changed all the time, and so never whole
    slow_start,  ///< it takes long to say hello, and `preload` would help
    cold,        ///< it was not forked from a server with its modules loaded
    echo,        ///< it says each result on both of its streams
    summary,     ///< a line with the metric is left out, since it sums up
    no_order,    ///< of what it saved first nothing tells which result it has
    too_late,    ///< what it saved on its way out holds results that are lost
    cut,         ///< it prints numbers with thousands set apart, or in another way that is not read
    no_result,   ///< it prints the metric in source, in settings or the like, which are left out
    no_colon,    ///< it prints the metric without a colon, and did with one, which counts alone
    two_numbers,      ///< it prints two numbers for the metric, of which the first counts
    odd_count,        ///< it counts its iterations with numbers that are none
    repeated,         ///< it begins with the result of the checkpoint that it goes on from
    log_cut,          ///< one of its logs was cut down by somebody else
    left_running,     ///< it has ended with success, and what it has left running was ended
    several_kinds,    ///< lines of different kinds with the metric count as results
    other_kind,       ///< it prints the metric in lines of several kinds, of which one counts
    lacking,          ///< it prints some of the metrics that a result waits for, and not all
    other_table,      ///< a row of numbers is left out, since it does not go on with the table
    other_rank,       ///< it runs as several processes, of which one prints the results
    bar,              ///< it prints the metric in a progress bar, too, which is left out
    late_rank,        ///< results of several processes have counted before one of them was chosen
    interleaved,      ///< lines with the metric count that seem to be of several curves
    lost_row,         ///< a row of numbers is left out that may be one of two tables
    doubtful_row,     ///< a row of numbers counts that may be another table's
    skipped,          ///< it goes on behind a result that was saved and never printed
    several_numbers,  ///< it prints several numbers with the metric's name in one line
    uneven,           ///< of the metrics that a result waits for, some come more often than others
  };
  LaunchId launch{};
  What what{};
  std::string sentence;  ///< without its subject, the trial
};

/// It answered a Save.
struct SaveAnswered {
  LaunchId launch{};
  std::optional<std::int64_t> iteration = {};  ///< of the save that it says it answers
  std::optional<std::string> error;
  std::optional<std::int64_t> bytes = {};  ///< that it says it has written
};

/// It said that it failed, or said something that is not the protocol. It will be ended by the
/// loop.
struct Faulted {
  LaunchId launch{};
  std::string reason;  ///< a sentence
};

/// A program that does not speak the protocol was told to stop, but had already ended by itself,
/// with success. Further steps deliver the rest of its results, up to its Exited; or it is told to
/// stop once more.
struct RanToEnd {
  LaunchId launch{};
};

/// It closed its end of the socket. It may live on.
struct Disconnected {
  LaunchId launch{};
};

/// The process is gone, reaped, and so is everything in its process group; nothing more will come.
/// Comes after all it said.
struct Exited {
  LaunchId launch{};
  int exit_code = 0;          ///< valid if `signal` is 0
  int signal = 0;             ///< that killed it; 0: it exited
  std::string obstacle = {};  ///< a fault of the machine that it met, as a sentence; mostly none
  /// So many processes of its control group, or of the machine, the kernel has killed for lack of
  /// memory while it ran; of one that has failed.
  std::uint64_t memory_kills = 0;
};

/// The node that it ran on is lost, and it has ended there, or must have by its agent's lease;
/// nothing more will come. Also of one that was launched on such a node.
struct Lost {
  LaunchId launch{};
  std::string reason;  ///< a phrase: which node, why
};

using LaunchEvent =
    std::variant<Launched, LaunchFailed, Greeted, Refused, Reported, CheckpointFound,
                 LaunchAdvisory, SaveAnswered, Faulted, RanToEnd, Disconnected, Exited, Lost>;

class Executor {
 public:
  virtual ~Executor() = default;

  /// Starts a process; Launched or LaunchFailed will say how it went. Does not block.
  virtual void launch(LaunchId launch, LaunchSpec spec) = 0;

  /// Queues a command; what is queued for a launch goes out as one write at the reactor's next
  /// `wait`. To a launch that is gone or has disconnected: ignored. Does not block, however slow
  /// the other end.
  virtual void send(LaunchId launch, const protocol::Command& command) = 0;

  /// Sends `signal` to the whole process group (SIGTERM, SIGKILL), behind the commands that are
  /// queued for it, as far as it takes them now. To one that is gone: ignored.
  virtual void signal(LaunchId launch, int signal) = 0;
};

}  // namespace tune
