// Ask and tell: an experiment whose trials the caller runs. Suggestions and results go through the
// same policies, records and files as a driver's trials, so all commands work on it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tuner/base/clock.h"
#include "tuner/disk/file_system.h"
#include "tuner/model/experiment.h"
#include "tuner/policy/catalogue.h"
#include "tuner/spec/spec.h"

namespace tune {

/// The `command` in the spec of such an experiment.
inline constexpr const char* told_command = "(tune tell)";
/// Whether the caller, not a driver, runs the trials of an experiment with this spec.
bool is_told(const ExperimentSpec& spec);

/// One process's exclusive access to the experiment, from construction to destruction.
class AskSession {
 public:
  struct Suggested {
    TrialId trial{};
    std::string config;  ///< JSON text
  };
  using Answered = std::variant<Suggested, NothingNow, Exhausted>;

  struct Options {
    /// How long to wait while another process has the experiment.
    Seconds patience_s = 0;
    /// A snapshot is taken when replaying the journal takes the next process longer than this.
    Seconds long_replay_s = 0.05;
    /// Other hosts take this process for dead once it has given no sign of life for so long.
    Seconds lease_s = 60;
  };

  /// Takes up the experiment in `directory`, an absolute path; without one, starts it with `*spec`.
  /// Error (user) if there is none and no spec, if its trials are run by a driver, if `*spec` is
  /// not the one that it was started with, or if another process has it and stays.
  AskSession(FileSystem& files, const std::filesystem::path& directory, const Catalogue& catalogue,
             const ExperimentSpec* spec, const Options& options);
  ~AskSession();
  AskSession(const AskSession&) = delete;
  AskSession& operator=(const AskSession&) = delete;

  /// A new trial, which is running from now on; or why there is none. What the driver would try
  /// next at this point.
  Answered suggest();

  /// The trial has ended well with these metrics, a JSON object. Error (user) for a trial that is
  /// not running, and for metrics that are none or lack the experiment's own.
  void tell(TrialId trial, const std::string& metrics);
  /// The trial has failed for good.
  void tell_failure(TrialId trial, const std::string& reason);

  /// Writes everything durably; act on a suggestion only after it has returned. A snapshot that
  /// cannot be taken is only a notice, since nothing is lost without one.
  void commit();

  const Experiment& experiment() const;
  const ExperimentSpec& spec() const;
  /// What the user should know, a sentence each, that has not been taken yet.
  std::vector<std::string> take_notices();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tune
