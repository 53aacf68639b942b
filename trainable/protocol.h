// The wire between driver and trainable, as the trainable sees it: message types, their text, and
// the names of the environment variables. docs/protocol.md is the reference.
// Knows no process and no trial's life.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

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
  int rank = 0;
  int world_size = 1;
  /// Of a reset: where its output goes from now on. Absent: to stdout.log and stderr.log in
  /// `trial_dir`.
  std::optional<std::string> stdout_log, stderr_log;
};
struct Step {};
struct Save {
  std::string directory;  ///< absolute, exists, empty
};
struct Stop {};
using Command = std::variant<Start, Step, Save, Stop>;

// Trainable to driver.

enum class Api { class_api, function_api };

struct Hello {
  int protocol = version;
  std::int64_t pid = 0;
  Api api = Api::class_api;
  bool can_reset = false;
  bool reset_refused = false;  ///< answer to a reset that `reset_config` refused
};
struct Result {
  Json metrics;  ///< null: nothing new, only `done`
  bool done = false;
  bool should_checkpoint = false;
  std::optional<std::string> checkpoint;  ///< function API: the directory it wrote, handed over
};
struct Saved {
  std::optional<std::string> error;  ///< the save failed, training can go on
};
struct Failure {
  std::string message;
  std::string trace;
};
using Answer = std::variant<Hello, Result, Saved, Failure>;

/// One line with its newline.
std::string format(const Command& command);
std::string format(const Answer& answer);

/// The command in `line`. Unknown fields are ignored. Throws std::invalid_argument that says what
/// is wrong and what was expected.
Command parse_command(std::string_view line);

}  // namespace tune::protocol
