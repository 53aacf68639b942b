// What configs, or results, of an experiment have to fulfil: "batch * hidden <= 65536",
// "latency_ms <= 20".
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tuner/base/expression.h"
#include "tuner/model/result.h"
#include "tuner/model/trial.h"

namespace tune {

class Constraint {
 public:
  /// Whether a hyperparameter of that name is a number; nothing if there is none of that name.
  using HasNumber = std::function<std::optional<bool>(const std::string& name)>;

  /// Two expressions with one "<=" or ">=" between them. Names that `hyperparameter` knows are
  /// hyperparameters, all others metrics, with dots for the slashes. Throws std::invalid_argument:
  /// a sentence about what is wrong. `SearchSpace::constraint` makes one over a param space.
  Constraint(const std::string& text, const HasNumber& hyperparameter);

  const std::string& text() const { return text_; }
  /// The metrics that it needs ("val/memory"). None: it is about configs alone, and can be checked
  /// before a trial.
  const std::vector<std::string>& metrics() const { return metrics_; }
  bool needs_metrics() const { return !metrics_.empty(); }
  bool needs_config() const { return excess_.variables().size() > metrics_.size(); }

  using Lookup = std::function<std::optional<double>(const std::string& metric)>;
  /// By how much the constraint is violated: fulfilled at 0 and below. A config without one of the
  /// hyperparameters is not constrained: 0. NaN if one of the metrics is missing.
  double value(const Json& config, const Lookup& metric) const;

 private:
  bool is_hyperparameter(const std::string& name) const;

  std::string text_;
  Expression excess_;
  std::vector<std::string> metrics_;
};

bool any_about_configs(const std::vector<Constraint>& constraints);

/// The first constraint about configs alone that `config` violates; null if there is none.
const Constraint* find_broken(const std::vector<Constraint>& constraints, const Json& config);

/// The sentence that no config fulfils the constraints about configs alone; `place`: "in the grid".
std::string too_narrow(const std::vector<Constraint>& constraints, const std::string& place);

/// Values of those that need metrics, in their order: at the trial's last result, or at `result`,
/// the next one of a trial.
std::vector<double> values_of(const std::vector<Constraint>& constraints, const Trial& trial);
std::vector<double> values_of(const std::vector<Constraint>& constraints, const Trial& trial,
                              const Result& result);

/// A metric that one of them needs and that is lacking: "'ms' of the constraint 'ms <= 20'".
std::optional<std::string> lacking_metric(const std::vector<Constraint>& constraints,
                                          const Constraint::Lookup& metric);
std::optional<std::string> lacking_metric(const std::vector<Constraint>& constraints,
                                          const Result& result);

/// The sum of the values above 0. NaN counts as infinite.
double violation(const std::vector<double>& values);

}  // namespace tune
