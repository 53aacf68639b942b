// An experiment in virtual time: the same loop, policies and journal as in a run, around a program
// that is a function.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "tuner/policy/catalogue.h"
#include "tuner/run.h"
#include "tuner/simulation/simulated_program.h"
#include "tuner/spec/spec.h"

namespace tune {

struct SimulationOptions {
  /// Where the experiment goes, absolute; must not exist. Trials have no files in it, and no
  /// checkpoint has any bytes. Empty: nothing of it is kept.
  std::filesystem::path directory;
  std::unique_ptr<Searcher> searcher;                ///< null: the spec's
  std::vector<std::unique_ptr<Callback>> callbacks;  ///< those of the spec are left out
};

/// Runs it to its end; equal arguments give equal outcomes, record by record. The spec says what
/// there is: `resources` (a resource that is not in it, there is none of), and how all ends:
/// `stop`, `time_budget_s`. Of no account are its command, `resume_from_checkpoint`, and what
/// guards against silent processes and full disks. Error (user) for a spec that cannot run, Error
/// (machine) if the scheduler leaves trials waiting for ever.
RunOutcome simulate_experiment(ExperimentSpec spec, const Catalogue& catalogue,
                               SimulatedProgram program, SimulationOptions options = {});

}  // namespace tune
