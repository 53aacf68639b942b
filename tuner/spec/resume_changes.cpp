// The table of fields with what may change about each, and the sentences for what may not.
#include "tuner/spec/resume_changes.h"

#include <algorithm>
#include <system_error>

#include "tuner/base/nearest_name.h"
#include "tuner/plain/command_words.h"
#include "tuner/spec/spec_fields.h"
#include "tuner/spec/spec_parts.h"

namespace tune {

namespace {

constexpr ChangeRule resume_rules[] = {
    {"/name", "the name of a started experiment cannot change: rename its directory instead"},
    {"/storage_path", "a started experiment is moved by moving its directory"},
    {"/trainable/command", ""},
    {"/trainable/env", ""},
    {"/trainable/merge_output", ""},
    {"/trainable/preload", ""},
    {"/trainable/plain/metrics", ""},
    {"/trainable/plain/working_directory", ""},
    {"/trainable/plain/checkpoints", ""},
    {"/trainable/plain/complete", ""},
    {"/trainable/plain/resume", ""},
    {"/trainable/plain/save_signal", ""},
    {"/trainable/plain/checkpoint_exit_code", ""},
    {"/trainable/plain/saved", ""},
    {"/trainable/plain/typed", ""},
    {"/param_space",
     "the param space of a started experiment cannot change, because its trials were drawn from "
     "it: "
     "start a new experiment, under another name"},
    {"/metric",
     "the metric of a started experiment cannot change, because its decisions were made by it: "
     "start a new experiment, or look at the results of this one with 'tune best --metric'"},
    {"/mode",
     "the mode of a started experiment cannot change, because its decisions were made by it: "
     "start a new experiment, or look at the results of this one with 'tune best --mode'"},
    {"/constraints",
     "the constraints of a started experiment cannot change, because its configs were chosen under "
     "them: start a new experiment, under another name"},
    {"/num_samples", "", true},
    {"/max_concurrent_trials", "", true},
    {"/resources_per_trial", ""},
    {"/num_workers",
     "the number of workers of a started experiment cannot change, because its checkpoints were "
     "written by so many: start a new experiment, under another name"},
    {"/resources_per_worker", ""},
    {"/placement", ""},
    {"/resources", ""},
    {"/time_budget_s", "", true},
    {"/stop", "", true},
    {"/seed",
     "the seed of a started experiment cannot change, because its random numbers are under way: "
     "start a new experiment, under another name"},
    {"/searcher",
     "the searcher of a started experiment cannot change, because it has learned from its trials: "
     "start a new experiment, perhaps with the best configs of this one as points_to_evaluate"},
    {"/scheduler",
     "the scheduler of a started experiment cannot change, because it compares its trials: start a "
     "new experiment, under another name"},
    {"/checkpoint_config/num_to_keep", ""},
    {"/checkpoint_config/checkpoint_score_attribute",
     "the score of the checkpoints of a started experiment cannot change, because those that are "
     "there were ranked by it: start a new experiment, under another name"},
    {"/checkpoint_config/checkpoint_score_order", ""},
    {"/checkpoint_config/checkpoint_frequency", ""},
    {"/checkpoint_config/checkpoint_at_end", ""},
    {"/checkpoint_config/checkpoint_at_start", ""},
    {"/checkpoint_config/max_checkpoint_bytes", ""},
    {"/failure_config/max_failures", ""},
    {"/failure_config/fail_fast", ""},
    {"/failure_config/max_failures_in_a_row", ""},
    {"/failure_config/retry_on", ""},
    {"/failure_config/never_retry_on", ""},
    {"/cluster/type", ""},
    {"/cluster/hosts", ""},
    {"/cluster/launcher", ""},
    {"/cluster/bind", ""},
    {"/cluster/agent_lease_s", ""},
    {"/cluster/agent_jobs", ""},
    {"/cluster/time", ""},
    {"/cluster/sbatch_options", ""},
    {"/cluster/agent_idle_s", ""},
    {"/cluster/job_margin_s", ""},
    {"/remote/path", ""},
    {"/remote/checkpoints", ""},
    {"/remote/keep_local", ""},
    {"/remote/bytes_per_s", ""},
    {"/remote/flush_s", ""},
    {"/callbacks", ""},
    {"/plugins", ""},
    {"/reuse_processes", ""},
    {"/keep_paused", "", true},
    {"/max_log_bytes", "", true},
    {"/min_free_bytes", ""},
    {"/snapshot_period_s", ""},
    {"/launch_timeout_s", ""},
    {"/trial_timeout_s", ""},
    {"/stop_grace_s", ""},
    {"/last_result_grace_s", ""},
    {"/resume_from_checkpoint", ""},
};

/// That of the field, or of the first part of it; none: null.
const ChangeRule* rule_of(const std::string& pointer) {
  const auto rule =
      std::find_if(std::begin(resume_rules), std::end(resume_rules), [&](const ChangeRule& each) {
        return each.pointer == pointer || each.pointer.starts_with(pointer + "/");
      });
  return rule == std::end(resume_rules) ? nullptr : &*rule;
}

/// Without what is about the program of a policy, and not about what it decides.
Json without_patience(Json policy) {
  if (policy.is_object() && policy.value("type", Json()) == "program") policy.erase("timeout_s");
  return policy;
}

void take_patience(const Json& from, Json& to) {
  const bool has_it = from.is_object() && from.contains("timeout_s");
  if (has_it && without_patience(from) == without_patience(to)) to["timeout_s"] = from["timeout_s"];
}

/// A plain program is asked nothing, and others are: a trial cannot be both.
void refuse_other_kind(const ExperimentSpec& recorded, const ExperimentSpec& changed,
                       std::vector<Problem>& problems) {
  constexpr const char* why =
      " of a started experiment cannot change whether its program is a plain one: start a new "
      "experiment, under another name";
  const auto has_words = [](const ExperimentSpec& spec) {
    return std::any_of(spec.command.begin(), spec.command.end(),
                       [](const std::string& word) { return brings_config(word); });
  };
  if (recorded.plain.has_value() != changed.plain.has_value()) {
    problems.push_back({"/trainable/plain", std::string("'plain'") + why});
  } else if (!recorded.plain && has_words(changed) && !has_words(recorded)) {
    problems.push_back({"/trainable/command", std::string("the command") + why});
  }
}

}  // namespace

ExperimentSpec with_patience_of(const ExperimentSpec& spec, ExperimentSpec recorded) {
  take_patience(spec.searcher, recorded.searcher);
  take_patience(spec.scheduler, recorded.scheduler);
  return recorded;
}

std::span<const ChangeRule> change_rules() { return resume_rules; }

std::vector<std::string> fields_while_running() {
  std::vector<std::string> names;
  for (const ChangeRule& rule : resume_rules) {
    if (rule.while_running) names.emplace_back(rule.pointer.substr(1));
  }
  return names;
}

std::vector<Problem> refuse_changes(const ExperimentSpec& recorded, const ExperimentSpec& changed,
                                    const Catalogue& catalogue) {
  std::vector<Problem> problems;
  const Json before = to_json(recorded);
  const Json after = to_json(changed);
  for (const auto& [pointer, refusal, while_running] : resume_rules) {
    if (refusal.empty()) continue;
    const Json::json_pointer field{std::string(pointer)};
    // By what nothing was ranked so far, nothing contradicts.
    const bool is_first_score = pointer.ends_with("score_attribute") && before.at(field).is_null();
    if (without_patience(before.at(field)) != without_patience(after.at(field)) &&
        !is_first_score) {
      problems.push_back({std::string(pointer), std::string(refusal)});
    }
  }
  refuse_other_kind(recorded, changed, problems);
  if (!problems.empty()) return problems;
  parse_recorded_spec(after, catalogue, problems);
  if (changed.stop != recorded.stop) refuse_misspelt_bounds(changed, problems);
  if (changed.command != recorded.command || changed.env != recorded.env) {
    check_plain_words(changed, problems);
    check_config_names(changed, problems);
  }
  const auto& start = changed.resume_from_checkpoint;
  std::error_code ignored;
  if (start != recorded.resume_from_checkpoint && !start.empty() &&
      !std::filesystem::is_directory(start, ignored)) {
    problems.push_back(
        {"/resume_from_checkpoint", "resume_from_checkpoint must be a directory that exists, got " +
                                        describe(start.string())});
  }
  return problems;
}

ExperimentSpec change_while_running(const ExperimentSpec& spec, const Json& fields,
                                    const Catalogue& catalogue, std::vector<Problem>& problems) {
  Json json = to_json(spec);
  for (const auto& [name, value] : fields.items()) {
    const std::string pointer = append_pointer("", name);
    const ChangeRule* const rule = rule_of(pointer);
    if (rule == nullptr) {
      problems.push_back({pointer, unknown_name("field", shown(name), fields_while_running())});
    } else if (!rule->while_running) {
      problems.push_back({pointer, rule->refusal.empty()
                                       ? name + " does not change while a driver runs: tune pause, "
                                                "and then tune resume with another one"
                                       : std::string(rule->refusal)});
    } else {
      json[name] = value;
    }
  }
  if (!problems.empty()) return spec;
  ExperimentSpec changed = parse_recorded_spec(json, catalogue, problems);
  if (fields.contains("stop")) refuse_misspelt_bounds(changed, problems);
  return changed;
}

void keep_chosen_searcher(const ExperimentSpec& recorded, ExperimentSpec& given) {
  if (!given.searcher_reason.empty()) given.searcher["type"] = recorded.searcher.at("type");
}

std::string changed_fields(const ExperimentSpec& recorded, const ExperimentSpec& changed) {
  const Json before = to_json(recorded);
  const Json after = to_json(changed);
  std::string names;
  for (const auto& [name, value] : after.items()) {
    if (before.at(name) != value) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

std::string sentence_of_changes(const ExperimentSpec& recorded, const ExperimentSpec& changed) {
  const Json before = to_json(recorded);
  const Json after = to_json(changed);
  std::string sentence;
  // A part that is new was nothing before: a command that becomes a plain program's, say.
  const auto part_of = [](const Json& whole, const std::string& name) {
    return whole.is_object() ? whole.value(name, Json()) : Json();
  };
  const auto compare = [&](const std::string& name, const Json& was, const Json& is) {
    if (was == is) return;
    sentence += (sentence.empty() ? "" : ", ") + name;
    sentence += name == "trainable/env" ? " is another one now"
                                        : " is " + is.dump() + " now, was " + was.dump();
  };
  for (const auto& [name, value] : after.items()) {
    const auto* const rule = rule_of("/" + name);
    if (rule != nullptr && rule->pointer.size() > name.size() + 1) {
      for (const auto& [part, inner] : value.items()) {
        compare(name + "/" + part, part_of(part_of(before, name), part), inner);
      }
    } else {
      compare(name, part_of(before, name), value);
    }
  }
  return sentence;
}

}  // namespace tune
