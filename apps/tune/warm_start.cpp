// Collects the finished trials of other experiments as points with known scores (warm start), each
// reduced to this experiment's space.
#include "apps/tune/warm_start.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "apps/tune/output.h"
#include "tuner/base/count_of.h"
#include "tuner/base/error.h"
#include "tuner/model/ancestry.h"
#include "tuner/view/experiment_view.h"

namespace tune {

namespace {

/// `config` without what `space` (JSON) does not have; the names of that go to `unknown`.
Json restricted(const Json& space, Json config, const std::string& name,
                std::set<std::string>& unknown) {
  if (!space.is_object() || !config.is_object()) return config;
  std::vector<Problem> ignored;
  const bool is_meant_so = space.size() == 1 && space.contains("value");
  if (is_meant_so || parse_domain(space, "", ignored)) return config;
  for (auto part = config.begin(); part != config.end();) {
    const std::string inner = name.empty() ? part.key() : name + "." + part.key();
    const auto found = space.find(part.key());
    if (found == space.end()) {
      unknown.insert(inner);
      part = config.erase(part);
      continue;
    }
    *part = restricted(*found, std::move(*part), inner, unknown);
    ++part;
  }
  return config;
}

/// Where the first leaf is that `config` leaves open; empty: nowhere.
std::string open_leaf(const SearchSpace& space, const Json& config) {
  std::string open;
  (void)space.assemble(
      0,
      [&](std::size_t leaf) {
        if (open.empty()) open = space.leaves()[leaf].pointer;
        Random random(0);
        return draw_leaf(space.leaves()[leaf].domain, random);
      },
      config);
  return open;
}

/// Whether somebody has ended it before it came as far as others, so that its last value cannot be
/// compared with theirs.
bool was_stopped(const Trial& trial, std::int64_t longest) {
  const bool is_by_itself = trial.ended_by == EndedBy::done || trial.ended_by == EndedBy::exit ||
                            trial.ended_by == EndedBy::rule;
  return trial.iteration < longest && !is_by_itself;
}

bool learns(const ExperimentSpec& spec) {
  const std::set<std::string> learns_nothing = {"random", "grid", "sobol", "latin_hypercube"};
  return !learns_nothing.contains(spec.searcher.at("type").get<std::string>());
}

}  // namespace

KnownPoints known_points(const ResultGrid& from, const SearchSpace& space,
                         const std::vector<Objective>& objectives,
                         const std::vector<Constraint>& constraints) {
  KnownPoints known;
  const std::string where = from.directory().string();
  for (const auto& [metric, mode] : objectives) {
    const Objective* const own = find_objective(from.spec().objectives, metric);
    if (own && own->mode != mode) {
      known.notices.push_back(where + " was searched for the " + to_string(own->mode) + " of " +
                              metric + ": its trials count as this experiment sees it");
    }
  }
  std::set<std::string> unknown;
  std::map<std::string, std::size_t> left_out;  // by reason
  std::map<std::string, std::string> examples;  // by pointer, of what does not fit
  std::int64_t longest = 0;
  for (const Trial& trial : from.experiment().trials()) {
    longest = std::max(longest, trial.iteration);
  }
  for (const Trial& trial : from.experiment().trials()) {
    if (trial.state != TrialState::terminated && trial.state != TrialState::paused) continue;
    const auto lacks = [&](const Objective& objective) {
      return !std::isfinite(trial.last_value(objective.metric).value_or(std::nan("")));
    };
    const auto lacking = std::find_if(objectives.begin(), objectives.end(), lacks);
    if (lacking != objectives.end()) {
      ++left_out["have no number for " + lacking->metric];
      continue;
    }
    const auto last = [&trial](const std::string& name) { return trial.last_value(name); };
    if (const auto name = lacking_metric(constraints, last)) {
      ++left_out["have no number for " + *name];
      continue;
    }
    if (present_stretch(trial).number > 0) {
      ++left_out["went on as copies of others, with other configs"];
      continue;
    }
    Json config = restricted(space.json(), Json::parse(present_config(trial)), "", unknown);
    const auto problems = space.check_preset(config);
    if (!problems.empty()) {
      ++left_out["do not fit the param space at " + problems[0].pointer];
      examples.try_emplace(problems[0].pointer, problems[0].sentence);
      continue;
    }
    const std::string open = open_leaf(space, config);
    if (!open.empty()) {
      ++left_out["have no " + open];
      continue;
    }
    if (space.without_value(config)) {
      ++left_out["have no value for an expression"];
      continue;
    }
    // What they trained with is no config of this space, and their results are not of one.
    if (space.evaluated(config) != config) {
      ++left_out["have other values of expressions"];
      continue;
    }
    if (const Constraint* const broken = find_broken(constraints, config)) {
      ++left_out["break the constraint '" + broken->text() + "'"];
      continue;
    }
    auto& excesses = known.constraints.emplace_back();
    for (const Constraint& constraint : constraints) {
      if (constraint.needs_metrics()) excesses.push_back(constraint.value(config, last));
    }
    known.configs.push_back(std::move(config));
    known.stopped_at.push_back(was_stopped(trial, longest) ? Json(trial.iteration) : Json());
    auto& values = known.values.emplace_back();
    for (const auto& [metric, mode] : objectives) values.push_back(*trial.last_value(metric));
  }
  for (const auto& name : unknown) {
    known.notices.push_back(where + ": " + name + " is not in the param space, and is left out");
  }
  for (const auto& [reason, count] : left_out) {
    known.notices.push_back(where + ": " + count_of(count, "trial") + " left out: they " + reason);
  }
  for (const auto& [pointer, sentence] : examples) {
    known.notices.push_back(where + ": at " + pointer + ", for instance: " + sentence);
  }
  return known;
}

Catalogue warmed(Catalogue catalogue, const std::vector<std::string>& directories) {
  if (directories.empty() || !catalogue.choose_searcher) return catalogue;
  catalogue.choose_searcher = [choose = catalogue.choose_searcher](PolicyContext context) {
    context.knows_trials = true;
    return choose(context);
  };
  return catalogue;
}

void warm_start(ExperimentSpec& spec, const std::vector<std::string>& directories) {
  if (spec.objectives.empty()) {
    throw user_error(
        "--warm-start needs 'metric' and 'mode' in the experiment: without them there "
        "is nothing to learn");
  }
  if (!learns(spec)) {
    throw user_error(
        "--warm-start: the searcher '" + spec.searcher.at("type").get<std::string>() +
        "' learns nothing from other trials: choose one that does, like --searcher tpe");
  }
  std::vector<Problem> problems;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", problems);
  const std::vector<Constraint> constraints = constraints_of(spec);
  Json points = Json::array(), rewards = Json::array(), excesses = Json::array();
  Json stopped_at = Json::array();
  bool any_stopped = false;
  std::set<std::filesystem::path> seen;
  for (const auto& directory : directories) {
    if (!seen.insert(std::filesystem::weakly_canonical(directory)).second) {
      throw user_error("--warm-start has " + directory + " twice: its trials would count twice");
    }
  }
  for (const auto& directory : directories) {
    const ExperimentView view = view_experiment(directory);
    KnownPoints known = known_points(view.grid, space, spec.objectives, constraints);
    for (const auto& notice : known.notices) {
      print_notice(notice);
    }
    print_notice(view.grid.directory().string() + ": the searcher starts with " +
                 count_of(known.configs.size(), "trial"));
    for (Json& config : known.configs) points.push_back(std::move(config));
    for (const auto& values : known.values) {
      rewards.push_back(values.size() == 1 ? Json(values[0]) : Json(values));
    }
    for (const Json& iteration : known.stopped_at) {
      stopped_at.push_back(iteration);
      any_stopped |= !iteration.is_null();
    }
    for (const auto& values : known.constraints) {
      if (!values.empty()) excesses.push_back(encode_numbers(values));
    }
  }
  const auto given_rewards = spec.searcher.value("evaluated_rewards", Json::array()).size();
  if (!any_stopped && !spec.searcher.contains("evaluated_iterations")) stopped_at.clear();
  if (!stopped_at.empty() && !spec.searcher.contains("evaluated_iterations")) {
    for (std::size_t i = 0; i < given_rewards; ++i) stopped_at.push_back(nullptr);
  }
  // Those with rewards come first.
  for (const auto& [name, all] :
       {std::pair("points_to_evaluate", &points), std::pair("evaluated_rewards", &rewards),
        std::pair("evaluated_iterations", &stopped_at),
        std::pair("evaluated_constraints", &excesses)}) {
    for (const Json& given : spec.searcher.value(name, Json::array())) all->push_back(given);
    if (!all->empty()) spec.searcher[name] = std::move(*all);
  }
}

bool is_same_but_warmer(const ExperimentSpec& recorded, const ExperimentSpec& given) {
  Json before = recorded.searcher, after = given.searcher;
  for (Json* const searcher : {&before, &after}) {
    searcher->erase("points_to_evaluate");
    searcher->erase("evaluated_rewards");
    searcher->erase("evaluated_iterations");
    searcher->erase("evaluated_constraints");
  }
  return before == after;
}

}  // namespace tune
