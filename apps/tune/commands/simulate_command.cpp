// `tune simulate`: what schedulers would have made of curves that are known, compared.
// Starts no process.
#include <algorithm>
#include <cmath>

#include "apps/tune/commands.h"
#include "apps/tune/comparison.h"
#include "apps/tune/output.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/base/json_limits.h"
#include "tuner/base/quoted.h"
#include "tuner/plugins.h"
#include "tuner/simulation/curve_replay.h"
#include "tuner/spec/spec_policy.h"
#include "tuner/spec/spec_warnings.h"

namespace tune {

namespace {

/// The last value of an option of the spec that means a list here; it is taken out of `source`.
std::optional<std::string> take_option(SpecSource& source, std::string_view name) {
  std::optional<std::string> value;
  for (const auto& given : source.options) {
    if (given.option->name == name) value = given.value;
  }
  std::erase_if(source.options, [name](const auto& given) { return given.option->name == name; });
  return value;
}

/// Commas within brackets and strings separate nothing.
std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> items(1);
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && (i == 0 || text[i - 1] != '\\')) in_string = !in_string;
    if (!in_string && (c == '{' || c == '[')) ++depth;
    if (!in_string && (c == '}' || c == ']')) --depth;
    if (c == ',' && depth == 0 && !in_string) {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  return items;
}

double parse_amount(const std::string& option, const std::string& text) {
  const Json json = parse_shallow(text);
  if (!json.is_number() || !(json.get<double>() > 0)) {
    throw user_error(option + " must be numbers above 0, separated by commas, got " +
                     as_quoted(text));
  }
  return json;
}

std::vector<Seconds> parse_budgets(const std::string& text) {
  std::vector<Seconds> budgets;
  for (const auto& item : split_list(text)) {
    budgets.push_back(parse_amount("--time-budget-s", item));
  }
  std::sort(budgets.begin(), budgets.end());
  budgets.erase(std::unique(budgets.begin(), budgets.end()), budgets.end());
  return budgets;
}

std::vector<std::uint64_t> parse_workers(const std::string& text) {
  std::vector<std::uint64_t> workers;
  for (const auto& item : split_list(text)) {
    const double amount = parse_amount("--workers", item);
    if (std::floor(amount) != amount || amount > 1e6) {
      throw user_error("--workers must be whole numbers up to 1000000, got " + as_quoted(item));
    }
    workers.push_back(static_cast<std::uint64_t>(amount));
  }
  return workers;
}

/// A policy's object of its name or its JSON.
Json parse_policy(const std::string& option, const std::string& item) {
  if (item.find('{') == std::string::npos) return {{"type", item}};
  Json policy = parse_shallow(item);
  if (!policy.is_object()) throw user_error(option + ": this is no JSON object: " + item);
  return policy;
}

/// One scheduler of the comparison.
struct Contender {
  std::string label;
  Json scheduler;  ///< with its "type"
};

/// Schedulers that cut training off at `max_t` want to know where it ends anyway.
void fill_in_max_t(Json& scheduler, std::size_t longest) {
  const std::vector<std::string> with_max_t = {"asha", "asha_promotion", "hyperband", "bohb",
                                               "freeze_thaw"};
  const std::string type = scheduler.value("type", "");
  const bool has_one = std::find(with_max_t.begin(), with_max_t.end(), type) != with_max_t.end();
  const bool is_by_iteration =
      scheduler.value("time_attr", Json("training_iteration")) == "training_iteration";
  if (has_one && is_by_iteration && !scheduler.contains("max_t")) scheduler["max_t"] = longest;
}

/// A bare name means the spec's own options, if that is the spec's scheduler.
std::vector<Contender> parse_contenders(const std::optional<std::string>& text, const Json& own,
                                        std::size_t longest) {
  std::vector<Contender> contenders;
  for (const auto& item : split_list(text.value_or(own.at("type")))) {
    Json scheduler = parse_policy("--scheduler", item);
    Json options = scheduler;
    options.erase("type");
    const std::string label =
        scheduler.value("type", "?") + (options.empty() ? "" : options.dump());
    if (own.at("type") == Json(item)) scheduler = own;
    fill_in_max_t(scheduler, longest);
    contenders.push_back({label, scheduler});
  }
  return contenders;
}

/// Within 1 % of the best that there is.
double usual_target(double best, Mode mode) {
  const double margin = 0.01 * std::abs(best);
  return mode == Mode::max ? best - margin : best + margin;
}

/// What the spec's own fields for real runs would say of workers and programs is nothing here.
SpecDocument assemble_simulated(const SpecSource& source) {
  SpecDocument document = assemble_spec(source);
  if (!document.json.is_object()) return document;
  document.json["trainable"] = {{"command", {"simulated"}}};
  for (const char* const field :
       {"max_concurrent_trials", "resources", "resources_per_trial", "searcher", "callbacks",
        "resume_from_checkpoint", "trial_timeout_s"}) {
    document.json.erase(field);
  }
  return document;
}

/// Where the journal of one simulation goes; empty: nowhere.
std::filesystem::path directory_of(const SimulateRequest& request, std::size_t position,
                                   const Contender& contender, std::uint64_t workers,
                                   std::uint64_t seed) {
  if (request.directory.empty()) return {};
  const std::string name = std::to_string(position + 1) + "-" +
                           contender.scheduler.at("type").get<std::string>() + "-workers-" +
                           std::to_string(workers) + "-seed-" + std::to_string(seed);
  return std::filesystem::absolute(std::filesystem::path(request.directory) / name)
      .lexically_normal();
}

}  // namespace

int simulate_command(SpecSource source, const SimulateRequest& request) {
  const auto schedulers = take_option(source, "--scheduler");
  const auto searcher = take_option(source, "--searcher");
  const auto budgets = take_option(source, "--time-budget-s");
  const bool is_limited = std::any_of(
      source.options.begin(), source.options.end(),
      [](const auto& given) { return std::string_view(given.option->name) == "--num-samples"; });
  const SpecDocument document = assemble_simulated(source);
  const Catalogue catalogue = catalogue_with(plugins_of(document));
  std::vector<Problem> problems;
  ExperimentSpec spec = parse_spec(document.json, document.base, catalogue, problems);
  print_problems(document, problems);
  if (!problems.empty()) return exit_bad_input;
  const Objective* const objective = sole(spec.objectives);
  if (!objective) {
    throw user_error(
        spec.objectives.empty()
            ? "give --metric and --mode: what to compare by"
            : "the spec has several metrics: give one --metric and --mode to compare by");
  }
  if (!spec.constraints.empty()) {
    throw user_error(
        "a simulation knows no constraints: leave them out with --set constraints=null");
  }
  const auto workers = parse_workers(request.workers);
  const std::vector<std::filesystem::path> files(request.curves.begin(), request.curves.end());
  const CurveTable table = read_curves(files, request.allow_short);
  const double best = best_in(table, *objective);

  ReplayOptions options;
  options.launch_s = request.launch_s;
  options.save_s = request.save_s;
  options.target = request.target.value_or(usual_target(best, objective->mode));
  if (is_limited && spec.num_samples > 0) {
    options.configs = static_cast<std::size_t>(spec.num_samples);
  }
  if (searcher) options.searcher = parse_policy("--searcher", *searcher);
  if (searcher && options.searcher.value("type", "") == "auto") {
    throw user_error("--searcher: auto chooses for a run; name the one that is to be simulated");
  }
  if (budgets) {
    options.budgets = parse_budgets(*budgets);
  } else if (spec.time_budget_s) {
    options.budgets = {*spec.time_budget_s};
  }
  // Nobody looks at the others afterwards.
  if (request.directory.empty()) spec.checkpoint_config.num_to_keep = 1;

  const auto contenders = parse_contenders(schedulers, spec.scheduler, table.longest());
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", problems);
  for (const auto& contender : contenders) {
    make_policy(contender.scheduler, "--scheduler", "scheduler", catalogue.schedulers,
                {.space = space,
                 .objectives = spec.objectives,
                 .num_samples = spec.num_samples,
                 .seed = spec.seed,
                 .searcher = searcher ? options.searcher : Json::object()},
                problems);
    spec.scheduler = contender.scheduler;
    for (const auto& doubt : warnings_about(spec)) {
      if (doubt.pointer.starts_with("/scheduler")) complain("notice: " + doubt.sentence);
    }
  }
  for (const auto& problem : problems) {
    complain(problem.pointer + ": " + problem.sentence);
  }
  if (!problems.empty()) return exit_bad_input;

  const std::size_t budgets_count = std::max<std::size_t>(1, options.budgets.size());
  std::vector<ComparedLine> lines;
  for (std::size_t i = 0; i < contenders.size(); ++i) {
    spec.scheduler = contenders[i].scheduler;
    for (const std::uint64_t count : workers) {
      spec.resources = {{"cpu", static_cast<double>(count)}};
      std::vector<std::vector<ReplayMark>> by_budget(budgets_count);
      for (int seed = 0; seed < request.seeds; ++seed) {
        options.seed = spec.seed + static_cast<std::uint64_t>(seed);
        options.directory = directory_of(request, i, contenders[i], count, options.seed);
        const auto marks = replay_curves(spec, catalogue, table, options);
        for (std::size_t at = 0; at < marks.size(); ++at) by_budget[at].push_back(marks[at]);
      }
      for (const auto& marks : by_budget) {
        lines.push_back(summarize(contenders[i].label, count, marks));
      }
    }
  }

  if (request.csv) {
    print_data(comparison_csv(lines));
  } else if (request.json) {
    print_json({{"metric", objective->metric},
                {"mode", to_string(objective->mode)},
                {"curves", table.curves.size()},
                {"iterations", table.longest()},
                {"best_of_curves", encode_number(best)},
                {"target", encode_number(*options.target)},
                {"outcomes", comparison_json(lines)}});
  } else {
    print(count_of(table.curves.size(), "curve") + " of " + count_of(table.longest(), "iteration") +
          "; the best " + objective->metric + " in them is " + format_metric(best) +
          ", the target " + format_metric(*options.target) + "; means +- standard errors over " +
          count_of(static_cast<std::uint64_t>(request.seeds), "seed") + "\n");
    print_comparison(lines, objective->metric);
  }
  return exit_ok;
}

}  // namespace tune
