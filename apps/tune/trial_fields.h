// What can be asked of a trial by a name: its own fields, its metrics, the values of its config.
// Knows no output and no directory.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuner/core/experiment.h"

namespace tune {

/// Who has paused the trial: "user", "scheduler", or "" if it is not PAUSED.
const char* paused_by(const Trial& trial);

class TrialFields {
 public:
  struct Field {
    enum class Source { own, metric, config };
    std::string name;  ///< as shown: "state", "loss", "config.optimizer.lr"
    Source source = Source::own;
    std::string key;  ///< in the metrics or the config, nested with '/'
  };

  /// Collects the names over all trials. `expected_metrics` are known before anyone has reported
  /// them.
  TrialFields(const Experiment& experiment, const std::vector<std::string>& expected_metrics);

  /// The field that `name` means. A '.' stands for '/' and a '_' for every other character that
  /// cannot be in an expression; the trial's own fields win over metrics, and these over the
  /// config, all of which is also reached by "config.". Error (user) for a name that no trial has,
  /// with the nearest that there is; `kind` is the word for it ("column").
  Field find(const std::string& kind, const std::string& name) const;

  /// The names of the config's values that `param_space` does not simply state.
  std::vector<std::string> drawn(const Json& param_space) const;

  /// All fields: own, metrics, config, each once.
  std::vector<Field> all() const;

 private:
  std::vector<std::string> metrics_;  ///< in the order they first appeared
  std::vector<std::string> config_;
  std::map<std::string, Field> exact_;   ///< by the name, with dots
  std::map<std::string, Field> fields_;  ///< by the name as it can be written in an expression
};

/// Adds a line "optimizer.lr = 0.1" for each value of the config; the first has the key "config".
void add_config(const Json& config, std::vector<std::pair<std::string, std::string>>& pairs);

/// The values of several fields of one trial; null where it has none.
std::vector<Json> values_of(const Trial& trial, const std::vector<TrialFields::Field>& fields);

}  // namespace tune
