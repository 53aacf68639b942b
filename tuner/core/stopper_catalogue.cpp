#include "tuner/core/stopper_catalogue.h"

#include "tuner/core/error.h"
#include "tuner/core/options.h"

namespace tune {

namespace {

std::unique_ptr<Stopper> from_options_max_iteration(const Json& json, const PolicyContext&) {
  OptionReader reader(json);
  const auto iterations = reader.get_required<std::int64_t>("iterations");
  reader.require(iterations >= 1, "iterations", "at least 1");
  reader.finish();
  return make_max_iteration(iterations);
}

std::unique_ptr<Stopper> from_options_time_budget(const Json& json, const PolicyContext&) {
  OptionReader reader(json);
  const auto seconds = reader.get_required<double>("seconds");
  reader.require(seconds > 0, "seconds", "above 0");
  reader.finish();
  return make_time_budget(seconds);
}

/// The metric in the options, else the objective's.
std::string read_metric(OptionReader& reader, const PolicyContext& context) {
  if (context.objective) return reader.get("metric", context.objective->metric);
  return reader.get_required<std::string>("metric");
}

Mode read_mode(OptionReader& reader, const PolicyContext& context, Mode otherwise) {
  return reader.get("mode", context.objective ? context.objective->mode : otherwise);
}

std::unique_ptr<Stopper> from_options_trial_plateau(const Json& json,
                                                    const PolicyContext& context) {
  OptionReader reader(json);
  TrialPlateauOptions options;
  options.metric = read_metric(reader, context);
  options.mode = read_mode(reader, context, options.mode);
  options.std = reader.get("std", options.std);
  options.num_results = reader.get("num_results", options.num_results);
  options.grace_period = reader.get("grace_period", options.grace_period);
  options.metric_threshold = reader.get_optional<double>("metric_threshold");
  reader.require(options.std >= 0, "std", "at least 0");
  reader.require(options.num_results >= 2, "num_results", "at least 2");
  reader.require(options.grace_period >= 0, "grace_period", "at least 0");
  reader.finish();
  return make_trial_plateau(std::move(options));
}

std::unique_ptr<Stopper> from_options_experiment_plateau(const Json& json,
                                                         const PolicyContext& context) {
  OptionReader reader(json);
  ExperimentPlateauOptions options;
  options.metric = read_metric(reader, context);
  options.mode = read_mode(reader, context, options.mode);
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
  const auto add = [&](const char* name, Factory<Stopper> factory) {
    const bool is_new = catalogue.stoppers.emplace(name, std::move(factory)).second;
    ensure(is_new, "each stopper has its own name");
  };
  add("max_iteration", from_options_max_iteration);
  add("time_budget", from_options_time_budget);
  add("trial_plateau", from_options_trial_plateau);
  add("experiment_plateau", from_options_experiment_plateau);
}

}  // namespace tune
