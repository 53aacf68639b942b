// From the options in a spec to schedulers.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "schedulers/rungs.h"
#include "schedulers/schedulers.h"
#include "schedulers/sub_populations.h"
#include "tuner/policy/options.h"

namespace tune {

namespace {

/// With less, there would be a rung at almost every moment.
constexpr double least_factor = 1.1;

/// What trials are compared by: the options' own metric and mode, else the spec's.
Objective read_objective(OptionReader& reader, const PolicyContext& context) {
  const auto metric = reader.get_optional<std::string>("metric");
  const auto mode = reader.get_optional<Mode>("mode");
  const Objective* own = sole(context.objectives);
  if (!own && metric) own = find_objective(context.objectives, *metric);
  if (!own && !(metric && mode)) {
    throw OptionError("",
                      "this scheduler compares trials: name 'metric' and 'mode', in the spec or in "
                      "the scheduler's options");
  }
  const std::string name = metric ? *metric : own->metric;
  return {name, read_mode(reader, context, name, own ? own->mode : Mode::max)};
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
  if (reader.is_good()) {
    const auto rungs =
        rung_milestones(options.grace_period, options.max_t, options.reduction_factor).size();
    reader.require(options.brackets <= static_cast<std::int64_t>(rungs), "brackets",
                   "at most the number of rungs, which is " + std::to_string(rungs) + " here");
  }
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

std::unique_ptr<Scheduler> freeze_thaw_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  FreezeThawOptions options;
  const Objective* const objective = sole(context.objectives);
  options.epochs.max_t = reader.get("max_t", options.epochs.max_t);
  options.epochs.grace_period = reader.get("grace_period", options.epochs.grace_period);
  options.max_total_t = reader.get_optional<std::int64_t>("max_total_t");
  reader.require(options.epochs.max_t >= 1, "max_t", "at least 1");
  reader.require(options.epochs.grace_period >= 1, "grace_period", "at least 1");
  reader.require(options.epochs.max_t < 1 || options.epochs.grace_period <= options.epochs.max_t,
                 "grace_period", "at most max_t");
  reader.require(options.max_total_t.value_or(1) >= 1, "max_total_t", "at least 1");
  reader.finish();
  const std::string searcher = context.searcher.value("type", std::string("freeze_thaw"));
  if (searcher != "freeze_thaw") {
    throw OptionError("",
                      "the scheduler 'freeze_thaw' pauses trials for the searcher "
                      "'freeze_thaw' to have them go on, which the searcher '" +
                          searcher + "' does not: leave 'searcher' out");
  }
  if (objective == nullptr) {
    throw OptionError("",
                      "the scheduler 'freeze_thaw' needs one 'metric' and its 'mode' in the "
                      "experiment: name the one that counts, or take the scheduler 'fifo', which "
                      "goes with several");
  }
  options.objective = *objective;
  return make_freeze_thaw(std::move(options));
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

std::vector<double> read_factors(OptionReader& reader, const std::vector<double>& otherwise) {
  const auto given = reader.get_optional<Json>("perturbation_factors");
  if (!given) return otherwise;
  const bool is_list =
      given->is_array() && !given->empty() &&
      std::all_of(given->begin(), given->end(), [](const Json& f) { return f.is_number(); });
  if (!is_list) {
    throw OptionError("/perturbation_factors",
                      "'perturbation_factors' must be a list of numbers, got " + shorten(*given));
  }
  return given->get<std::vector<double>>();
}

/// Whether configs of the space can have something at `pointer`.
bool has_place(const SearchSpace& space, const std::string& pointer) {
  const auto& leaves = space.leaves();
  return space.json().contains(Json::json_pointer(pointer)) ||
         std::any_of(leaves.begin(), leaves.end(),
                     [&](const SpaceLeaf& leaf) { return leaf.pointer == pointer; });
}

/// Trials that there will be; below 0: no end of them.
std::int64_t population_of(const PolicyContext& context) {
  const auto grid = static_cast<double>(context.space.grid_size());
  return static_cast<std::int64_t>(std::min(grid * static_cast<double>(context.num_samples), 1e15));
}

/// A number, or several: one for each sub-population.
std::vector<double> read_intervals(OptionReader& reader, const std::vector<double>& otherwise) {
  const std::string name = "perturbation_interval";
  const auto given = reader.get_optional<Json>(name);
  if (!given) return otherwise;
  const Json list = given->is_array() ? *given : Json::array({*given});
  const auto is_number = [](const Json& each) { return each.is_number(); };
  const auto is_positive = [](const Json& each) { return each > 0; };
  if (list.empty() || !std::all_of(list.begin(), list.end(), is_number)) {
    reader.require(false, name, "a number or a list of numbers");
    return otherwise;
  }
  const auto no_more = std::adjacent_find(list.begin(), list.end(), std::greater_equal<>());
  reader.require(std::all_of(list.begin(), list.end(), is_positive), name, "above 0");
  reader.require(no_more == list.end(), name, "in ascending order, no interval twice");
  return reader.is_good() ? list.get<std::vector<double>>() : otherwise;
}

/// Each sub-population has its best, its worst, and somebody between them, who may be replaced from
/// without.
void require_places(OptionReader& reader, const PopulationOptions& options) {
  const std::size_t intervals = options.perturbation_intervals.size();
  if (intervals == 1 || options.population < 1 || !reader.is_good()) return;
  const std::size_t smallest = static_cast<std::size_t>(options.population) / intervals;
  reader.require(
      smallest >= 3, "perturbation_interval",
      "a number, or a list with at least 3 trials for each interval, of which this search "
      "has " +
          std::to_string(options.population));
  const std::size_t size = SubPopulations::quantile_of(smallest, options.quantile_fraction);
  reader.require(smallest < 3 || smallest > 2 * size, "quantile_fraction",
                 "so small that somebody is left between the best and the worst of the " +
                     std::to_string(smallest) + " trials for an interval");
}

void read_population(OptionReader& reader, const PolicyContext& context,
                     PopulationOptions& options) {
  options.objective = read_objective(reader, context);
  options.space = context.space;
  options.constraints = context.constraints;
  options.seed = context.seed;
  options.population = population_of(context);
  options.time_attr = reader.get("time_attr", options.time_attr);
  options.perturbation_intervals = read_intervals(reader, options.perturbation_intervals);
  options.burn_in_period = reader.get("burn_in_period", options.burn_in_period);
  options.quantile_fraction = reader.get("quantile_fraction", options.quantile_fraction);
  options.synch = reader.get("synch", options.synch);
  reader.require(options.burn_in_period >= 0, "burn_in_period", "at least 0");
  reader.require(options.quantile_fraction >= 0 && options.quantile_fraction <= 0.5,
                 "quantile_fraction", "from 0 to 0.5");
  if (context.is_new) require_places(reader, options);
}

/// The option `name`: what may change, of what the param space has.
std::vector<Mutation> read_mutations(OptionReader& reader, const PolicyContext& context,
                                     const std::string& name) {
  const Json given = reader.get_required<Json>(name);
  if (given.is_null()) return {};
  const std::string at = "/" + name;
  if (!given.is_object() || given.empty()) {
    throw OptionError(
        at,
        "'" + name + "' must be an object with at least one hyperparameter, got " + shorten(given));
  }
  std::vector<Problem> problems;
  std::vector<Mutation> mutations = parse_mutations(given, at, problems);
  if (!problems.empty()) throw OptionError(std::move(problems));
  for (const Mutation& mutation : mutations) {
    if (context.space.is_expression(mutation.pointer)) {
      throw OptionError(at + mutation.pointer,
                        "an expression gives this value: name what it is calculated from instead");
    }
    if (has_place(context.space, mutation.pointer)) continue;
    throw OptionError(at + mutation.pointer, "the param space has no such hyperparameter");
  }
  return mutations;
}

std::unique_ptr<Scheduler> pbt_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  PbtOptions options;
  read_population(reader, context, options);
  Exploration& exploration = options.exploration;
  exploration.resample_probability =
      reader.get("resample_probability", exploration.resample_probability);
  exploration.perturbation_factors = read_factors(reader, exploration.perturbation_factors);
  reader.require(exploration.resample_probability >= 0 && exploration.resample_probability <= 1,
                 "resample_probability", "from 0 to 1");
  options.mutations = read_mutations(reader, context, "hyperparam_mutations");
  reader.finish();
  return make_pbt(std::move(options));
}

/// Whether the space has whole numbers at `pointer`.
bool has_integers(const SearchSpace& space, const std::string& pointer) {
  const auto& leaves = space.leaves();
  const Json::json_pointer place(pointer);
  const bool is_stated = space.json().contains(place) && space.json().at(place).is_number_integer();
  return is_stated || std::any_of(leaves.begin(), leaves.end(), [&](const SpaceLeaf& leaf) {
           return leaf.pointer == pointer && std::holds_alternative<Integer>(leaf.domain);
         });
}

/// [lower, upper], or a domain with bounds; `json`: as it was written.
Domain bounds_from(const Mutation& mutation, const Json& json, bool are_integers) {
  if (const auto* const domain = std::get_if<Domain>(&mutation.values)) {
    if (std::holds_alternative<Uniform>(*domain) || std::holds_alternative<Integer>(*domain)) {
      return *domain;
    }
  } else if (json.is_array()) {
    const auto& list = std::get<std::vector<Json>>(mutation.values);
    const bool is_pair = list.size() == 2 && list[0].is_number() && list[1].is_number() &&
                         list[0].get<double>() < list[1].get<double>();
    const bool is_whole_pair =
        is_pair && list[0].is_number_integer() && list[1].is_number_integer();
    if (is_whole_pair && are_integers) {
      return Integer{list[0].get<std::int64_t>(), list[1].get<std::int64_t>() + 1};
    }
    if (is_pair) return Uniform{list[0].get<double>(), list[1].get<double>()};
  }
  throw OptionError("/hyperparam_bounds" + mutation.pointer,
                    "expected [lower, upper], or a domain of numbers with bounds");
}

std::unique_ptr<Scheduler> pb2_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  Pb2Options options;
  read_population(reader, context, options);
  options.bounds = read_mutations(reader, context, "hyperparam_bounds");
  for (Mutation& bound : options.bounds) {
    const Json& written = json.at("hyperparam_bounds").at(Json::json_pointer(bound.pointer));
    bound.values = bounds_from(bound, written, has_integers(context.space, bound.pointer));
  }
  reader.finish();
  return make_pb2(std::move(options));
}

Resources read_amounts(OptionReader& reader, const std::string& name, const Resources& otherwise) {
  const auto given = reader.get_optional<Json>(name);
  if (!given) return otherwise;
  try {
    return resources_from_text(given->dump());
  } catch (const std::invalid_argument&) {
    throw OptionError("/" + name,
                      "'" + name + "' must be an object like {\"cpu\": 1}, got " + shorten(*given));
  }
}

/// The scheduler in the option "base_scheduler".
std::unique_ptr<Scheduler> read_base(OptionReader& reader, const PolicyContext& context) {
  const std::string at = "/base_scheduler";
  const Json given = reader.get("base_scheduler", Json("fifo"));
  Json typed = given.is_string() ? Json{{"type", given}} : given;
  Catalogue known;
  add_schedulers(known);
  const bool has_type = typed.is_object() && typed.contains("type") && typed["type"].is_string();
  const auto found =
      has_type ? known.schedulers.find(typed["type"].get<std::string>()) : known.schedulers.end();
  if (found == known.schedulers.end() || found->first == "resource_changing") {
    throw OptionError(at,
                      "'base_scheduler' must be the name of another scheduler, or an object "
                      "with it as \"type\", got " +
                          shorten(given));
  }
  typed.erase("type");
  try {
    return found->second(typed, context);
  } catch (const OptionError& error) {
    std::vector<Problem> problems = error.problems;
    for (Problem& each : problems) each.pointer = at + each.pointer;
    throw OptionError(std::move(problems));
  }
}

std::unique_ptr<Scheduler> resource_changing_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  ResourceChangingOptions options;
  options.resources = context.resources;
  options.resources_per_trial = context.resources_per_trial;
  options.max_concurrent_trials = context.max_concurrent_trials;
  if (context.num_samples >= 0) options.population = population_of(context);
  const auto gpus = options.resources_per_trial.find("gpu");
  const bool takes_gpus = gpus != options.resources_per_trial.end() && gpus->second > 0;
  options.increase_by = read_amounts(reader, "increase_by", {{takes_gpus ? "gpu" : "cpu", 1}});
  options.increase_by_times = reader.get("increase_by_times", options.increase_by_times);
  options.reserve_resources = read_amounts(reader, "reserve_resources", {});
  reader.require(!options.increase_by.empty(), "increase_by", "at least one amount");
  for (const auto& [name, amount] : options.increase_by) {
    reader.require(amount > 0, "increase_by", "amounts above 0");
    if (options.resources.contains(name)) continue;
    throw OptionError("", "resource_changing shares out what the spec says there is: name '" +
                              name + "' in 'resources'");
  }
  const auto is_whole = [](double amount) { return amount == std::trunc(amount); };
  const auto more_gpus = options.increase_by.find("gpu");
  const bool breaks_gpus =
      more_gpus != options.increase_by.end() &&
      !(is_whole(more_gpus->second) && (!takes_gpus || is_whole(gpus->second)));
  reader.require(!breaks_gpus, "increase_by", "whole gpus, for trials that begin with whole gpus");
  auto base = read_base(reader, context);
  reader.finish();
  return make_resource_changing(std::move(options), std::move(base));
}

/// Backwards along the names: what a donor was before is the clone's past, and what the clone was
/// itself is not.
PbtReplayOptions read_policy(const Json& rows) {
  PbtReplayOptions options;
  const Json* donor = nullptr;
  for (std::size_t i = rows.size(); i-- > 0;) {
    const Json& row = rows[i];
    const bool is_row = row.is_array() && row.size() == 6 && row[3].is_number_integer() &&
                        row[4].is_object() && row[5].is_object();
    if (!is_row) {
      throw OptionError("/policy/" + std::to_string(i),
                        "a row of a policy must be [clone, donor, iteration of the clone, of the "
                        "donor, old config, new config], got " +
                            shorten(row));
    }
    if (donor != nullptr && row[0] != *donor) break;
    donor = &row[1];
    options.initial_config = row[4];
    options.changes.insert(options.changes.begin(), {row[3].get<std::int64_t>(), row[5]});
  }
  return options;
}

std::unique_ptr<Scheduler> pbt_replay_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  const auto rows = reader.get_optional<Json>("policy");
  reader.finish();
  if (!rows) {
    throw OptionError("", "pbt_replay needs a 'policy_file', as pbt has written it");
  }
  if (!rows->is_array() || rows->empty()) {
    throw OptionError("/policy", "a policy must have at least one row, got " + shorten(*rows));
  }
  PbtReplayOptions options = read_policy(*rows);
  options.space = context.space;
  return make_pbt_replay(std::move(options));
}

/// One that compares trials, which it does by one metric.
void add_comparing(Catalogue& catalogue, const std::string& name, Factory<Scheduler> factory) {
  add_factory(catalogue.schedulers, name, [=](const Json& json, const PolicyContext& context) {
    if (context.objectives.size() > 1 && !json.contains("metric")) {
      throw OptionError("", "the scheduler '" + name +
                                "' compares trials by one metric, and the experiment has several: "
                                "name one as its 'metric', or use 'fifo'");
    }
    return factory(json, context);
  });
}

}  // namespace

void add_schedulers(Catalogue& catalogue) {
  add_factory(catalogue.schedulers, "fifo", fifo_from);
  add_comparing(catalogue, "asha", asha_from);
  add_comparing(catalogue, "asha_promotion", asha_promotion_from);
  add_comparing(catalogue, "bohb", hyperband_from);
  add_factory(catalogue.schedulers, "freeze_thaw", freeze_thaw_from);
  add_comparing(catalogue, "hyperband", hyperband_from);
  add_comparing(catalogue, "median_stopping", median_stopping_from);
  add_comparing(catalogue, "pb2", pb2_from);
  add_comparing(catalogue, "pbt", pbt_from);
  add_factory(catalogue.schedulers, "pbt_replay", pbt_replay_from);
  add_factory(catalogue.schedulers, "resource_changing", resource_changing_from);
}

}  // namespace tune
