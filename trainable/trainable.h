// What a C++ training program links: write a class (or a function), and one line of main.
// The program then runs under the driver, or by itself when started by hand.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trainable/values.h"

namespace tune {

/// Who and where this trial is. Filled by the driver before `setup`; in standalone mode `trial_id`
/// is "standalone" and `trial_dir` the working directory.
struct TrialContext {
  std::string trial_id;
  std::filesystem::path trial_dir;
  std::int64_t training_iteration = 0;  ///< of the last finished step, over all attempts
  int attempt = 1;                      ///< of this trial, from 1
  Json resources = Json::object();      ///< what it may use, amounts by name: {"cpu": 2.0}
  std::vector<std::string> devices;     ///< that were allotted, as CUDA_VISIBLE_DEVICES names them
  int rank = 0;  ///< which of `world_size` processes that train it together (`num_workers`)
  int world_size = 1;
  int local_rank = 0;  ///< which of those on this machine
};

/// A training program as a class. The driver calls, always from one thread:
/// `setup`, `load_checkpoint` if there is one to start from, then `step` and `save_checkpoint` as
/// it decides, and `cleanup` before the process ends. An exception out of any of them except
/// `save_checkpoint` is this attempt's failure; a failed save is counted and training goes on.
class Trainable {
 public:
  virtual ~Trainable() = default;

  /// Called once per config, before anything else.
  virtual void setup(const Json& config) { (void)config; }

  /// One training iteration. Returns an object of metrics, nested as you like; numbers, booleans
  /// and strings are kept. Two keys are not metrics: `"done": true` ends the trial after this
  /// result, `"should_checkpoint": true` asks for a checkpoint now.
  virtual Json step() = 0;

  /// Writes everything that `load_checkpoint` needs into `directory`, which exists and is empty.
  /// May return before the bytes are on disk: the driver syncs them. Regular files and directories
  /// only, at least one, none called manifest.json at the top. The default throws.
  virtual void save_checkpoint(const std::filesystem::path& directory);

  /// Reads what `save_checkpoint` wrote. The directory may have moved since, belongs to somebody
  /// else perhaps (an exploited trial), and must not be changed. The default throws.
  virtual void load_checkpoint(const std::filesystem::path& directory);

  /// Makes this object ready for another trial with `config`, as good as new, and answers true;
  /// or answers false, and the driver starts a fresh process instead. Used with `reuse_processes`.
  /// `context()`, working directory and log files are the new trial's already.
  virtual bool reset_config(const Json& config) {
    (void)config;
    return false;
  }

  /// Called before the process ends in good order, and when the driver is gone.
  virtual void cleanup() {}

  const TrialContext& context() const { return context_; }

 private:
  friend class TrainableRunner;
  TrialContext context_;
};

using TrainableFactory = std::function<std::unique_ptr<Trainable>()>;

/// Writes what is needed to go on into a directory, which exists and is empty. May throw: a failed
/// save is counted and training goes on. The rules for the contents are those of
/// `Trainable::save_checkpoint`.
using SaveFunction = std::function<void(const std::filesystem::path& directory)>;

/// A function trainable's line to the driver.
class Session {
 public:
  virtual ~Session() = default;

  /// Reports one iteration and blocks until the driver says go on. Give a directory and it becomes
  /// this iteration's checkpoint: it is *moved* away if it lies in `trial_dir`, so write a new one
  /// each time (`new_checkpoint_dir` has one), and copied if it lies elsewhere. When the driver
  /// says stop, this does not return: it unwinds the function by throwing a type that is no
  /// std::exception. Let it pass.
  virtual void report(Json metrics,
                      const std::optional<std::filesystem::path>& checkpoint_dir = {}) = 0;

  /// The same, and leaves it to the driver whether to save: `save` is called, before this returns
  /// or throws, if a checkpoint is wanted now: before a pause, for a clone, every
  /// `checkpoint_frequency` iterations, or for `"should_checkpoint": true` in `metrics`.
  virtual void report(Json metrics, const SaveFunction& save) = 0;

  /// Where to start from, if anywhere: set at a retry, a resume, and when a paused trial goes on.
  virtual const std::optional<std::filesystem::path>& checkpoint() const = 0;

  /// A fresh empty directory on the trial's own file system, for the next `report`.
  virtual std::filesystem::path new_checkpoint_dir() = 0;

  virtual const TrialContext& context() const = 0;
};

using TrainFunction = std::function<void(const Json& config, Session& session)>;

/// True in a process that a driver has launched as a trial.
bool launched_by_driver();

/// Runs the class or function to its end and returns the exit code for `main`. Under a driver it
/// speaks the protocol (docs/protocol.md). Started by hand it trains standalone: see `--help` of
/// the program for its options (`--config JSON`, `--config-file FILE`, `--iterations N`,
/// `--checkpoint DIR`, `--save-to DIR`); results are JSON lines on stdout.
int run_trainable(int argc, char** argv, const TrainableFactory& factory);
int run_function(int argc, char** argv, const TrainFunction& function);

/// `int main(int argc, char** argv) { return tune::run_trainable<MyTrainable>(argc, argv); }`
template <class T>
int run_trainable(int argc, char** argv) {
  return run_trainable(argc, argv, [] { return std::make_unique<T>(); });
}

}  // namespace tune
