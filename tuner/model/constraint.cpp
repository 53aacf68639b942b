// Rewrites a comparison as an excess that is at most 0 where the constraint holds, and evaluates
// it.
#include "tuner/model/constraint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tuner/base/clean_text.h"

namespace tune {

namespace {

std::invalid_argument wrong(const std::string& text, const std::string& reason) {
  return std::invalid_argument("'" + text + "' is not a constraint: " + reason);
}

/// What is at most 0 if and only if the constraint is fulfilled.
Expression excess_of(const std::string& text) {
  std::size_t found = 0;
  std::size_t place = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if ((text[i] != '<' && text[i] != '>') || text[i + 1] != '=') continue;
    ++found;
    place = i;
  }
  if (found != 1) {
    throw wrong(text, "it must have one '<=' or '>=' between two expressions, got " +
                          (found == 0 ? "none" : std::to_string(found)));
  }
  const std::string left = trimmed(text.substr(0, place)), right = trimmed(text.substr(place + 2));
  // Each on its own, so that no bracket reaches across.
  for (const std::string& side : {left, right}) Expression{side};
  const bool is_upper_bound = text[place] == '<';
  return is_upper_bound ? Expression("(" + left + ") - (" + right + ")")
                        : Expression("(" + right + ") - (" + left + ")");
}

std::string metric_name(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return name;
}

/// What Trial::last_value will say once `result` is the last one.
std::optional<double> kept_value(const Result& result, const std::string& name) {
  const bool is_filled_in = name == "training_iteration" || name == "time_total_s" ||
                            name == "timesteps_total" || name == "episodes_total";
  return is_filled_in ? result.find(name) : result.metrics.find(name);
}

std::vector<double> values_at(const std::vector<Constraint>& constraints, const Trial& trial,
                              const Constraint::Lookup& metric) {
  std::vector<double> values;
  Json config;
  for (const Constraint& constraint : constraints) {
    if (!constraint.needs_metrics()) continue;
    if (constraint.needs_config() && config.is_null()) config = Json::parse(trial.config.text());
    values.push_back(constraint.value(config, metric));
  }
  return values;
}

}  // namespace

Constraint::Constraint(const std::string& text, const HasNumber& hyperparameter)
    : text_(text), excess_(excess_of(text)) {
  const auto& names = excess_.variables();
  if (names.empty()) throw wrong(text, "it names neither a hyperparameter nor a metric");
  for (const std::string& name : names) {
    const auto is_number = hyperparameter(name);
    if (is_number && !*is_number) {
      throw std::invalid_argument("the constraint '" + text + "' uses '" + name +
                                  "', which is not a number");
    }
    if (!is_number) metrics_.push_back(metric_name(name));
  }
}

bool Constraint::is_hyperparameter(const std::string& name) const {
  return std::find(metrics_.begin(), metrics_.end(), metric_name(name)) == metrics_.end();
}

double Constraint::value(const Json& config, const Lookup& metric) const {
  constexpr double no_number = std::numeric_limits<double>::quiet_NaN();
  const auto value = excess_.evaluate([&](const std::string& name) -> std::optional<ExactNumber> {
    if (!is_hyperparameter(name)) return metric(metric_name(name)).value_or(no_number);
    const Json* const found = find_dotted(config, name);
    return found != nullptr ? exact_number(*found) : std::nullopt;
  });
  if (!value) return 0;
  // Near 0 doubles may have rounded a whole number across it.
  constexpr double certain = 0x1p75;
  const bool is_in_doubt = value->is_rounded() && std::abs(value->value()) < certain;
  return is_in_doubt && !needs_metrics() ? no_number : value->value();
}

bool any_about_configs(const std::vector<Constraint>& constraints) {
  return std::any_of(constraints.begin(), constraints.end(),
                     [](const Constraint& constraint) { return !constraint.needs_metrics(); });
}

const Constraint* find_broken(const std::vector<Constraint>& constraints, const Json& config) {
  const auto broken = std::find_if(constraints.begin(), constraints.end(), [&](const auto& one) {
    return !one.needs_metrics() && violation({one.value(config, {})}) > 0;
  });
  return broken == constraints.end() ? nullptr : &*broken;
}

std::string too_narrow(const std::vector<Constraint>& constraints, const std::string& place) {
  std::string texts;
  for (const Constraint& constraint : constraints) {
    if (constraint.needs_metrics()) continue;
    texts += (texts.empty() ? "'" : " and '") + constraint.text() + "'";
  }
  return "no config with " + texts + " was found " + place +
         ": the constraints leave too little of the param space";
}

std::vector<double> values_of(const std::vector<Constraint>& constraints, const Trial& trial) {
  return values_at(constraints, trial,
                   [&](const std::string& name) { return trial.last_value(name); });
}

std::vector<double> values_of(const std::vector<Constraint>& constraints, const Trial& trial,
                              const Result& result) {
  return values_at(constraints, trial,
                   [&](const std::string& name) { return kept_value(result, name); });
}

std::optional<std::string> lacking_metric(const std::vector<Constraint>& constraints,
                                          const Constraint::Lookup& metric) {
  for (const Constraint& constraint : constraints) {
    for (const std::string& name : constraint.metrics()) {
      if (metric(name)) continue;
      const bool divides = constraint.text().find('/') != std::string::npos;
      return "'" + name + "' of the constraint '" + constraint.text() + "'" +
             (divides ? ", where '/' divides: a nested metric is named with dots, 'val.loss'" : "");
    }
  }
  return std::nullopt;
}

std::optional<std::string> lacking_metric(const std::vector<Constraint>& constraints,
                                          const Result& result) {
  return lacking_metric(constraints,
                        [&](const std::string& name) { return kept_value(result, name); });
}

double violation(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    // -infinity, too, may come of a division by zero: nothing is known then.
    if (!std::isfinite(value)) return std::numeric_limits<double>::infinity();
    sum += std::max(value, 0.0);
  }
  return sum;
}

}  // namespace tune
