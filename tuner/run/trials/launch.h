// What a trial's process is started with, and what it is told first.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tuner/execution/executor.h"
#include "tuner/model/experiment.h"
#include "tuner/model/resources.h"
#include "tuner/plain/plain_program.h"
#include "tuner/spec/spec.h"

namespace tune {

/// How many threads numeric libraries start.
inline constexpr const char* threads_variable = "OMP_NUM_THREADS";

/// What is the same for all launches of a run.
struct LaunchContext {
  std::filesystem::path experiment_dir;  ///< absolute
  std::string session_mark;              ///< TUNE_SESSION of what is launched
  std::vector<std::string> gpu_names;    ///< what CUDA_VISIBLE_DEVICES calls device i
  /// Names, and what the other nodes reach each by; empty: this machine alone, which has none here.
  std::vector<std::string> nodes = {};
  std::vector<std::string> addresses = {};
  /// A trial takes as many threads as it has cpus; false: the user has said how many.
  bool sets_threads = false;

  /// "oak", or "oak,elm" of workers on several.
  std::string node_names(const Allocation& allocation) const;
  /// One more, whose devices are numbered behind those of the others.
  void add_node(const NodeResources& node);
};

/// What CUDA_VISIBLE_DEVICES says: the names of the devices, with commas between them.
std::string visible_devices(const LaunchContext& context, const std::vector<int>& gpus);

/// `work`: the trial's working directory.
LaunchSpec launch_spec(const ExperimentSpec& spec, const LaunchContext& context, TrialId trial,
                       int attempt, const Allocation& allocation,
                       const std::filesystem::path& work);

/// Of all its workers, by rank; just the one above if it has none.
std::vector<LaunchSpec> launch_specs(const ExperimentSpec& spec, const LaunchContext& context,
                                     TrialId trial, int attempt, const Allocation& allocation,
                                     const std::filesystem::path& work);

/// Makes `launch` that of a plain program, which gets the trial's config in its command and
/// environment. `source`: where it keeps its checkpoints, if it does.
void make_plain(LaunchSpec& launch, const ExperimentSpec& spec, const Trial& trial,
                const PlainSource& source = {});

/// Whether trials can keep anything of what they have trained: a plain program without a place for
/// checkpoints cannot, and begins anew whenever it goes on.
bool can_keep_state(const ExperimentSpec& spec);

/// What the process of `launch` is told first. `checkpoint`: the directory to restore from, or
/// empty.
protocol::Start start_message(const LaunchContext& context, const Trial& trial,
                              const Allocation& allocation, const LaunchSpec& launch,
                              const std::filesystem::path& checkpoint);

}  // namespace tune
