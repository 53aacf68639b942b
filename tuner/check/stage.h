// The environment of a check: a directory for each trial, processes launched as by a driver, and
// checkpoints moved away as a driver does it.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tuner/check/differences.h"
#include "tuner/check/peer.h"
#include "tuner/process/reserved_port.h"
#include "tuner/spec/spec.h"

namespace tune {

/// Of a clock that never goes back.
Seconds steady_s();

/// A checkpoint, moved to a path that its process does not know.
struct Kept {
  std::filesystem::path directory;
  std::int64_t iteration = 0;
};

class Stage {
 public:
  /// `directory`: absolute, exists. `files` outlives it.
  Stage(const ExperimentSpec& spec, FileSystem& files, std::filesystem::path directory,
        Seconds answer_s)
      : spec_(spec),
        constraints_(constraints_of(spec)),
        files_(files),
        directory_(std::move(directory)),
        answer_s_(answer_s) {}

  const ExperimentSpec& spec() const { return spec_; }
  const std::vector<Constraint>& constraints() const { return constraints_; }
  FileSystem& files() { return files_; }
  Seconds answer_s() const { return answer_s_; }
  PeerLauncher& launcher() { return launcher_; }

  /// A trial that no process has been in.
  TrialId new_trial() { return TrialId{trials_++}; }
  std::filesystem::path directory_of(TrialId trial) const;
  /// What a process of `trial` is launched with; its directories are made.
  LaunchSpec launch_of(TrialId trial, int attempt);
  /// Judges the directory `from` as a driver does, and moves it to a new path. Trouble if it is no
  /// checkpoint.
  Kept keep(const std::filesystem::path& from, std::int64_t iteration);

 private:
  const ExperimentSpec& spec_;
  const std::vector<Constraint> constraints_;
  FileSystem& files_;
  std::filesystem::path directory_;
  Seconds answer_s_;
  PeerLauncher launcher_;
  std::uint32_t trials_ = 0;
  int kept_ = 0;
  std::optional<ReservedPort> port_;  ///< for a trial of workers
};

/// One process, which trains one trial after the other.
class Actor {
 public:
  /// Launched, and has said hello. In `trial`, or a new one.
  explicit Actor(Stage& stage, std::optional<TrialId> trial = {});

  const protocol::Hello& hello() const { return hello_; }
  Seconds hello_s() const { return hello_s_; }
  /// Whether it may be told to save, after its last result.
  bool can_save() const { return hello_.api == protocol::Api::class_api || can_save_; }
  TrialId trial() const { return trial_; }
  Peer& peer() { return *peer_; }

  void start(const Json& config, const std::optional<Kept>& from = {});
  /// Goes on in a new trial. What it says to that comes with the next step.
  void reset(const Json& config, const std::optional<Kept>& from = {});

  /// Takes steps until `iteration`, or it is done, and answers with the results.
  Results train_until(std::int64_t iteration);
  /// The result of the next step; nothing: it is done, and had none.
  std::optional<Metrics> step();
  void tell_step();
  /// After `tell_step`.
  std::optional<Metrics> hear_result();
  /// It has refused the reset: instead of `hear_result`.
  bool is_refused() const { return is_refused_; }
  bool is_done() const { return is_done_; }
  std::int64_t iteration() const { return iteration_; }
  bool echoes() const { return echoes_; }     ///< every answer has named what it answers
  Seconds step_s() const { return step_s_; }  ///< of the longest step since the first

  /// Of what `can_save`.
  Kept save();
  void tell_save();
  /// What a function has handed over with its results, the last one.
  const std::optional<Kept>& handed_over() const { return handed_over_; }

 private:
  protocol::Start start_message(const Json& config, const std::optional<Kept>& from) const;
  void judge_echo(std::optional<std::int64_t> named, std::int64_t asked);
  Metrics checked_metrics(Metrics metrics);

  Stage& stage_;
  TrialId trial_;
  int attempt_;
  LaunchSpec launch_;
  std::unique_ptr<Peer> peer_;
  protocol::Hello hello_;
  Seconds hello_s_ = 0;
  std::int64_t iteration_ = 0;
  bool is_done_ = false;
  bool is_refused_ = false;
  bool echoes_ = true;
  bool has_stepped_ = false;
  bool can_save_ = false;  ///< of a function
  Seconds step_s_ = 0;
  std::optional<Kept> handed_over_;
  std::filesystem::path save_directory_;
};

}  // namespace tune
