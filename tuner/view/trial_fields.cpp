// The table of a trial's own fields, look-up of metrics and config values by name, and spelling in
// expressions.
#include "tuner/view/trial_fields.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/base/nearest_name.h"
#include "tuner/model/ancestry.h"
#include "tuner/model/trial_words.h"
#include "tuner/view/value_text.h"

namespace tune {

namespace {

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }

}  // namespace

const char* end_of(const Trial& trial) {
  const auto end = trial.end();
  return end ? to_string(*end) : "";
}

const char* end_or_state(const Trial& trial) {
  return trial.end() ? end_of(trial) : to_string(trial.state);
}

const char* paused_by(const Trial& trial) {
  if (trial.state != TrialState::paused) return "";
  return trial.held ? "user" : "scheduler";
}

const char* ended_by(const Trial& trial) {
  return is_final(trial.state) ? to_string(trial.ended_by) : "";
}

Json duration_json(const Experiment& experiment, const Trial& trial) {
  if (trial.started == 0) return nullptr;
  const Seconds end = trial.ended != 0 ? trial.ended : experiment.last_time();
  return std::max(0.0, end - trial.started);
}

Json node_json(const Trial& trial) { return text_or_null(trial.host); }
Json gpus_json(const Trial& trial) { return text_or_null(*trial.gpus); }

Json earlier_metrics_json(const ResultGrid& grid, const Trial& trial) {
  Json earlier = Json::object();
  for (const auto& [name, row] : grid.earlier_metrics(trial)) {
    earlier[name] = {{"value", number_json(row.value)}, {"training_iteration", row.iteration}};
  }
  return earlier;
}

Json results_json(const ResultGrid& grid, const Trial& trial) {
  Json results = Json::array();
  grid.each_row(trial, [&](const Metrics& row) { results.push_back(Json::parse(row.text)); });
  return results;
}

namespace {

using Source = TrialFields::Field::Source;

struct OwnField {
  const char* name;
  Json (*value)(const TrialSource&, const Trial&);
  bool is_time = false;
};

Json time_or_null(Seconds time) { return time == 0 ? Json() : Json(time); }

Json best_json(const TrialSource& source, const Trial& trial) {
  const Objective* const objective = sole(source.grid->spec().objectives);
  if (objective == nullptr) return nullptr;
  const ExactNumber best = source.grid->exact_value(trial, *objective, Scope::all);
  return std::isfinite(best.value()) ? number_json(best) : Json();
}

Json best_iteration_json(const TrialSource& source, const Trial& trial) {
  const Objective* const objective = sole(source.grid->spec().objectives);
  const auto found = objective ? source.grid->best_iteration(trial, *objective) : std::nullopt;
  return found ? Json(*found) : Json();
}

constexpr OwnField own_fields[] = {
    {"experiment", [](const TrialSource& source, const Trial&) -> Json { return source.name; }},
    {"trial_id",
     [](const TrialSource&, const Trial& trial) -> Json { return to_string(trial.id); }},
    {"state",
     [](const TrialSource&, const Trial& trial) -> Json { return to_string(trial.state); }},
    {"training_iteration",
     [](const TrialSource&, const Trial& trial) -> Json { return trial.iteration; }},
    {"time_total_s",
     [](const TrialSource&, const Trial& trial) -> Json { return trial.time_total_s; }},
    {"best", best_json},
    {"best_iteration", best_iteration_json},
    {"iteration_is_guess",
     [](const TrialSource&, const Trial& trial) -> Json { return trial.is_at_guess(); }},
    {"best_iteration_is_guess",
     [](const TrialSource& source, const Trial& trial) -> Json {
       const Json best = best_iteration_json(source, trial);
       return best.is_number() && trial.is_guess(best.get<std::int64_t>());
     }},
    {"attempt", [](const TrialSource&, const Trial& trial) -> Json { return trial.attempt; }},
    {"failures", [](const TrialSource&, const Trial& trial) -> Json { return trial.failures; }},
    {"failed_saves",
     [](const TrialSource&, const Trial& trial) -> Json { return trial.failed_saves; }},
    {"checkpoints",
     [](const TrialSource&, const Trial& trial) -> Json { return trial.checkpoints.size(); }},
    {"started", [](const TrialSource&, const Trial& trial) { return time_or_null(trial.started); },
     true},
    {"ended", [](const TrialSource&, const Trial& trial) { return time_or_null(trial.ended); },
     true},
    {"duration_s",
     [](const TrialSource& source, const Trial& trial) -> Json {
       return duration_json(source.grid->experiment(), trial);
     }},
    {"node", [](const TrialSource&, const Trial& trial) -> Json { return node_json(trial); }},
    {"gpus", [](const TrialSource&, const Trial& trial) -> Json { return gpus_json(trial); }},
    {"end", [](const TrialSource&, const Trial& trial) -> Json { return end_of(trial); }},
    {"ended_by", [](const TrialSource&, const Trial& trial) -> Json { return ended_by(trial); }},
    {"why", [](const TrialSource&, const Trial& trial) -> Json { return why_of(trial); }},
    {"paused_by", [](const TrialSource&, const Trial& trial) -> Json { return paused_by(trial); }},
    {"tag", [](const TrialSource&, const Trial& trial) -> Json { return present_tag(trial); }},
    {"tags",
     [](const TrialSource& source, const Trial& trial) -> Json {
       return source.notes.tags_json(trial.id);
     }},
    {"notes",
     [](const TrialSource& source, const Trial& trial) -> Json {
       return source.notes.text(trial.id);
     }},
    {"error", [](const TrialSource&, const Trial& trial) -> Json { return *trial.error; }},
};

/// The name as an expression can have it.
std::string writable(const std::string& name) {
  std::string out = name;
  for (char& c : out) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/') {
      c = '.';
    } else if (c != '.' && (byte >= 128 || !std::isalnum(byte))) {
      c = '_';
    }
  }
  return out;
}

/// Calls `visit` with the key of each value that is no object. Lists are values.
void visit_leaves(const Json& json, const std::string& prefix,
                  const std::function<void(const std::string&)>& visit) {
  for (const auto& [name, value] : json.items()) {
    const std::string key = prefix.empty() ? name : prefix + "/" + name;
    if (value.is_object()) {
      visit_leaves(value, key, visit);
    } else {
      visit(key);
    }
  }
}

/// The value at a key of `visit_leaves`; names may hold a '/' themselves.
const Json* find_leaf(const Json& json, const std::string& key) {
  if (!json.is_object()) return nullptr;
  const auto whole = json.find(key);
  if (whole != json.end()) return &*whole;
  for (std::size_t slash = key.find('/'); slash != std::string::npos;
       slash = key.find('/', slash + 1)) {
    const auto part = json.find(key.substr(0, slash));
    if (part == json.end()) continue;
    if (const Json* const found = find_leaf(*part, key.substr(slash + 1))) return found;
  }
  return nullptr;
}

Json leaf_or_null(const Json& json, const std::string& key) {
  const Json* const found = find_leaf(json, key);
  return found ? *found : Json();
}

/// The last value of a metric with all its digits; `metrics` were reported last.
Json last_json(const ResultGrid& grid, const Trial& trial, const std::string& metric,
               const Json& metrics) {
  const Json* const reported = find_leaf(metrics, metric);
  const auto exact = reported != nullptr ? exact_number(*reported) : std::nullopt;
  const double last = trial.summary(metric)->last;
  if (exact && exact->value() == last) return number_json(*exact);
  return number_json(grid.exact_value(trial, {metric, Mode::max}, Scope::last));
}

Json own_value(const TrialSource& source, const Trial& trial, const std::string& name) {
  for (const auto& field : own_fields) {
    if (name == field.name) return field.value(source, trial);
  }
  return nullptr;
}

/// Adds the field to those of its name: the first one, or one beside it that has been reported
/// under another name and is `written` alike.
void add_field(std::vector<TrialFields::Field>& same, const TrialFields::Field& field,
               std::string (*written)(const std::string&)) {
  if (!same.empty()) {
    const bool is_alike =
        same.front().source == field.source && written(same.front().key) == written(field.key);
    const bool is_there = std::any_of(same.begin(), same.end(),
                                      [&](const auto& each) { return each.key == field.key; });
    if (!is_alike || is_there) return;
  }
  same.push_back(field);
}

std::string with_dots(const std::string& name) {
  std::string out = name;
  std::replace(out.begin(), out.end(), '/', '.');
  return out;
}

Error means_several(const std::string& kind, const std::string& name,
                    const std::vector<TrialFields::Field>& alike) {
  std::string names;
  for (const auto& each : alike) names += (names.empty() ? "" : " and ") + as_quoted(each.key);
  return user_error(kind + " " + as_quoted(name) + " means " + names +
                    ", which are written alike: --json has them apart");
}

/// Of those of a name, the only one, or that with exactly this name.
const TrialFields::Field& sole_of(const std::vector<TrialFields::Field>& alike,
                                  const std::string& kind, const std::string& name) {
  if (alike.size() == 1) return alike.front();
  for (const auto& each : alike) {
    for (const char* const prefix : {"", "metrics.", "config."}) {
      if (name == prefix + each.key) return each;
    }
  }
  throw means_several(kind, name, alike);
}

}  // namespace

TrialFields::TrialFields(const std::vector<TrialSource>& sources) {
  std::set<std::string> metrics;
  std::set<std::string> config;
  const auto add_metric = [&](const std::string& name) {
    if (is_drivers_column(name)) return;
    if (metrics.insert(name).second) metrics_.push_back(name);
  };
  for (const TrialSource& source : sources) {
    for (const auto& trial : source.grid->experiment().trials()) {
      for (const auto& summary : trial.summaries)
        add_metric(std::string(std::string_view(summary.name)));
      if (!trial.last_metrics.empty()) {
        visit_leaves(Json::parse(trial.last_metrics.text()), "", add_metric);
      }
      visit_leaves(Json::parse(present_config(trial)), "", [&](const std::string& key) {
        if (config.insert(key).second) config_.push_back(key);
      });
    }
    for (const auto& objective : source.grid->spec().objectives) add_metric(objective.metric);
  }

  const auto add = [this](const std::string& name, const Field& field) {
    add_field(exact_[with_dots(name)], field, with_dots);
    add_field(fields_[writable(name)], field, writable);
  };
  for (const auto& field : own_fields) {
    add(field.name, {field.name, Source::own, field.name, field.is_time});
  }
  // Before metrics, of which one may be nested in a "config" of its own.
  for (const auto& key : config_) {
    const Field field{"config." + with_dots(key), Source::config, key};
    add(field.name, field);
  }
  for (const auto& name : metrics_) {
    const bool is_hidden = exact_.contains(with_dots(name));
    const Field field{(is_hidden ? "metrics." : "") + name, Source::metric, name};
    add(name, field);
    add("metrics." + name, field);
  }
  for (const auto& key : config_) {
    add(key, {"config." + with_dots(key), Source::config, key});
  }
}

TrialFields::Field TrialFields::find(const std::string& kind, const std::string& name) const {
  const auto exact = exact_.find(with_dots(name));
  if (exact != exact_.end()) return sole_of(exact->second, kind, name);
  const auto found = fields_.find(writable(name));
  if (found != fields_.end()) return sole_of(found->second, kind, name);
  std::vector<std::string> known;
  for (const auto& [known_name, alike] : exact_) {
    const Field& field = alike.front();
    if (known_name != with_dots(field.name) && field.source != Source::own) continue;
    known.push_back(known_name);
  }
  // Short names are what people misspell: they are looked at too, but not listed.
  for (const auto& key : config_) {
    if (edit_distance(writable(key), name) <= 2) known.push_back(writable(key));
  }
  throw user_error(unknown_name(kind, name, known));
}

TrialFields::Field TrialFields::find_written(const std::string& kind,
                                             const std::string& name) const {
  const auto exact = exact_.find(with_dots(name));
  if (exact != exact_.end() && exact->second.size() > 1) {
    throw means_several(kind, name, exact->second);
  }
  return find(kind, name);
}

std::string TrialFields::written(const std::string& name) { return writable(name); }

std::string TrialFields::find_metric(const std::string& name) const {
  if (name == "training_iteration" || name == "time_total_s") return name;
  for (const auto* const fields : {&exact_, &fields_}) {
    const std::string key = fields == &exact_ ? with_dots(name) : writable(name);
    for (const char* const prefix : {"metrics.", ""}) {
      const auto found = fields->find(prefix + key);
      const bool is_metric =
          found != fields->end() && found->second.front().source == Field::Source::metric;
      if (is_metric) return sole_of(found->second, "metric", name).key;
    }
  }
  throw user_error(unknown_name("metric", name, metrics_));
}

std::vector<std::string> TrialFields::drawn(const Json& param_space) const {
  std::set<std::string> stated;
  visit_leaves(param_space, "", [&](const std::string& key) { stated.insert(key); });
  std::vector<std::string> names;
  for (const auto& key : config_) {
    if (!stated.contains(key)) names.push_back("config." + with_dots(key));
  }
  return names;
}

std::vector<TrialFields::Field> TrialFields::all() const {
  std::vector<Field> all;
  for (const auto& field : own_fields) {
    all.push_back({field.name, Source::own, field.name, field.is_time});
  }
  for (const auto& name : metrics_) {
    all.push_back(sole_of(exact_.at("metrics." + with_dots(name)), "metric", name));
  }
  for (const auto& key : config_) {
    all.push_back({"config." + with_dots(key), Source::config, key});
  }
  return all;
}

std::vector<Json> values_of(const TrialSource& source, const Trial& trial,
                            const std::vector<TrialFields::Field>& fields) {
  const auto uses = [&fields](Source from) {
    return std::any_of(fields.begin(), fields.end(),
                       [from](const auto& field) { return field.source == from; });
  };
  // Parsed only if asked for: there may be 100,000 trials.
  const Json config = uses(Source::config) ? Json::parse(present_config(trial)) : Json();
  const bool has_metrics = uses(Source::metric) && !trial.last_metrics.empty();
  const Json metrics = has_metrics ? Json::parse(trial.last_metrics.text()) : Json();
  std::vector<Json> values;
  for (const auto& field : fields) {
    if (field.source == Source::own) {
      values.push_back(own_value(source, trial, field.key));
    } else if (field.source == Source::config) {
      values.push_back(leaf_or_null(config, field.key));
    } else if (trial.summary(field.key) != nullptr) {
      values.push_back(last_json(*source.grid, trial, field.key, metrics));
    } else {
      values.push_back(leaf_or_null(metrics, field.key));
    }
  }
  return values;
}

Json in_a_table(const Trial& trial, const TrialFields::Field& field, const Json& value) {
  if (field.source != Source::own || !value.is_number_integer()) return value;
  const bool is_last = field.key == "training_iteration";
  if (!is_last && field.key != "best_iteration") return value;
  const auto iteration = value.get<std::int64_t>();
  const bool is_guess = is_last ? trial.is_at_guess() : trial.is_guess(iteration);
  return is_guess ? Json(iteration_text(iteration, true)) : value;
}

std::map<std::string, Json> leaves_of(const Json& config) {
  std::map<std::string, Json> leaves;
  visit_leaves(config, "",
               [&](const std::string& name) { leaves[name] = leaf_or_null(config, name); });
  return leaves;
}

void erase_leaf(Json& config, const std::string& name) {
  if (!config.is_object() || config.erase(name) > 0) return;
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    const auto part = config.find(name.substr(0, slash));
    if (part != config.end()) erase_leaf(*part, name.substr(slash + 1));
  }
}

void add_config(const Json& config, std::vector<std::pair<std::string, std::string>>& pairs) {
  std::string key = "config";
  visit_leaves(config, "", [&](const std::string& name) {
    const Json value = encode_numbers(leaf_or_null(config, name));
    pairs.emplace_back(
        std::exchange(key, ""),
        with_dots(name) + " = " + value.dump(-1, ' ', false, Json::error_handler_t::replace));
  });
}

}  // namespace tune
