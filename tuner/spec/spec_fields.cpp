// FieldReader, the conversions of JSON values, durations, and the sentence about an unknown field.
#include "tuner/spec/spec_fields.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include "tuner/base/byte_size.h"
#include "tuner/base/decimal.h"
#include "tuner/base/nearest_name.h"
#include "tuner/base/whole_number.h"
#include "tuner/spec/foreign_fields.h"

namespace tune {

namespace {

constexpr std::size_t shown_bytes = 60;
constexpr double longest_s = 1e9;

/// At most `shown_bytes` of `text`, not cut within a UTF-8 character.
std::string cut(const std::string& text) {
  if (text.size() <= shown_bytes) return text;
  std::size_t end = shown_bytes - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// How such a field is written where its name alone does not say it.
std::string example_of(const std::string& field) {
  if (field == "stop") return ", like {\"training_iteration\": 100}";
  if (field == "trainable") return ", like {\"command\": [\"python3\", \"train.py\"]}";
  if (field == "checkpoint_config") return ", like {\"num_to_keep\": 2}";
  if (field == "mode") return ", \"min\" or \"max\"";
  return "";
}

std::string word_of_others(const std::string& name) {
  const std::string ours = field_of_others(name);
  if (ours.empty()) return "";
  return "unknown field " + quote(name) + ": here that is '" + ours + "'" + example_of(ours);
}

/// All fields are listed once, for the first one that is near none of them.
std::string unknown_field(const std::string& name, const std::vector<std::string>& known,
                          bool& is_listed) {
  for (const auto& [pointer, names] : spec_fields()) {
    if (!is_one_of(name, names)) continue;
    const std::string home =
        pointer.empty() ? "at the top level" : "in '" + pointer.substr(1) + "'";
    return quote(name) + " belongs " + home;
  }
  const std::string ours = is_one_of("param_space", known) ? word_of_others(name) : "";
  if (!ours.empty()) return ours;
  const bool is_near_none = !nearest_name(shown(name), known);
  if (is_near_none && is_listed) return "unknown field " + quote(name);
  is_listed = is_listed || is_near_none;
  return unknown_name("field", shown(name), known);
}

}  // namespace

const std::map<std::string, std::vector<std::string>>& spec_fields() {
  static const std::map<std::string, std::vector<std::string>> fields = {
      {"",
       {"$schema",
        "name",
        "storage_path",
        "trainable",
        "param_space",
        "metric",
        "mode",
        "constraints",
        "num_samples",
        "max_concurrent_trials",
        "resources_per_trial",
        "num_workers",
        "resources_per_worker",
        "placement",
        "resources",
        "cluster",
        "remote",
        "time_budget_s",
        "stop",
        "seed",
        "searcher",
        "scheduler",
        "checkpoint_config",
        "failure_config",
        "callbacks",
        "plugins",
        "reuse_processes",
        "keep_paused",
        "max_log_bytes",
        "min_free_bytes",
        "snapshot_period_s",
        "launch_timeout_s",
        "trial_timeout_s",
        "stop_grace_s",
        "last_result_grace_s",
        "resume_from_checkpoint"}},
      {"/trainable", {"command", "env", "merge_output", "plain", "preload"}},
      {"/trainable/plain",
       {"metrics", "working_directory", "checkpoints", "complete", "resume", "save_signal",
        "checkpoint_exit_code", "saved", "typed"}},
      {"/checkpoint_config",
       {"num_to_keep", "checkpoint_score_attribute", "checkpoint_score_order",
        "checkpoint_frequency", "checkpoint_at_end", "checkpoint_at_start",
        "max_checkpoint_bytes"}},
      {"/failure_config",
       {"max_failures", "fail_fast", "max_failures_in_a_row", "retry_on", "never_retry_on"}},
      {"/cluster",
       {"type", "hosts", "launcher", "bind", "agent_lease_s", "agent_jobs", "time",
        "sbatch_options", "agent_idle_s", "job_margin_s"}},
      {"/remote", {"path", "checkpoints", "keep_local", "bytes_per_s", "flush_s"}},
  };
  return fields;
}

std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return shorten(value, shown_bytes);
}

std::string shown(const std::string& name) {
  const std::string escaped = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
  return cut(escaped.substr(1, escaped.size() - 2));
}

std::string quote(const std::string& name) { return "'" + shown(name) + "'"; }

FieldReader::FieldReader(const Json& json, std::string pointer, std::vector<Problem>& problems)
    : json_(json), pointer_(std::move(pointer)), problems_(problems) {
  const std::vector<std::string>& known = spec_fields().at(pointer_);
  bool is_listed = false;
  for (const auto& [name, value] : json.items()) {
    if (!is_one_of(name, known)) complain(name, unknown_field(name, known, is_listed));
  }
}

const Json* FieldReader::find(const std::string& name) const {
  const auto found = json_.find(name);
  return found == json_.end() ? nullptr : &*found;
}

void FieldReader::wrong(const std::string& name, const std::string& expected,
                        const Json& value) const {
  complain(name, name + " must be " + expected + ", got " + describe(value));
}

void FieldReader::complain(const std::string& name, const std::string& sentence) const {
  problems_.push_back({append_pointer(pointer_, name), sentence});
}

std::optional<bool> to_flag(const Json& json) {
  if (!json.is_boolean()) return std::nullopt;
  return json.get<bool>();
}

std::optional<std::string> to_text(const Json& json) {
  if (!json.is_string()) return std::nullopt;
  std::string text = json.get<std::string>();
  if (text.empty() || text.find('\0') != std::string::npos) return std::nullopt;
  return text;
}

std::optional<std::int64_t> to_integer(const Json& json, std::int64_t lowest) {
  const auto value = whole_number<std::int64_t>(json);
  return value && *value >= lowest ? value : std::nullopt;
}

std::optional<int> to_int(const Json& json, int lowest) {
  const auto value = whole_number<int>(json);
  return value && *value >= lowest ? value : std::nullopt;
}

std::optional<std::uint64_t> to_bytes(const Json& json) {
  if (json.is_string()) return parse_byte_size(json.get<std::string>());
  return to_integer(json, 0);
}

std::optional<double> to_number(const Json& json) {
  if (!json.is_number() || !std::isfinite(json.get<double>())) return std::nullopt;
  return json.get<double>();
}

/// "72h", "1d12h", "1.5 h" in seconds.
std::optional<double> parse_duration(std::string_view text) {
  static constexpr std::pair<std::string_view, double> units[] = {
      {"min", 60}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}, {"w", 604'800}};
  const auto skip_blanks = [&text] {
    while (text.starts_with(' ')) text.remove_prefix(1);
  };
  double seconds = 0;
  bool is_empty = true;
  for (skip_blanks(); !text.empty(); skip_blanks()) {
    const Decimal number = read_decimal(text);
    if (number.length == 0 || text.starts_with('-')) return std::nullopt;
    text.remove_prefix(number.length);
    skip_blanks();
    const auto unit = std::find_if(std::begin(units), std::end(units),
                                   [&](const auto& one) { return text.starts_with(one.first); });
    if (unit == std::end(units)) return std::nullopt;
    text.remove_prefix(unit->first.size());
    seconds += number.value * unit->second;
    is_empty = false;
  }
  return is_empty ? std::nullopt : std::optional(seconds);
}

std::optional<double> to_seconds(const Json& json) {
  const auto seconds = json.is_string() ? parse_duration(json.get<std::string>()) : to_number(json);
  if (!seconds || !(*seconds > 0) || *seconds > longest_s) return std::nullopt;
  return seconds;
}

}  // namespace tune
