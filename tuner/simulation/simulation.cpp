// Wires a loop to a SimulatedExecutor, a virtual clock, and checkpoints in memory.
#include "tuner/simulation/simulation.h"

#include <string>
#include <unordered_map>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_storage.h"
#include "tuner/disk/null_file_system.h"
#include "tuner/model/paths.h"
#include "tuner/run/commit/make_policies.h"
#include "tuner/run/run_parts.h"
#include "tuner/simulation/simulated_executor.h"
#include "tuner/version.h"

namespace tune {

namespace {

using std::filesystem::path;

/// What simulated programs save, by directory; no directory is made.
class MemoryCheckpoints final : public CheckpointStorage, public SimulatedStorage {
 public:
  explicit MemoryCheckpoints(path experiment) : experiment_(std::move(experiment)) {}

  path make_working_directory(TrialId trial) override { return paths::trial(experiment_, trial); }
  path write_config(TrialId, const std::string&) override { return {}; }
  path begin(CheckpointRef checkpoint, int attempt) override {
    return paths::checkpoint_aside(paths::trial(experiment_, checkpoint.trial), checkpoint.index,
                                   attempt);
  }
  path adopt_checkpoint(CheckpointRef checkpoint, int attempt,
                        const std::string& reported) override {
    move(reported, begin(checkpoint, attempt));
    return reported;
  }
  void add_part(CheckpointRef, int, const std::string&) override {}
  // What programs save by themselves; simulated ones do not.
  void copy(CheckpointRef, int, const path&, const path&) override {}
  void put_back(const path&, const path&) override {}
  void clear(TrialId, const path&, const std::vector<path>&) override {}
  CommittedCheckpoint commit(const ManifestHeader& header, const path&) override {
    const path to = locate(header.checkpoint);
    move(begin(header.checkpoint, header.attempt), to);
    return {contents_.at(to.native()).size(), 1};
  }
  void discard(CheckpointRef checkpoint, int attempt) override {
    contents_.erase(begin(checkpoint, attempt).native());
  }
  void discard(TrialId, const std::string& reported) override { contents_.erase(reported); }
  std::optional<std::string> verify(CheckpointRef checkpoint) override {
    if (contents_.contains(locate(checkpoint).native())) return std::nullopt;
    return locate(checkpoint).native() + " does not exist";
  }
  std::optional<std::string> verify_foreign(const path&) override { return std::nullopt; }
  path locate(CheckpointRef checkpoint) override {
    return paths::checkpoint(experiment_, checkpoint);
  }
  // No simulated disk is too small.
  SavedResults results(CheckpointRef) override { return {}; }
  bool is_evicted(CheckpointRef) override { return false; }
  void evict(CheckpointRef, const RemotePlace&) override {}
  std::optional<std::string> accept(CheckpointRef) override { return std::nullopt; }
  path set_aside(CheckpointRef checkpoint) override {
    remove(checkpoint);
    return paths::checkpoint_corrupt(paths::trial(experiment_, checkpoint.trial), checkpoint.index);
  }
  void remove(CheckpointRef checkpoint) override { contents_.erase(locate(checkpoint).native()); }

  void write(const std::string& directory, std::string content) override {
    contents_[directory] = std::move(content);
  }
  std::string read(const std::string& directory) override {
    const auto found = contents_.find(directory);
    if (found == contents_.end()) throw machine_error("there is no checkpoint in " + directory);
    return found->second;
  }

 private:
  void move(const path& from, const path& to) {
    auto written = contents_.extract(from.native());
    if (written.empty()) throw machine_error(from.native() + " is empty: nothing was saved");
    written.key() = to.native();
    contents_.insert(std::move(written));
  }

  path experiment_;
  std::unordered_map<std::string, std::string> contents_;
};

/// What is about a machine has no meaning here.
void remove_guards(ExperimentSpec& spec) {
  spec.resume_from_checkpoint.clear();
  spec.launch_timeout_s = never_s;
  spec.min_free_bytes = 0;
  spec.workers.reset();  // a trial is one program, whatever it takes
}

}  // namespace

RunOutcome simulate_experiment(ExperimentSpec spec, const Catalogue& catalogue,
                               SimulatedProgram program, SimulationOptions options) {
  // Whoever resumed it with the program of the spec would mix what was simulated with what was not.
  spec.command = {"simulated"};
  const Json recorded = to_json(spec);
  remove_guards(spec);
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", problems);
  Policies policies = make_policies(spec, space, catalogue, problems);
  if (const auto reason = ResourcePool(spec.resources).impossible(spec.resources_per_trial)) {
    problems.push_back({"/resources_per_trial", *reason});
  }
  throw_if_any(problems);
  if (options.searcher != nullptr) {
    policies.searcher =
        Suggester(std::move(options.searcher), spec.objectives, constraints_of(spec));
  }

  const auto disk =
      options.directory.empty() ? make_null_file_system() : make_posix_file_system(Access::owner);
  const path directory = options.directory.empty() ? path("/simulation") : options.directory;
  VirtualClock clock;
  const LockOwner self = this_process(clock.now());
  auto store = ExperimentStore::create(*disk, directory, recorded, self);
  MemoryCheckpoints checkpoints(directory);
  SimulatedExecutor executor(clock, checkpoints, std::move(program));
  Experiment experiment;
  CallbackList callbacks(std::move(options.callbacks));
  set_up(callbacks, spec, experiment, policies, directory, spec.resources);
  // Without threads all work is done where it is posted, and takes no virtual time.
  RunParts drive({spec, experiment, policies, store, callbacks},
                 {executor, executor, clock, checkpoints, Workers::Threads::none}, recorded,
                 std::nullopt);
  drive.snapshots().stop();
  begin_session(drive.committer(), self, version());
  drive.committer().write();
  LoopEnd end = drive.run({.launch = {.experiment_dir = directory}, .resources = spec.resources});
  return {std::move(end), ResultGrid(std::move(experiment), std::move(spec), directory),
          store.cost()};
}

}  // namespace tune
