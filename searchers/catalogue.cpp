// From the options in a spec to searchers.
#include <algorithm>
#include <cmath>

#include "searchers/cma_es.h"
#include "searchers/nsga2.h"
#include "searchers/priors.h"
#include "searchers/searchers.h"
#include "searchers/sequences.h"
#include "searchers/suggestion_filter.h"
#include "tuner/base/whole_number.h"
#include "tuner/policy/options.h"

namespace tune {

namespace {

std::unique_ptr<Searcher> variants_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  VariantOptions options;
  options.num_samples = context.num_samples;
  options.seed = context.seed;
  options.points_to_evaluate = read_points(reader, context);
  require_room(options.points_to_evaluate, context);
  options.constraints = context.constraints;
  options.constant_grid_search = reader.get("constant_grid_search", options.constant_grid_search);
  options.skip_duplicates = reader.get("skip_duplicates", options.skip_duplicates);
  const Batching batching = read_batching(reader);
  options.limits = batching.limits;
  reader.finish();
  if (options.constant_grid_search && options.skip_duplicates) {
    throw OptionError("/skip_duplicates",
                      "skip_duplicates draws again what constant_grid_search keeps: choose one");
  }
  return make_repeat(make_variants(context.space, std::move(options)), batching);
}

std::unique_ptr<Searcher> grid_from(const Json& json, const PolicyContext& context) {
  if (!context.space.has_grid()) {
    throw OptionError("",
                      "the searcher 'grid' needs at least one 'grid_search' in the param space");
  }
  return variants_from(json, context);
}

void require_objective(const PolicyContext& context, const std::string& name) {
  if (!context.objectives.empty()) return;
  throw OptionError("", "the searcher '" + name + "' needs 'metric' and 'mode' in the experiment");
}

void require_one_objective(const PolicyContext& context, const std::string& name) {
  require_objective(context, name);
  if (sole(context.objectives)) return;
  throw OptionError("", "the searcher '" + name +
                            "' knows one metric, and the experiment has several: use 'tpe', "
                            "'nsga2', 'sobol', 'latin_hypercube', 'random' or 'grid'");
}

std::unique_ptr<Searcher> tpe_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  TpeOptions options;
  TpeRules& rules = options.rules;
  ParzenRules& parzen = rules.parzen;
  options.seed = context.seed;
  options.n_startup_trials = reader.get("n_startup_trials", options.n_startup_trials);
  rules.n_ei_candidates = reader.get("n_ei_candidates", rules.n_ei_candidates);
  rules.multivariate = reader.get_optional<bool>("multivariate");
  rules.group = reader.get("group", rules.group);
  rules.constant_liar = reader.get("constant_liar", rules.constant_liar);
  rules.gamma = reader.get("gamma", rules.gamma);
  rules.gamma_cap = reader.get_optional<std::int64_t>("gamma_cap");
  rules.avoid_failures = reader.get("avoid_failures", rules.avoid_failures);
  rules.equal_training = reader.get("equal_training", rules.equal_training);
  parzen.prior_weight = reader.get("prior_weight", parzen.prior_weight);
  parzen.magic_clip = reader.get("consider_magic_clip", parzen.magic_clip);
  parzen.endpoints = reader.get("consider_endpoints", parzen.endpoints);
  reader.require(options.n_startup_trials >= 0, "n_startup_trials", "at least 0");
  reader.require(rules.n_ei_candidates >= 1 && rules.n_ei_candidates <= 10'000, "n_ei_candidates",
                 "from 1 to 10000");
  reader.require(rules.gamma > 0 && rules.gamma < 1, "gamma", "above 0 and below 1");
  reader.require(!rules.gamma_cap || *rules.gamma_cap >= 1, "gamma_cap", "at least 1");
  reader.require(parzen.prior_weight > 0, "prior_weight", "above 0");
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  if (rules.group && !rules.multivariate.value_or(true)) {
    throw OptionError("/group", "'group' needs 'multivariate': a group is modelled together");
  }
  require_objective(context, "tpe");
  return make_suggestion_filter(
      context.space, make_tpe(context.space, context.objectives.size(), options), std::move(front));
}

std::unique_ptr<Searcher> gp_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  GpOptions options;
  GpRules& rules = options.rules;
  options.seed = context.seed;
  options.n_startup_trials = reader.get("n_startup_trials", options.n_startup_trials);
  options.constraints = context.constraints;
  rules.n_candidates = reader.get("n_candidates", rules.n_candidates);
  rules.n_local_searches = reader.get("n_local_searches", rules.n_local_searches);
  rules.max_observations = reader.get("max_observations", rules.max_observations);
  reader.require(options.n_startup_trials >= 1, "n_startup_trials", "at least 1");
  reader.require(rules.n_candidates >= 1 && rules.n_candidates <= 100'000, "n_candidates",
                 "from 1 to 100000");
  reader.require(rules.n_local_searches >= 1, "n_local_searches", "at least 1");
  reader.require(rules.max_observations >= 10 && rules.max_observations <= 5000, "max_observations",
                 "from 10 to 5000");
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  require_objective(context, "gp");
  const std::size_t objectives = context.objectives.size();
  if (objectives > gp_objectives) {
    throw OptionError("", "the searcher 'gp' knows up to three metrics, and the experiment has " +
                              std::to_string(objectives) + ": use 'nsga2' or 'tpe'");
  }
  return make_suggestion_filter(context.space, make_gp(context.space, objectives, options),
                                std::move(front));
}

/// Of the scheduler that stops trials at budgets, so that both mean the same ones.
double budget_option(OptionReader& reader, const PolicyContext& context, const std::string& name,
                     double otherwise) {
  const auto of_scheduler = context.scheduler.find(name);
  if (of_scheduler != context.scheduler.end() && of_scheduler->is_number()) {
    otherwise = of_scheduler->get<double>();
  }
  return reader.get(name, otherwise);
}

std::unique_ptr<Searcher> bohb_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  BohbOptions options;
  BohbRules& rules = options.rules;
  options.seed = context.seed;
  options.random_fraction = reader.get("random_fraction", options.random_fraction);
  options.max_t = budget_option(reader, context, "max_t", options.max_t);
  options.reduction_factor =
      budget_option(reader, context, "reduction_factor", options.reduction_factor);
  rules.min_points = reader.get_optional<std::int64_t>("min_points_in_model");
  rules.top_n_percent = reader.get("top_n_percent", rules.top_n_percent);
  rules.num_samples = reader.get("num_samples_of_model", rules.num_samples);
  rules.bandwidth_factor = reader.get("bandwidth_factor", rules.bandwidth_factor);
  rules.min_bandwidth = reader.get("min_bandwidth", rules.min_bandwidth);
  reader.require(options.random_fraction >= 0 && options.random_fraction <= 1, "random_fraction",
                 "from 0 to 1");
  reader.require(options.max_t >= 1, "max_t", "at least 1");
  reader.require(options.reduction_factor >= 1.1, "reduction_factor", "at least 1.1");
  reader.require(!rules.min_points || *rules.min_points >= 1, "min_points_in_model", "at least 1");
  reader.require(rules.top_n_percent >= 1 && rules.top_n_percent <= 99, "top_n_percent",
                 "from 1 to 99");
  reader.require(rules.num_samples >= 1 && rules.num_samples <= 10'000, "num_samples_of_model",
                 "from 1 to 10000");
  reader.require(rules.bandwidth_factor > 0, "bandwidth_factor", "above 0");
  reader.require(rules.min_bandwidth > 0, "min_bandwidth", "above 0");
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  require_one_objective(context, "bohb");
  return make_suggestion_filter(context.space, make_bohb(context.space, options), std::move(front));
}

std::unique_ptr<Searcher> freeze_thaw_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  FreezeThawSearchOptions options;
  options.seed = context.seed;
  options.only_configs = context.only_configs;
  options.constraints = context.constraints;
  const Json* const scheduler = find_freeze_thaw(context.scheduler);
  // What is wrong with these the scheduler says.
  const auto of_scheduler = [&](const char* name, std::int64_t otherwise) {
    const bool is_given = scheduler != nullptr && scheduler->is_object();
    const Json value = is_given ? scheduler->value(name, Json()) : Json();
    const auto whole = whole_number<std::int64_t>(value);
    return whole && *whole >= 1 ? *whole : otherwise;
  };
  options.epochs.max_t = of_scheduler("max_t", options.epochs.max_t);
  options.epochs.grace_period =
      std::min(of_scheduler("grace_period", options.epochs.grace_period), options.epochs.max_t);
  const std::int64_t total = of_scheduler("max_total_t", 0);
  if (total > 0) options.max_total_t = total;
  options.n_startup_trials = reader.get("n_startup_trials", options.n_startup_trials);
  options.min_probability = reader.get("min_probability", options.min_probability);
  reader.require(options.n_startup_trials >= 1, "n_startup_trials", "at least 1");
  options.promote_share = reader.get("promote_share", options.promote_share);
  reader.require(options.promote_share >= 0 && options.promote_share <= 1, "promote_share",
                 "from 0 to 1");
  reader.require(options.min_probability >= 0 && options.min_probability <= 1, "min_probability",
                 "from 0 to 1");
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  // Where only some configs have curves, the priors' values are hardly among them.
  front.begins_at_priors = context.only_configs.empty();
  const Batching& batching = front.batching;
  const bool has_pace = batching.repeat > 1 || batching.limits.ahead > 0 ||
                        batching.limits.max_concurrent || batching.limits.batch;
  reader.do_not_offer(
      {"repeat", "repeat_at_least", "repeat_key", "suggest_ahead", "max_concurrent", "batch"});
  reader.finish();
  if (has_pace) {
    throw OptionError("",
                      "the searcher 'freeze_thaw' decides anew whenever a place is free: it has no "
                      "use for 'max_concurrent', 'batch', 'suggest_ahead' and 'repeat'");
  }
  require_objective(context, "freeze_thaw");
  if (!sole(context.objectives)) {
    throw OptionError(
        "",
        "the searcher 'freeze_thaw' knows one metric, and the experiment has several: "
        "name the one that counts, or leave 'searcher' out and take the scheduler "
        "'fifo'");
  }
  const bool is_other = context.scheduler.contains("type") && scheduler == nullptr;
  if (is_other) {
    throw OptionError("",
                      "the searcher 'freeze_thaw' has paused trials go on, and needs the scheduler "
                      "'freeze_thaw', which pauses them");
  }
  return make_suggestion_filter(context.space, make_freeze_thaw_search(context.space, options),
                                std::move(front));
}

std::unique_ptr<Searcher> sobol_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  return make_suggestion_filter(context.space, make_sobol(context.space, context.seed),
                                std::move(front));
}

std::unique_ptr<Searcher> latin_hypercube_from(const Json& json, const PolicyContext& context) {
  constexpr std::int64_t endless = 64, most = 10'000;
  OptionReader reader(json);
  const auto given = reader.get_optional<std::int64_t>("block_size");
  reader.require(given.value_or(1) >= 1 && given.value_or(1) <= most, "block_size",
                 "from 1 to 10000");
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  const std::int64_t believed = Priors(context.space).any() ? 1 : 0;
  const std::int64_t samples = front.num_samples - std::ssize(front.points_to_evaluate) - believed;
  const std::int64_t otherwise = std::clamp<std::int64_t>(samples, 1, most);
  const std::int64_t size = given.value_or(front.num_samples < 0 ? endless : otherwise);
  return make_suggestion_filter(
      context.space,
      make_latin_hypercube(context.space, static_cast<std::uint64_t>(size), context.seed),
      std::move(front));
}

std::unique_ptr<Searcher> cma_es_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  CmaOptions options;
  options.seed = context.seed;
  const auto population = reader.get_optional<std::int64_t>("population");
  reader.require(population.value_or(4) >= 4 && population.value_or(4) <= 10'000, "population",
                 "from 4 to 10000");
  options.sigma0 = reader.get("sigma0", options.sigma0);
  reader.require(options.sigma0 > 0 && options.sigma0 <= 1, "sigma0", "above 0, and at most 1");
  const auto restarts = reader.get<std::string>("restart_strategy", "ipop");
  reader.require(restarts == "none" || restarts == "ipop" || restarts == "bipop",
                 "restart_strategy", "none, ipop or bipop");
  if (restarts == "none") options.restarts = CmaRestarts::none;
  if (restarts == "bipop") options.restarts = CmaRestarts::bipop;
  const auto independent = reader.get<std::string>("independent", "random");
  reader.require(independent == "random" || independent == "tpe", "independent", "random or tpe");
  options.independent_tpe = independent == "tpe";
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  require_one_objective(context, "cma_es");
  const auto dimensions = static_cast<double>(cma_es_dimensions(context.space));
  if (dimensions == 0) {
    throw OptionError("",
                      "the searcher 'cma_es' models numbers that every config has, and the param "
                      "space has none: use 'tpe'");
  }
  const auto usual = 4 + static_cast<std::int64_t>(3 * std::log(dimensions));
  const std::int64_t at_once = std::max(context.max_concurrent_trials.value_or(1),
                                        front.batching.limits.max_concurrent.value_or(1));
  options.population = population.value_or(std::clamp<std::int64_t>(at_once, usual, 10'000));
  return make_suggestion_filter(context.space, make_cma_es(context.space, options),
                                std::move(front));
}

std::unique_ptr<Searcher> stages_from(const Json& json, const PolicyContext& context) {
  constexpr std::int64_t usual = 200;
  OptionReader reader(json);
  const auto switch_after = reader.get("switch_after", usual);
  reader.require(switch_after >= 1, "switch_after", "at least 1");
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  require_one_objective(context, "stages");
  GpOptions gp;
  gp.seed = context.seed;
  gp.constraints = context.constraints;
  TpeOptions tpe;
  tpe.seed = context.seed + 1;  // two generators with one seed would draw the same numbers
  auto stages =
      make_stages(make_gp(context.space, 1, gp), switch_after, make_tpe(context.space, 1, tpe));
  return make_suggestion_filter(context.space, std::move(stages), std::move(front));
}

std::unique_ptr<Searcher> nsga2_from(const Json& json, const PolicyContext& context) {
  OptionReader reader(json);
  Nsga2Options options;
  options.seed = context.seed;
  options.population = reader.get("population", options.population);
  options.crossover_prob = reader.get("crossover_prob", options.crossover_prob);
  options.swapping_prob = reader.get("swapping_prob", options.swapping_prob);
  options.mutation_prob = reader.get_optional<double>("mutation_prob");
  reader.require(options.population >= 2 && options.population <= 10'000, "population",
                 "from 2 to 10000");
  const auto require_share = [&](double value, const std::string& name) {
    reader.require(value >= 0 && value <= 1, name, "from 0 to 1");
  };
  require_share(options.crossover_prob, "crossover_prob");
  require_share(options.swapping_prob, "swapping_prob");
  require_share(options.mutation_prob.value_or(0), "mutation_prob");
  SuggestionFilterOptions front = read_suggestion_filter(reader, context);
  reader.finish();
  require_objective(context, "nsga2");
  return make_suggestion_filter(context.space,
                                make_nsga2(context.space, context.objectives.size(), options),
                                std::move(front));
}

}  // namespace

void add_searchers(Catalogue& catalogue) {
  catalogue.choose_searcher = choose_searcher;
  // What a spec says in its place is checked by the one that it stands for.
  add_factory(catalogue.searchers, "auto", [](const Json& json, const PolicyContext& context) {
    Catalogue others;
    add_searchers(others);
    return others.searchers.at(choose_searcher(context).type)(json, context);
  });
  add_factory(catalogue.searchers, "random", variants_from);
  add_factory(catalogue.searchers, "grid", grid_from);
  add_factory(catalogue.searchers, "bohb", bohb_from);
  add_factory(catalogue.searchers, "cma_es", cma_es_from);
  add_factory(catalogue.searchers, "freeze_thaw", freeze_thaw_from);
  add_factory(catalogue.searchers, "gp", gp_from);
  add_factory(catalogue.searchers, "latin_hypercube", latin_hypercube_from);
  add_factory(catalogue.searchers, "nsga2", nsga2_from);
  add_factory(catalogue.searchers, "sobol", sobol_from);
  add_factory(catalogue.searchers, "stages", stages_from);
  add_factory(catalogue.searchers, "tpe", tpe_from);
}

}  // namespace tune
