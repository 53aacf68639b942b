#include "apps/tune/trial_fields.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>
#include <utility>

#include "tuner/core/error.h"
#include "tuner/core/nearest_name.h"

namespace tune {

const char* paused_by(const Trial& trial) {
  if (trial.state != TrialState::paused) return "";
  return trial.held ? "user" : "scheduler";
}

namespace {

using Source = TrialFields::Field::Source;

struct OwnField {
  const char* name;
  Json (*value)(const Trial&);
};

Json time_or_null(Seconds time) { return time == 0 ? Json() : Json(time); }

constexpr OwnField own_fields[] = {
    {"trial_id", [](const Trial& trial) -> Json { return to_string(trial.id); }},
    {"state", [](const Trial& trial) -> Json { return to_string(trial.state); }},
    {"training_iteration", [](const Trial& trial) -> Json { return trial.iteration; }},
    {"time_total_s", [](const Trial& trial) -> Json { return trial.time_total_s; }},
    {"attempt", [](const Trial& trial) -> Json { return trial.attempt; }},
    {"failures", [](const Trial& trial) -> Json { return trial.failures; }},
    {"failed_saves", [](const Trial& trial) -> Json { return trial.failed_saves; }},
    {"checkpoints", [](const Trial& trial) -> Json { return trial.checkpoints.size(); }},
    {"started", [](const Trial& trial) { return time_or_null(trial.started); }},
    {"ended", [](const Trial& trial) { return time_or_null(trial.ended); }},
    {"ended_by", [](const Trial& trial) -> Json { return to_string(trial.ended_by); }},
    {"why", [](const Trial& trial) -> Json { return trial.why; }},
    {"paused_by", [](const Trial& trial) -> Json { return paused_by(trial); }},
    {"tag", [](const Trial& trial) -> Json { return trial.tag; }},
    {"error", [](const Trial& trial) -> Json { return *trial.error; }},
};

std::string with_dots(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

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

Json own_value(const Trial& trial, const std::string& name) {
  for (const auto& field : own_fields) {
    if (name == field.name) return field.value(trial);
  }
  return nullptr;
}

}  // namespace

TrialFields::TrialFields(const Experiment& experiment,
                         const std::vector<std::string>& expected_metrics) {
  std::set<std::string> metrics;
  std::set<std::string> config;
  const auto add_metric = [&](const std::string& name) {
    if (is_drivers_column(name)) return;
    if (metrics.insert(name).second) metrics_.push_back(name);
  };
  for (const auto& trial : experiment.trials()) {
    for (const auto& summary : trial.summaries)
      add_metric(std::string(std::string_view(summary.name)));
    if (!trial.last_metrics.empty()) {
      visit_leaves(Json::parse(trial.last_metrics.text()), "", add_metric);
    }
    visit_leaves(Json::parse(trial.config.text()), "", [&](const std::string& key) {
      if (config.insert(key).second) config_.push_back(key);
    });
  }
  for (const auto& name : expected_metrics) add_metric(name);

  // The first of a name stays.
  const auto add = [this](const std::string& name, const Field& field) {
    exact_.emplace(with_dots(name), field);
    fields_.emplace(writable(name), field);
  };
  for (const auto& field : own_fields) add(field.name, {field.name, Source::own, field.name});
  for (const auto& name : metrics_) add(name, {name, Source::metric, name});
  for (const auto& key : config_) {
    const Field field{"config." + with_dots(key), Source::config, key};
    add(field.name, field);
    add(key, field);
  }
}

TrialFields::Field TrialFields::find(const std::string& kind, const std::string& name) const {
  const auto exact = exact_.find(with_dots(name));
  if (exact != exact_.end()) return exact->second;
  const auto found = fields_.find(writable(name));
  if (found != fields_.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [known_name, field] : exact_) {
    if (known_name != field.name && field.source == Source::config) continue;
    known.push_back(known_name);
  }
  // Short names are what people misspell: they are looked at too, but not listed.
  for (const auto& key : config_) {
    if (edit_distance(writable(key), name) <= 2) known.push_back(writable(key));
  }
  throw user_error(unknown_name(kind, name, known));
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
  for (const auto& field : own_fields) all.push_back({field.name, Source::own, field.name});
  for (const auto& name : metrics_) {
    const auto found = exact_.find(with_dots(name));
    if (found->second.source == Source::metric && found->second.key == name) {
      all.push_back(found->second);
    }
  }
  for (const auto& key : config_) {
    all.push_back({"config." + with_dots(key), Source::config, key});
  }
  return all;
}

std::vector<Json> values_of(const Trial& trial, const std::vector<TrialFields::Field>& fields) {
  const auto uses = [&fields](Source source) {
    return std::any_of(fields.begin(), fields.end(),
                       [source](const auto& field) { return field.source == source; });
  };
  // Parsed only if asked for: there may be 100,000 trials.
  const Json config = uses(Source::config) ? Json::parse(trial.config.text()) : Json();
  const bool has_metrics = uses(Source::metric) && !trial.last_metrics.empty();
  const Json metrics = has_metrics ? Json::parse(trial.last_metrics.text()) : Json();
  std::vector<Json> values;
  for (const auto& field : fields) {
    if (field.source == Source::own) {
      values.push_back(own_value(trial, field.key));
    } else if (field.source == Source::config) {
      values.push_back(leaf_or_null(config, field.key));
    } else if (const MetricSummary* const summary = trial.summary(field.key)) {
      values.push_back(encode_number(summary->last));
    } else {
      values.push_back(leaf_or_null(metrics, field.key));
    }
  }
  return values;
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
