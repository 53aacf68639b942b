// One function for each kind of warning.
#include "tuner/spec/spec_warnings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "tuner/model/result.h"
#include "tuner/spec/command_warnings.h"
#include "tuner/spec/foreign_forms.h"
#include "tuner/spec/spec_fields.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

namespace {

std::string text_of(const Json& object, const char* name) {
  return object.contains(name) && object[name].is_string() ? object[name].get<std::string>() : "";
}

class ParamSpace {
 public:
  explicit ParamSpace(std::vector<Problem>& warnings) : doubts_(warnings) {}

  /// Plain values only: what is within a domain are values of the user's.
  void view_experiment(const Json& json, const std::string& pointer) {
    std::vector<Problem> ignored;
    const bool is_meant_so = json.is_object() && json.size() == 1 && json.contains("value");
    if (is_meant_so) return;
    const auto domain = pointer == whole ? std::nullopt : parse_domain(json, pointer, ignored);
    if (domain) {
      look_at_domain(*domain, pointer);
      return;
    }
    // What the whole space has are names of hyperparameters.
    const auto form = pointer == whole ? std::nullopt : foreign_form(json);
    if (form) {
      say(*form, json, pointer);
    } else if (json.is_object()) {
      if (pointer != whole && json.contains("prior")) {
        doubts_.push_back({pointer, "a prior stands beside a domain, as in " +
                                        Json{{"uniform", {0, 1}}, {"prior", 0.5}}.dump() +
                                        "; here is none, and each config gets " + describe(json) +
                                        " as it stands"});
      }
      for (const auto& [key, value] : json.items())
        view_experiment(value, append_pointer(pointer, key));
    } else if (json.is_array() && json.size() > 1 && first_list_.empty()) {
      first_list_ = pointer;
      list_ = json;
    } else if (json.is_string()) {
      look_at_text(json.get<std::string>(), pointer);
    }
  }

  void nothing_is_drawn() const {
    std::string sentence = "nothing in param_space is drawn, so there is only one config";
    if (!first_list_.empty()) {
      sentence += "; to draw from the list at " + first_list_ + ", write " +
                  Json{{"choice", list_}}.dump() + ", to try each of it {\"grid_search\": [...]}";
    }
    doubts_.push_back({"/param_space", sentence});
  }

 private:
  static constexpr const char* whole = "/param_space";

  void say(const ForeignForm& form, const Json& json, const std::string& pointer) {
    const std::string what = json.is_string() ? "the text " + quote(json.get<std::string>())
                                              : describe(json) + " as it stands";
    std::string sentence = "nothing is drawn here, each config gets " + what + ": ";
    if (!form.domain) {
      sentence += form.tool + "'s " + quote(form.name) + " is not here, since " + form.note;
    } else {
      sentence += "to have a value drawn, write " + form.text();
      if (!form.note.empty()) sentence += "; " + form.note;
    }
    doubts_.push_back({pointer, sentence});
  }

  void look_at_domain(const Domain& domain, const std::string& pointer) {
    if (const auto* const grid = std::get_if<GridSearch>(&domain)) {
      look_at_values(grid->values, pointer);
      std::map<std::string, std::size_t> counts;
      for (const Json& value : grid->values) ++counts[text_of_same(value)];
      for (const auto& [text, count] : counts) {
        if (count == 1) continue;
        doubts_.push_back({pointer, text + " is in the grid " + std::to_string(count) +
                                        " times, and each time a trial of its own: write it once, "
                                        "or set num_samples to try each point several times"});
      }
    } else if (const auto* const choice = std::get_if<Choice>(&domain)) {
      look_at_values(choice->values, pointer);
    }
  }

  /// Numbers that are equal, and not the same.
  void look_at_values(const std::vector<Json>& values, const std::string& pointer) {
    std::map<double, const Json*> numbers;
    for (const Json& value : values) {
      if (!value.is_number()) continue;
      const auto [known, is_new] = numbers.try_emplace(value.get<double>(), &value);
      if (is_new || *known->second != value || is_same(*known->second, value)) continue;
      doubts_.push_back({pointer, known->second->dump() + " and " + value.dump() +
                                      " are two values here, since a program may tell them apart: "
                                      "if they are one to yours, write one of them"});
    }
  }

  void look_at_text(const std::string& text, const std::string& pointer) {
    if (text.starts_with("${") && text.ends_with("}")) {
      doubts_.push_back({pointer, "nothing is put in here, each config gets the text " +
                                      quote(text) + ": write the value, or a domain"});
    }
  }

  std::vector<Problem>& doubts_;
  std::string first_list_;
  Json list_;
};

/// Configs in which an expression has no value are left out; here some are tried beforehand.
void look_at_expressions(const SearchSpace& space, std::vector<Problem>& warnings) {
  constexpr std::uint64_t most_points = 1000, most_draws = 200;
  if (!space.has_expressions()) return;
  const std::uint64_t grid = space.grid_size();
  const bool is_grid = space.is_deterministic();
  const std::uint64_t looked_at = is_grid ? std::min(grid, most_points) : most_draws;
  std::uint64_t without = 0;
  std::string first;
  Random random(0);
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    const auto sentence = space.without_value(space.sample(i % grid, random));
    if (sentence && without++ == 0) first = *sentence;
  }
  if (without == 0) return;
  const std::string which = is_grid && looked_at == grid ? " configs of the grid"
                            : is_grid                    ? " first configs of the grid"
                                                         : " configs drawn at random";
  warnings.push_back(
      {"/param_space", std::to_string(without) + " of " + std::to_string(looked_at) + which +
                           " are left out, since an expression has no value: " + first});
}

void look_at_param_space(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  ParamSpace looker(warnings);
  looker.view_experiment(spec.param_space, "/param_space");
  std::vector<Problem> ignored;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", ignored);
  look_at_expressions(space, warnings);
  const bool is_drawn = !space.leaves().empty() || space.has_grid();
  if (!is_drawn && spec.num_samples != 1) looker.nothing_is_drawn();
}

/// The "best" trial would be the one with the smallest or the greatest value that was drawn.
void look_at_objectives(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  std::vector<Problem> ignored;
  const SearchSpace space = SearchSpace::parse(spec.param_space, "/param_space", ignored);
  for (const Objective& objective : spec.objectives) {
    const auto is_of_space = [&](const auto& leaf) {
      return leaf.pointer == append_pointer("", objective.metric);
    };
    if (std::none_of(space.leaves().begin(), space.leaves().end(), is_of_space)) continue;
    warnings.push_back({"/metric", quote(objective.metric) +
                                       " is a hyperparameter, which the search itself sets: give "
                                       "a metric that comes of the training"});
  }
}

void look_at_bounds(const Json& rule, const std::string& pointer, const ExperimentSpec& spec,
                    std::vector<Problem>& warnings) {
  const bool has_bounds = rule.is_object() && !rule.contains("type") &&
                          (!rule.contains("metric") || rule["metric"].is_number());
  if (!has_bounds) return;
  for (const auto& [metric, bound] : rule.items()) {
    const std::string place = append_pointer(pointer, metric);
    if (metric.ends_with('<') || metric.ends_with('>')) {
      warnings.push_back(
          {place, "this waits for a metric that is called " + quote(metric) +
                      "; a comparison is written {\"metric\": \"loss\", \"<=\": 0.1}"});
      continue;
    }
    const Objective* const objective = find_objective(spec.objectives, metric);
    if (objective == nullptr || objective->mode == Mode::max) continue;
    const std::string value = bound.dump();
    warnings.push_back({place, "this ends a trial as soon as " + quote(metric) + " is " + value +
                                   " or more, although less is better: to end it at " + value +
                                   " or less, write {\"metric\": " + Json(metric).dump() +
                                   ", \"<=\": " + value + "}, on the command line " + "--stop '" +
                                   metric + "<=" + value + "'"});
  }
}

/// What counts up is below its bound at the first result.
void look_at_counters(const Json& rule, const std::string& pointer,
                      std::vector<Problem>& warnings) {
  static const std::set<std::string> counters = {"training_iteration", "time_total_s",
                                                 "timesteps_total", "episodes_total"};
  const std::string metric = text_of(rule, "metric");
  if (!counters.contains(metric)) return;
  for (const char* const comparison : {"<", "<="}) {
    if (!rule.contains(comparison)) continue;
    warnings.push_back({pointer, "this ends a trial at its first result, since " + metric +
                                     " counts up: to end it at " + rule[comparison].dump() +
                                     ", write " + Json{{metric, rule[comparison]}}.dump()});
  }
}

void look_at_stop(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  const bool is_list = spec.stop.is_array();
  const Json rules = is_list ? spec.stop : Json::array({spec.stop});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const std::string pointer = is_list ? "/stop/" + std::to_string(i) : "/stop";
    if (!rules[i].is_object()) continue;
    look_at_bounds(rules[i], pointer, spec, warnings);
    look_at_counters(rules[i], pointer, warnings);
  }
}

void look_at_checkpoints(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  const CheckpointConfig& config = spec.checkpoint_config;
  if (!config.checkpoint_score_attribute || !config.checkpoint_score_order) return;
  const Objective* const objective =
      find_objective(spec.objectives, *config.checkpoint_score_attribute);
  if (objective == nullptr || objective->mode == *config.checkpoint_score_order) return;
  const std::string mode = to_string(objective->mode);
  warnings.push_back({"/checkpoint_config/checkpoint_score_order",
                      "the checkpoints with the worst " + quote(objective->metric) +
                          " are kept as the best, since its mode is " + mode + ": write \"" + mode +
                          "\", or leave it out"});
}

/// What goes by the experiment's metric, and against its mode: the best would be what ends.
void look_at_mode(const Json& policy, const std::string& pointer, const ExperimentSpec& spec,
                  std::vector<Problem>& warnings) {
  if (!policy.is_object() || !policy.contains("type")) return;
  const std::string metric = text_of(policy, "metric");
  const Objective* const own =
      metric.empty() ? sole(spec.objectives) : find_objective(spec.objectives, metric);
  const auto mode = parse_mode(text_of(policy, "mode"));
  if (own == nullptr || !mode || *mode == own->mode) return;
  const std::string word = to_string(own->mode);
  warnings.push_back({pointer + "/mode", "this takes the worst " + quote(own->metric) +
                                             " for the best, since the mode of the experiment is " +
                                             word + ": write \"" + word + "\", or leave it out"});
}

void look_at_modes(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  std::string pointer = "/scheduler";
  for (const Json* scheduler = &spec.scheduler; scheduler->is_object();
       scheduler = &(*scheduler)["base_scheduler"]) {
    look_at_mode(*scheduler, pointer, spec, warnings);
    if (!scheduler->contains("base_scheduler")) break;
    pointer += "/base_scheduler";
  }
  const bool is_list = spec.stop.is_array();
  const Json rules = is_list ? spec.stop : Json::array({spec.stop});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    look_at_mode(rules[i], is_list ? "/stop/" + std::to_string(i) : "/stop", spec, warnings);
  }
}

/// The iteration at which `stop` ends each trial; nothing if it does not.
std::optional<std::int64_t> last_iteration(const Json& stop) {
  std::optional<std::int64_t> last;
  for (const Json& rule : stop.is_array() ? stop : Json::array({stop})) {
    if (!rule.is_object() || !rule.contains("training_iteration")) continue;
    const Json& bound = rule["training_iteration"];
    if (!bound.is_number() || rule.contains("type")) continue;
    last = std::min(last.value_or(bound.get<std::int64_t>()), bound.get<std::int64_t>());
  }
  return last;
}

/// Its last rungs would be for nobody.
void look_at_rungs(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  const std::string time_attr = text_of(spec.scheduler, "time_attr");
  const bool counts_iterations = time_attr.empty() || time_attr == "training_iteration";
  const auto last = last_iteration(spec.stop);
  if (!counts_iterations || !last || !spec.scheduler.contains("max_t")) return;
  const Json& max_t = spec.scheduler["max_t"];
  if (!max_t.is_number() || max_t <= *last) return;
  warnings.push_back(
      {"/scheduler/max_t", "stop ends each trial at training_iteration " + std::to_string(*last) +
                               ", so none gets to " + max_t.dump() +
                               ", which the scheduler goes by: give both the same number"});
}

/// Those that count in seconds unless they are told otherwise, which short trials never reach.
void look_at_scheduler(const ExperimentSpec& spec, std::vector<Problem>& warnings) {
  const std::string type = text_of(spec.scheduler, "type");
  const bool is_population = type == "pbt" || type == "pb2";
  if (!is_population && type != "median_stopping") return;
  const char* const interval = is_population ? "perturbation_interval" : "grace_period";
  if (spec.scheduler.contains("time_attr") || spec.scheduler.contains(interval)) return;
  warnings.push_back(
      {"/scheduler", type +
                         (is_population ? " looks at a trial after each 60 s of its training: one "
                                          "that trains for less is never changed"
                                        : " judges no trial in the first 60 s of its training: "
                                          "one that trains for less is never stopped") +
                         "; give " + interval +
                         ", in seconds, or in iterations with "
                         "\"time_attr\": \"training_iteration\""});
}

}  // namespace

std::vector<Problem> warnings_about(const ExperimentSpec& spec) {
  std::vector<Problem> warnings;
  look_at_param_space(spec, warnings);
  look_at_objectives(spec, warnings);
  look_at_stop(spec, warnings);
  look_at_checkpoints(spec, warnings);
  look_at_modes(spec, warnings);
  look_at_rungs(spec, warnings);
  look_at_scheduler(spec, warnings);
  add_command_warnings(spec, warnings);
  return warnings;
}

std::vector<AwaitedMetric> metrics_awaited(const ExperimentSpec& spec) {
  std::map<std::string, std::string> awaited;
  const auto add = [&awaited](const std::string& name, const std::string& by) {
    std::string& all = awaited[name];
    if (all.find(by) == std::string::npos) all += (all.empty() ? "" : " and ") + by;
  };
  const Json rules = spec.stop.is_array() ? spec.stop : Json::array({spec.stop});
  for (const Json& rule : rules) {
    if (!rule.is_object()) continue;
    const std::string metric = text_of(rule, "metric");
    if (!metric.empty()) {
      add(metric, "a stop rule");
    } else if (!rule.contains("type")) {
      for (const auto& [name, bound] : rule.items()) add(name, "a stop rule");
    }
  }
  for (const char* const option : {"metric", "time_attr"}) {
    if (const std::string name = text_of(spec.scheduler, option); !name.empty()) {
      add(name, "the scheduler");
    }
  }
  if (spec.checkpoint_config.checkpoint_score_attribute) {
    add(*spec.checkpoint_config.checkpoint_score_attribute, "the score of checkpoints");
  }
  for (const Constraint& constraint : constraints_of(spec)) {
    for (const std::string& name : constraint.metrics()) add(name, "a constraint");
  }
  Result filled_in;
  filled_in.timesteps_total = filled_in.episodes_total = 0;
  std::vector<AwaitedMetric> list;
  for (const auto& [name, by] : awaited) {
    if (filled_in.find(name) || find_objective(spec.objectives, name) != nullptr) continue;
    list.push_back({name, by});
  }
  return list;
}

}  // namespace tune
