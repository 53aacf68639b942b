// One run of the engine: what the library's Tuner and the command line both stand on.
// Wires store, processes, policies and callbacks around the loop.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/execution/local/detect_resources.h"
#include "tuner/model/state_cost.h"
#include "tuner/policy/catalogue.h"
#include "tuner/result_grid.h"
#include "tuner/run/loop_end.h"
#include "tuner/run/resume_plan.h"
#include "tuner/spec/spec.h"

namespace tune {

struct RunOptions {
  /// In addition to those that the spec names; called in this order.
  std::vector<std::unique_ptr<Callback>> callbacks;
  bool handle_signals = true;  ///< SIGINT, SIGTERM, SIGUSR1, SIGHUP end the run in good order
  bool strict = false;         ///< at a resume, a policy that answers differently is an Error
  bool salvage = false;        ///< at a resume, a damaged journal ends where the damage begins
  Seconds interrupt_grace_s = 30;
  /// Other hosts take this driver for dead once it has given no sign of life for so long.
  Seconds lease_s = 60;
  /// The program `tune` as the hosts of a cluster find it, to be their agent.
  std::string agent_program = "tune";
  /// The words that started this driver, to be recorded; empty: not known.
  std::vector<std::string> command_line;
  /// Called again and again while a run waits, before it begins, for the lease of an earlier driver
  /// whose life cannot be seen; gets the sentence to show. Empty: it waits in silence.
  std::function<void(const std::string& sentence)> on_wait;
  /// Whether an interrupt came before the run installed its own signal handling. Empty: no.
  std::function<bool()> is_interrupted;
};

struct RunOutcome {
  LoopEnd end;
  ResultGrid results;
  StateCost cost;  ///< of keeping the state, in this session
  std::string
      not_on_remote;  ///< a sentence: what is not there, and why; empty: all is, or no remote
  std::uint64_t attempts = 0;  ///< that this session has started or taken over
};

/// The experiment's directory: storage_path / name, absolute.
std::filesystem::path experiment_directory(const ExperimentSpec& spec);

/// What this machine has; the spec's `resources` override what was detected.
Resources total_resources(const ExperimentSpec& spec, const DetectedResources& detected);

/// Starts a new experiment and runs it to its end. Error (user) if the directory holds one already.
RunOutcome run_experiment(const ExperimentSpec& spec, const Catalogue& catalogue,
                          RunOptions options);

/// Continues an experiment after its driver ended or died, with its recorded spec. Error (user) if
/// `resume` asks for something impossible; nothing is changed then.
RunOutcome resume_experiment(const std::filesystem::path& directory, const Catalogue& catalogue,
                             RunOptions options, const ResumeOptions& resume = {});

/// The catalogue of everything that ships.
Catalogue built_in_catalogue();

}  // namespace tune
