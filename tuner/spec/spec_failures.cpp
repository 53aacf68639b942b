// What a spec says about failures. Knows signals by name, and no process.
#include <csignal>
#include <cstring>

#include "tuner/base/nearest_name.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

namespace {

std::optional<int> to_streak(const Json& json) {
  const auto number = to_int(json, -1);
  return number && *number != 0 ? number : std::nullopt;
}

std::optional<FailFast> to_fail_fast(const Json& json) {
  if (json.is_boolean()) return json.get<bool>() ? FailFast::yes : FailFast::no;
  if (json.is_string() && json.get_ref<const std::string&>() == "raise") return FailFast::raise;
  return std::nullopt;
}

Json from_fail_fast(FailFast fail_fast) {
  return fail_fast == FailFast::raise ? Json("raise") : Json(fail_fast == FailFast::yes);
}

/// Reads one list of rules.
class RuleReader {
 public:
  RuleReader(std::string pointer, std::vector<Problem>& problems)
      : pointer_(std::move(pointer)), problems_(problems) {}

  std::vector<FailureRule> read(const Json& json) {
    std::vector<FailureRule> rules;
    if (!json.is_array()) {
      const std::string name = pointer_.substr(pointer_.rfind('/') + 1);
      problems_.push_back({pointer_, name + " must be a list of rules, got " + describe(json)});
      return rules;
    }
    for (std::size_t i = 0; i < json.size(); ++i) {
      rules.push_back(read_rule(append_pointer(pointer_, std::to_string(i)), json[i]));
    }
    return rules;
  }

 private:
  FailureRule read_rule(const std::string& pointer, const Json& json) {
    FailureRule rule;
    if (json.is_string()) {
      rule.name = json.get<std::string>();
      for (const auto& known : failure_rule_names()) {
        if (rule.name == known) return rule;
      }
      problems_.push_back(
          {pointer, unknown_name("kind of failure", shown(rule.name), failure_rule_names())});
      return rule;
    }
    if (!json.is_object() || json.empty()) {
      problems_.push_back({pointer,
                           "a rule must be \"out_of_memory\", \"lost_device\" or an object with "
                           "\"exit_code\", \"signal\" or \"stderr\", got " +
                               (json.is_object() ? "an empty object" : describe(json))});
      return rule;
    }
    for (const auto& [name, value] : json.items()) read_condition(pointer, name, value, rule);
    return rule;
  }

  void read_condition(const std::string& pointer, const std::string& name, const Json& value,
                      FailureRule& rule) {
    const auto complain = [&](const std::string& sentence) {
      problems_.push_back({append_pointer(pointer, name), sentence});
    };
    if (name == "exit_code") {
      rule.exit_code = to_int(value, 1);
      if (!rule.exit_code || *rule.exit_code > 255) {
        complain("exit_code must be an integer from 1 to 255, got " + describe(value));
      }
    } else if (name == "signal") {
      rule.signal = to_signal(value);
      if (!rule.signal) {
        complain("signal must be a signal's name or number like \"SIGBUS\", got " +
                 describe(value));
      }
    } else if (name == "stderr") {
      rule.stderr_pattern = to_text(value);
      if (!rule.stderr_pattern) {
        complain("stderr must be a regular expression, got " + describe(value));
        return;
      }
      const std::string wrong = complaint_about_pattern(*rule.stderr_pattern);
      if (!wrong.empty()) {
        complain("stderr must be a regular expression, got " + describe(value) + ": " + wrong);
      }
    } else {
      const std::vector<std::string> known = {"exit_code", "signal", "stderr"};
      complain(unknown_name("field", shown(name), known));
    }
  }

  std::string pointer_;
  std::vector<Problem>& problems_;
};

Json from_rules(const std::vector<FailureRule>& rules) {
  Json list = Json::array();
  for (const FailureRule& rule : rules) {
    if (!rule.name.empty()) {
      list.push_back(rule.name);
      continue;
    }
    Json json = Json::object();
    if (rule.exit_code) json["exit_code"] = *rule.exit_code;
    if (rule.signal) json["signal"] = from_signal(*rule.signal);
    if (rule.stderr_pattern) json["stderr"] = *rule.stderr_pattern;
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::optional<int> to_signal(const Json& json) {
  if (json.is_string()) {
    std::string name = json.get<std::string>();
    if (name.starts_with("SIG")) name.erase(0, 3);
    for (int signal = 1; signal < NSIG; ++signal) {
      const char* const known = ::sigabbrev_np(signal);
      if (known != nullptr && name == known) return signal;
    }
    return std::nullopt;
  }
  const auto number = to_int(json, 1);
  return number && *number < NSIG ? number : std::nullopt;
}

Json from_signal(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? Json(std::string("SIG") + name) : Json(signal);
}

void parse_failures(const FieldReader& top, ExperimentSpec& spec, std::vector<Problem>& problems) {
  const Json* const json = top.find("failure_config");
  if (!json) return;
  if (!json->is_object()) {
    top.wrong("failure_config", "an object", *json);
    return;
  }
  const FieldReader fields(*json, "/failure_config", problems);
  FailureConfig& config = spec.failure_config;
  const auto to_retries = [](const Json& value) { return to_int(value, -1); };
  fields.read("max_failures", "an integer from 0, or -1 (forever)", to_retries,
              config.max_failures);
  fields.read("max_failures_in_a_row", "an integer from 1, or -1 (however many)", to_streak,
              config.max_failures_in_a_row);
  fields.read("fail_fast", "false, true or \"raise\"", to_fail_fast, config.fail_fast);
  if (const Json* const rules = fields.find("retry_on"); rules && !rules->is_null()) {
    config.retry_on = RuleReader("/failure_config/retry_on", problems).read(*rules);
    if (config.max_failures == 0) {
      fields.complain("retry_on",
                      "retry_on says which failures are retried, so max_failures must say how "
                      "often, got 0");
    }
  }
  if (const Json* const rules = fields.find("never_retry_on")) {
    config.never_retry_on = RuleReader("/failure_config/never_retry_on", problems).read(*rules);
  }
  if (config.fail_fast != FailFast::no && config.max_failures != 0) {
    fields.complain("fail_fast",
                    "fail_fast ends everything at the first failure, so max_failures must be 0 "
                    "or left out, got " +
                        std::to_string(config.max_failures));
  }
}

Json failures_to_json(const FailureConfig& config) {
  return {{"max_failures", config.max_failures},
          {"fail_fast", from_fail_fast(config.fail_fast)},
          {"max_failures_in_a_row", config.max_failures_in_a_row},
          {"retry_on", config.retry_on ? from_rules(*config.retry_on) : Json()},
          {"never_retry_on", from_rules(config.never_retry_on)}};
}

}  // namespace tune
