// The wire between driver and trainable, as the trainable sees it: message types, their text, and
// the names of the environment variables. docs/protocol.md is the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "trainable/values.h"

namespace tune::protocol {

inline constexpr int version = 1;
inline constexpr int socket_fd = 3;  ///< where the driver puts the trainable's end
inline constexpr std::size_t max_line_bytes = 16 * 1024 * 1024;
inline constexpr int max_depth = 64;

inline constexpr const char* env_socket_fd = "TUNE_SOCKET_FD";
inline constexpr const char* env_version = "TUNE_PROTOCOL_VERSION";
inline constexpr const char* env_experiment = "TUNE_EXPERIMENT";          ///< its name
inline constexpr const char* env_experiment_dir = "TUNE_EXPERIMENT_DIR";  ///< absolute
inline constexpr const char* env_trial_id = "TUNE_TRIAL_ID";
inline constexpr const char* env_trial_dir = "TUNE_TRIAL_DIR";  ///< absolute, the working directory
inline constexpr const char* env_attempt = "TUNE_ATTEMPT";
inline constexpr const char* env_resources = "TUNE_RESOURCES";  ///< JSON: amounts by name
inline constexpr const char* env_session = "TUNE_SESSION";  ///< by which orphans are known again

// Driver to trainable.

struct Start {
  bool reset = false;  ///< "reset" on the wire: for a process that has already run another trial
  std::string trial_id;
  std::string trial_dir;  ///< the working directory
  Json config;
  std::optional<std::string> checkpoint;  ///< directory to restore from
  std::int64_t iteration = 0;             ///< of that checkpoint
  int attempt = 1;                        ///< of this trial, from 1
  Json resources = Json::object();        ///< amounts by name
  std::vector<std::string> devices;  ///< that were allotted, as CUDA_VISIBLE_DEVICES names them
  /// Where its output goes: absolute, equal if it is merged. A process that is launched has them
  /// open, one that is reset opens them.
  std::string stdout_log, stderr_log;
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;  ///< among those on this machine
};
struct Step {
  /// The `training_iteration` that its result has unless its metrics name another one.
  std::int64_t iteration = 0;
};
struct Save {
  std::string directory;       ///< absolute, exists, empty
  std::int64_t iteration = 0;  ///< of the result that it belongs to
};
/// Whether a process that is told to stop may wait for another trial instead.
enum class Stay { no, if_clean, if_possible };
struct Stop {
  Stay stay = Stay::no;
};
using Command = std::variant<Start, Step, Save, Stop>;

// Trainable to driver.

enum class Api { class_api, function_api };

struct Hello {
  int protocol = version;
  Api api = Api::class_api;
  bool can_reset = false;
  bool can_save = false;  ///< function API: it saves when told to, after results that say so
  bool can_save_at_start = false;  ///< it may be told to save before its first step
  bool can_stay = false;           ///< told to stop, it may wait for another trial
};
struct Result {
  Json metrics;  ///< null: nothing new, only `done`
  bool done = false;
  bool should_checkpoint = false;
  std::optional<std::string> checkpoint;  ///< function API: name of a directory, handed over
  std::optional<std::int64_t> iteration;  ///< of the step that it answers
  bool can_save = false;                  ///< function API: it may be told to save now
  std::optional<double> load_s;           ///< that loading took, before the first step
  bool stays = false;                     ///< to a stop: it waits for a reset
};
struct Saved {
  std::optional<std::string> error;       ///< the save failed, training can go on
  std::optional<std::int64_t> iteration;  ///< of the save that it answers
  std::optional<std::int64_t> bytes;      ///< that this process has written for it
};
/// To the first step after a reset: this process cannot become that trial. To a stop: any other.
struct Refused {
  std::string reason = {};
};
struct Failure {
  std::string message;
  std::string trace;
};
using Answer = std::variant<Hello, Result, Saved, Refused, Failure>;

/// One line with its newline. No blanks outside of strings, "type" first, then the fields in the
/// order of docs/protocol.md, so that a shell can tell commands by their beginning.
std::string format(const Command& command);
std::string format(const Answer& answer);

/// The command in `line`. Unknown fields are ignored. Throws std::invalid_argument that says what
/// is wrong and what was expected.
Command parse_command(std::string_view line);

}  // namespace tune::protocol
