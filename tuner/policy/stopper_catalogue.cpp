// Reads the options of each built-in stopping rule.
#include "tuner/policy/stopper_catalogue.h"

#include "tuner/policy/options.h"

namespace tune {

namespace {

std::unique_ptr<Stopper> max_iteration_from(const Json& json, const PolicyContext&) {
  OptionReader reader(json);
  const auto iterations = reader.get_required<std::int64_t>("iterations");
  reader.require(iterations >= 1, "iterations", "at least 1");
  reader.finish();
  return make_max_iteration(iterations);
}

std::unique_ptr<Stopper> not_finite_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  NotFiniteOptions options;
  if (const auto metric = reader.get_optional<std::string>("metric")) {
    options.metrics = {*metric};
  } else if (context.objectives.empty()) {
    options.metrics = {reader.get_required<std::string>("metric")};
  } else {
    for (const Objective& objective : context.objectives) {
      options.metrics.push_back(objective.metric);
    }
  }
  options.times = reader.get("times", options.times);
  reader.require(options.times >= 1, "times", "at least 1");
  reader.finish();
  return make_not_finite(std::move(options));
}

std::unique_ptr<Stopper> time_budget_from(const Json& json, const PolicyContext&) {
  OptionReader reader(json);
  const auto seconds = reader.get_required<double>("seconds");
  reader.require(seconds > 0, "seconds", "above 0");
  reader.finish();
  return make_time_budget(seconds);
}

/// The metric and mode in the options, else the experiment's. `compares`: the mode makes a
/// difference.
template <class Options>
void read_objective(OptionReader& reader, const PolicyContext& context, const std::string& stopper,
                    bool compares, Options& options) {
  const auto given = reader.get_optional<std::string>("metric");
  const Objective* own = sole(context.objectives);
  if (!own && given) own = find_objective(context.objectives, *given);
  if (!own && !given && !context.objectives.empty()) {
    throw OptionError("", "the stopper '" + stopper +
                              "' watches one metric, and the experiment has several: name one as "
                              "its 'metric', or use 'max_iteration' or 'time_budget'");
  }
  options.metric = own && !given ? own->metric : reader.get_required<std::string>("metric");
  const Mode otherwise = own ? own->mode : options.mode;
  options.mode = compares && !options.metric.empty()
                     ? read_mode(reader, context, options.metric, otherwise)
                     : reader.get("mode", otherwise);
}

std::unique_ptr<Stopper> trial_plateau_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  TrialPlateauOptions options;
  options.metric_threshold = reader.get_optional<double>("metric_threshold");
  read_objective(reader, context, "trial_plateau", options.metric_threshold.has_value(), options);
  options.std = reader.get("std", options.std);
  options.num_results = reader.get("num_results", options.num_results);
  options.grace_period = reader.get("grace_period", options.grace_period);
  reader.require(options.std >= 0, "std", "at least 0");
  reader.require(options.num_results >= 2, "num_results", "at least 2");
  reader.require(options.grace_period >= 0, "grace_period", "at least 0");
  reader.finish();
  return make_trial_plateau(std::move(options));
}

std::unique_ptr<Stopper> experiment_plateau_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  ExperimentPlateauOptions options;
  read_objective(reader, context, "experiment_plateau", true, options);
  options.std = reader.get("std", options.std);
  options.top = reader.get("top", options.top);
  options.patience = reader.get("patience", options.patience);
  reader.require(options.std >= 0, "std", "at least 0");
  reader.require(options.top >= 2, "top", "at least 2");
  reader.require(options.patience >= 0, "patience", "at least 0");
  reader.finish();
  return make_experiment_plateau(std::move(options));
}

}  // namespace

void add_stoppers(Catalogue& catalogue) {
  add_factory(catalogue.stoppers, "max_iteration", max_iteration_from);
  add_factory(catalogue.stoppers, "nan", not_finite_from);
  add_factory(catalogue.stoppers, "time_budget", time_budget_from);
  add_factory(catalogue.stoppers, "trial_plateau", trial_plateau_from);
  add_factory(catalogue.stoppers, "experiment_plateau", experiment_plateau_from);
}

}  // namespace tune
