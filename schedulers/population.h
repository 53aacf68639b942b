// What population-based training leaves open: how the config of a copy is changed. pbt.cpp has the
// rest, who copies whom and when.
#pragma once

#include <memory>
#include <string>

#include "schedulers/progress.h"
#include "schedulers/schedulers.h"

namespace tune {

class Explorer {
 public:
  virtual ~Explorer() = default;

  /// The trial has come to the end of an interval with `config` (JSON text).
  virtual void on_score(TrialId, const TrialProgress&, const std::string& config) { (void)config; }
  /// `clone` goes on as a copy of `donor` with `config` (JSON text).
  virtual void on_clone(TrialId clone, TrialId donor, const std::string& config) {
    (void)clone, (void)donor, (void)config;
  }
  virtual void on_end(TrialId) {}

  /// The config for a copy of `donor`, whose own is given.
  virtual Json explore(TrialId donor, Json config, Random& random) = 0;

  /// One with the same state, see Scheduler::copy.
  virtual std::unique_ptr<Explorer> copy() const = 0;
  /// Null if there is no state; then it is not loaded either. Json::exception or
  /// std::invalid_argument for what is not its own, and then nothing has changed.
  virtual Json save() const { return nullptr; }
  virtual void load(const Json& state) { (void)state; }
};

std::unique_ptr<Scheduler> make_population(PopulationOptions options,
                                           std::unique_ptr<Explorer> explorer);

}  // namespace tune
