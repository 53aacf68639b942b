// The library's face: a trainable, a param space, a config; `fit()`; a ResultGrid.
// The same binary is driver and trainable: the driver starts it again for each trial.
#pragma once

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "trainable/trainable.h"
#include "tuner/policy/callback.h"
#include "tuner/policy/catalogue.h"
#include "tuner/result_grid.h"
#include "tuner/run.h"
#include "tuner/spec/spec.h"

namespace tune {

/// A training program in any language, as an argument vector.
using Command = std::vector<std::string>;

/// What a Tuner runs: a class, a function, or another program.
using TrainableKind = std::variant<TrainableFactory, TrainFunction, Command>;

/// `trainable<Mlp>()`: the class API.
template <class T>
TrainableKind trainable() {
  return TrainableFactory([] { return std::make_unique<T>(); });
}

/// Everything but trainable and param space: the fields of a spec (docs/spec.md).
using TuneConfig = ExperimentSpec;

/// A trial has failed, and fail_fast is "raise". The others can be gone on with: Tuner::restore.
class TrialFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Tuner {
 public:
  /// `config`'s command and param_space are replaced by the two arguments.
  Tuner(TrainableKind trainable, Json param_space, TuneConfig config = {});

  /// Goes on with the experiment in `directory` at `fit()`.
  static Tuner restore(const std::filesystem::path& directory, TrainableKind trainable,
                       ResumeOptions options = {});

  /// Called after those added before it.
  Tuner& add_callback(std::unique_ptr<Callback> callback);

  /// Where own searchers, schedulers and stoppers are added by name.
  Catalogue& catalogue() { return catalogue_; }

  /// Without it, the console shows nothing.
  Tuner& show_progress(bool show);

  /// Runs the experiment to its end. In a process that a driver has started as a trial it runs the
  /// trainable instead and never returns, so what `main` does before this, it does in every trial.
  /// Throws Error for bad input and for faults of the machine, TrialFailure if fail_fast says so.
  ResultGrid fit();

 private:
  TrainableKind trainable_;
  TuneConfig config_;
  Catalogue catalogue_;
  std::vector<std::unique_ptr<Callback>> callbacks_;
  std::filesystem::path restored_;  ///< empty: a new experiment
  ResumeOptions resume_;
  bool show_progress_ = true;
};

}  // namespace tune
