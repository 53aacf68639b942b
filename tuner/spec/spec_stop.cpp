// The stopping rules of a spec: bounds on metrics, and rules by name.
#include <algorithm>

#include "tuner/base/nearest_name.h"
#include "tuner/spec/spec.h"
#include "tuner/spec/spec_policy.h"

namespace tune {

namespace {

const std::map<std::string, Comparison> comparisons = {{"<", Comparison::less},
                                                       {"<=", Comparison::less_equal},
                                                       {">", Comparison::greater},
                                                       {">=", Comparison::greater_equal}};

class StopParser {
 public:
  StopParser(const Catalogue& catalogue, const PolicyContext& context,
             std::vector<Problem>& problems)
      : catalogue_(catalogue), context_(context), problems_(problems) {}

  void parse(const Json& rule, const std::string& pointer) {
    if (!rule.is_object()) {
      complain(pointer, "a stop rule must be an object like {\"training_iteration\": 100}, got " +
                            describe(rule));
    } else if (rule.contains("type")) {
      add(name_of(rule),
          make_policy(rule, pointer, "stopper", catalogue_.stoppers, context_, problems_));
    } else if (rule.contains("metric") && !rule["metric"].is_number()) {
      parse_comparison(rule, pointer);
    } else {
      parse_bounds(rule, pointer);
    }
  }

  /// A second one of the same name is told from the first by a number.
  void add(const std::string& name, std::unique_ptr<Stopper> stopper) {
    const int place = ++names_[name];
    if (stopper == nullptr) return;
    stoppers_.push_back(
        {place == 1 ? name : name + "#" + std::to_string(place), std::move(stopper)});
  }

  /// Always of the same kind, so that it can load what was saved under other rules.
  std::unique_ptr<Stopper> result() {
    return stoppers_.empty() ? nullptr : make_any_of(std::move(stoppers_));
  }

 private:
  /// By what it looks at: its other options may change, and it still knows what it has seen.
  static std::string name_of(const Json& rule) {
    std::string name = rule["type"].is_string() ? rule["type"].get<std::string>() : "";
    if (rule.contains("metric")) name += " " + rule["metric"].dump();
    return name;
  }

  /// {"accuracy": 0.99, "training_iteration": 100}: each reached from below.
  void parse_bounds(const Json& rule, const std::string& pointer) {
    for (const auto& [metric, bound] : rule.items()) {
      const auto number = to_number(bound);
      if (number) {
        add("bound", make_metric_bound(metric, Comparison::greater_equal, *number));
      } else {
        complain(append_pointer(pointer, metric), "the bound of metric " + quote(metric) +
                                                      " must be a number, got " + describe(bound));
      }
    }
  }

  /// {"metric": "val_loss", "<=": 0.1}.
  void parse_comparison(const Json& rule, const std::string& pointer) {
    const auto metric = to_text(rule["metric"]);
    if (!metric) {
      complain(append_pointer(pointer, "metric"),
               "metric must be the name of a metric, got " + describe(rule["metric"]));
    }
    std::size_t given = 0;
    for (const auto& [key, bound] : rule.items()) {
      if (key == "metric") continue;
      ++given;
      const auto comparison = comparisons.find(key);
      if (comparison == comparisons.end()) {
        complain(append_pointer(pointer, key),
                 "unknown comparison " + quote(key) + ", expected one of '<', '<=', '>', '>='");
        continue;
      }
      const auto number = to_number(bound);
      if (!number) {
        complain(append_pointer(pointer, key),
                 "the bound of '" + key + "' must be a number, got " + describe(bound));
      } else if (metric) {
        add("bound", make_metric_bound(*metric, comparison->second, *number));
      }
    }
    if (given != 1) {
      complain(pointer,
               "a stop rule with a metric takes exactly one of '<', '<=', '>', '>=', got " +
                   (given == 0 ? "none" : std::to_string(given)));
    }
  }

  void complain(const std::string& pointer, const std::string& sentence) {
    problems_.push_back({pointer, sentence});
  }

  const Catalogue& catalogue_;
  const PolicyContext& context_;
  std::vector<Problem>& problems_;
  std::vector<NamedStopper> stoppers_;
  std::map<std::string, int> names_;  ///< how often each was given
};

/// What the driver adds to each result.
const std::vector<std::string> filled_in_fields = {
    "training_iteration",       "time_total_s",    "time_this_iter_s", "time_since_restore",
    "iterations_since_restore", "timesteps_total", "episodes_total",   "timestamp"};

/// The one that differs by so little that nobody would call a metric of his own so.
std::optional<std::string> filled_in_field_near(const std::string& metric) {
  constexpr int most_edits = 2;
  const auto near = nearest_name(metric, filled_in_fields);
  const int edits = near ? edit_distance(metric, *near) : 0;
  return edits > 0 && edits <= most_edits ? near : std::nullopt;
}

/// Whether the spec says elsewhere that trials report it.
bool is_metric_of(const ExperimentSpec& spec, const std::string& metric) {
  const auto is_it = [&](const PlainMetric& each) { return each.name == metric; };
  return find_objective(spec.objectives, metric) != nullptr ||
         (spec.plain && std::any_of(spec.plain->metrics.begin(), spec.plain->metrics.end(), is_it));
}

}  // namespace

void refuse_misspelt_bounds(const ExperimentSpec& spec, std::vector<Problem>& problems) {
  const bool is_list = spec.stop.is_array();
  const Json rules = is_list ? spec.stop : Json::array({spec.stop});
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Json& rule = rules[i];
    const bool is_of_bounds = rule.is_object() && !rule.contains("type") &&
                              (!rule.contains("metric") || rule["metric"].is_number());
    if (!is_of_bounds) continue;
    const std::string pointer = is_list ? append_pointer("/stop", std::to_string(i)) : "/stop";
    for (const auto& [metric, bound] : rule.items()) {
      if (metric.ends_with('<') || metric.ends_with('>')) continue;  // see spec_warnings.cpp
      const auto meant = is_metric_of(spec, metric) ? std::nullopt : filled_in_field_near(metric);
      if (!meant) continue;
      problems.push_back({append_pointer(pointer, metric),
                          "unknown bound " + quote(metric) + ", did you mean '" + *meant +
                              "'? A metric that trials report so is written {\"metric\": " +
                              Json(metric).dump() + ", \">=\": " + bound.dump() + "}"});
    }
  }
}

std::unique_ptr<Stopper> make_stopper(const ExperimentSpec& spec, const Catalogue& catalogue,
                                      const PolicyContext& context,
                                      std::vector<Problem>& problems) {
  StopParser parser(catalogue, context, problems);
  if (spec.stop.is_array()) {
    for (std::size_t i = 0; i < spec.stop.size(); ++i) {
      parser.parse(spec.stop[i], append_pointer("/stop", std::to_string(i)));
    }
  } else if (!spec.stop.is_null()) {
    parser.parse(spec.stop, "/stop");
  }
  if (spec.time_budget_s) parser.add("time_budget_s", make_time_budget(*spec.time_budget_s));
  return parser.result();
}

}  // namespace tune
