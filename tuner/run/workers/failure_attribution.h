// Whose fault it is that the processes of a worker group end. The first that fails takes the others
// with it, and what these say from then on is a consequence, not a reason.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "tuner/run/workers/rank_set.h"

namespace tune {

/// How processes have ended that are all gone, or given up.
struct ProcessesGone {
  enum class How { exited, not_launched, lost, failed, node_lost };
  How how = How::exited;
  int exit_code = 0;  ///< valid if `signal` is 0
  int signal = 0;
  std::string reason;  ///< not_launched, failed, node_lost: a sentence; lost: which process
  bool is_trials_fault = false;    ///< not_launched: because of what lies in the trial's directory
  bool was_told = false;           ///< it had said hello, and knew what to train
  std::string who = "it";          ///< "rank 2" of several
  std::string obstacle = {};       ///< what of the machine's was in the way of one of them
  std::uint64_t memory_kills = 0;  ///< see Exited

  bool is_clean() const { return how == How::exited && exit_code == 0 && signal == 0; }
};

class FailureAttribution {
 public:
  /// Processes are launched; the first of them says on `log` what it has to say.
  void begin(std::filesystem::path log);
  /// They go on as another trial's.
  void begin_trial(std::filesystem::path log);
  /// The first process runs, and its part of the log begins there.
  void first_runs(std::uint64_t log_begin);

  /// It has closed its connection, or was gone, without having been asked to. The first one counts.
  void suspect(LaunchId process);
  /// Its end was in order.
  void acquit(LaunchId process);
  /// Another one is suspected.
  bool is_of_another(LaunchId process) const { return suspect_ && *suspect_ != process; }

  /// What it says explains the end.
  void attribute(const RankProcess& process);
  /// What one says after another is suspected: the reason, if that one's end is in order.
  void note_consequence(const RankProcess& process, const std::string& sentence);
  /// What of the machine's was in the way of one.
  void note_obstacle(const std::string& obstacle);
  /// It is gone. `is_failure`: its end was not in order, and nobody has caused it by a signal;
  /// `was_at_work`: nobody had been asked to leave.
  void note_end(const RankProcess& process, ProcessesGone gone, bool is_failure, bool was_at_work);

  /// All are gone: the end that counts.
  ProcessesGone whole_end(bool was_told) const;
  /// Where to read what explains it; also afterwards.
  const std::filesystem::path& log() const { return log_; }
  std::uint64_t log_begin() const { return log_begin_; }

 private:
  std::optional<LaunchId> suspect_;
  std::optional<std::string> consequence_;
  std::string obstacle_;
  std::optional<ProcessesGone> end_;  ///< of the first that failed; of the first at all until then
  bool is_explained_ = false;         ///< the end of the suspected one was a failure
  bool is_attributed_ = false;        ///< log_ is of the one whose fault it is
  std::filesystem::path log_;
  std::uint64_t log_begin_ = 0;
};

}  // namespace tune
