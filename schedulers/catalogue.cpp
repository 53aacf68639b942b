// From the options in a spec to schedulers.
#include "schedulers/rungs.h"
#include "schedulers/schedulers.h"
#include "tuner/core/options.h"

namespace tune {

namespace {

/// With less, there would be a rung at almost every moment.
constexpr double least_factor = 1.1;

/// What trials are compared by: the options' own metric and mode, else the spec's.
Objective read_objective(OptionReader& reader, const PolicyContext& context) {
  const auto metric = reader.get_optional<std::string>("metric");
  const auto mode = reader.get_optional<Mode>("mode");
  if (!context.objective && !(metric && mode)) {
    throw OptionError("",
                      "this scheduler compares trials: name 'metric' and 'mode', in the spec or in "
                      "the scheduler's options");
  }
  return {metric ? *metric : context.objective->metric, mode ? *mode : context.objective->mode};
}

std::unique_ptr<Scheduler> fifo_from(const Json& json, const PolicyContext&) {
  OptionReader(json).finish();
  return make_fifo();
}

AshaOptions read_asha(OptionReader& reader, const PolicyContext& context) {
  AshaOptions options;
  options.objective = read_objective(reader, context);
  options.seed = context.seed;
  options.time_attr = reader.get("time_attr", options.time_attr);
  options.max_t = reader.get("max_t", options.max_t);
  options.grace_period = reader.get("grace_period", options.grace_period);
  options.reduction_factor = reader.get("reduction_factor", options.reduction_factor);
  options.brackets = reader.get("brackets", options.brackets);
  options.stop_last_trials = reader.get("stop_last_trials", options.stop_last_trials);
  reader.require(options.max_t > 0, "max_t", "above 0");
  reader.require(options.grace_period > 0, "grace_period", "above 0");
  reader.require(options.grace_period <= options.max_t, "grace_period", "at most max_t");
  reader.require(options.reduction_factor >= least_factor, "reduction_factor", "at least 1.1");
  reader.require(options.brackets >= 1, "brackets", "at least 1");
  const auto rungs =
      rung_milestones(options.grace_period, options.max_t, options.reduction_factor).size();
  reader.require(options.brackets <= static_cast<std::int64_t>(rungs), "brackets",
                 "at most the number of rungs, which is " + std::to_string(rungs) + " here");
  reader.finish();
  return options;
}

std::unique_ptr<Scheduler> asha_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  return make_asha(read_asha(reader, context));
}

std::unique_ptr<Scheduler> asha_promotion_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  return make_asha_promotion(read_asha(reader, context));
}

std::unique_ptr<Scheduler> hyperband_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  HyperbandOptions options;
  options.objective = read_objective(reader, context);
  options.time_attr = reader.get("time_attr", options.time_attr);
  options.max_t = reader.get("max_t", options.max_t);
  options.reduction_factor = reader.get("reduction_factor", options.reduction_factor);
  options.stop_last_trials = reader.get("stop_last_trials", options.stop_last_trials);
  reader.require(options.max_t >= 1, "max_t", "at least 1");
  reader.require(options.reduction_factor >= least_factor, "reduction_factor", "at least 1.1");
  reader.finish();
  return make_hyperband(std::move(options));
}

std::unique_ptr<Scheduler> median_stopping_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  MedianStoppingOptions options;
  options.objective = read_objective(reader, context);
  options.time_attr = reader.get("time_attr", options.time_attr);
  options.grace_period = reader.get("grace_period", options.grace_period);
  options.min_samples_required = reader.get("min_samples_required", options.min_samples_required);
  options.min_time_slice = reader.get("min_time_slice", options.min_time_slice);
  options.hard_stop = reader.get("hard_stop", options.hard_stop);
  reader.require(options.grace_period >= 0, "grace_period", "at least 0");
  reader.require(options.min_samples_required >= 1, "min_samples_required", "at least 1");
  reader.require(options.min_time_slice >= 0, "min_time_slice", "at least 0");
  reader.finish();
  return make_median_stopping(std::move(options));
}

}  // namespace

void add_schedulers(Catalogue& catalogue) {
  add_factory(catalogue.schedulers, "fifo", fifo_from);
  add_factory(catalogue.schedulers, "asha", asha_from);
  add_factory(catalogue.schedulers, "asha_promotion", asha_promotion_from);
  add_factory(catalogue.schedulers, "bohb", hyperband_from);
  add_factory(catalogue.schedulers, "hyperband", hyperband_from);
  add_factory(catalogue.schedulers, "median_stopping", median_stopping_from);
}

}  // namespace tune
