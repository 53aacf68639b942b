// What of a spec may change at a resume: every field has a rule, and each rule holds.
#include "tuner/spec/resume_changes.h"

#include <algorithm>
#include <map>

#include "tests/spec/spec_support.h"
#include "tests/support/catch.h"
#include "tuner/spec/spec_fields.h"

using namespace tune;
using namespace tune::test;

namespace {

ExperimentSpec good(const Json& fields = Json::object()) {
  std::vector<Problem> problems;
  const ExperimentSpec spec = parse_spec(with(fields), "/specs", small_catalogue(), problems);
  REQUIRE(problems.empty());
  return spec;
}

/// For each field another value than `good()` has.
const std::map<std::string, Json> other_values = {
    {"/name", "other"},
    {"/storage_path", "/elsewhere"},
    {"/trainable/command", Json{"/bin/other", "1"}},
    {"/trainable/env", Json{{"A", "1"}}},
    {"/trainable/merge_output", true},
    {"/trainable/preload", Json{"numpy"}},
    {"/param_space", Json{{"lr", 0.5}}},
    {"/metric", "other"},
    {"/mode", "max"},
    {"/constraints", Json{"ms <= 3"}},
    {"/num_samples", 77},
    {"/max_concurrent_trials", 3},
    {"/resources_per_trial", Json{{"cpu", 0.5}}},
    {"/resources", Json{{"cpu", 9}}},
    {"/time_budget_s", 12.5},
    {"/stop", Json{{"training_iteration", 7}}},
    {"/seed", 99},
    {"/searcher", Json{{"type", "tpe"}}},
    {"/scheduler", Json{{"type", "asha"}}},
    {"/checkpoint_config/num_to_keep", 5},
    {"/checkpoint_config/checkpoint_score_attribute", "other"},
    {"/checkpoint_config/checkpoint_score_order", "max"},
    {"/checkpoint_config/checkpoint_frequency", 3},
    {"/checkpoint_config/checkpoint_at_end", true},
    {"/checkpoint_config/checkpoint_at_start", true},
    {"/checkpoint_config/max_checkpoint_bytes", "1GB"},
    {"/failure_config/max_failures", 2},
    {"/failure_config/fail_fast", true},
    {"/failure_config/max_failures_in_a_row", 3},
    {"/failure_config/retry_on", Json::array({"lost_device"})},
    {"/failure_config/never_retry_on", Json::array({"lost_device"})},
    {"/callbacks", Json::array({Json{{"type", "csv"}}})},
    {"/plugins", Json{"/lib/libmine.so"}},
    {"/reuse_processes", true},
    {"/keep_paused", "8GB"},
    {"/num_workers", 2},
    {"/resources_per_worker", Json{{"cpu", 1}}},
    {"/placement", "spread"},
    {"/cluster/type", "none"},
    {"/cluster/hosts", {"oak", "elm"}},
    {"/cluster/launcher", "env"},
    {"/cluster/bind", "127.0.0.1"},
    {"/cluster/agent_lease_s", 60},
    {"/cluster/agent_jobs", 4},
    {"/cluster/time", "1:00:00"},
    {"/cluster/sbatch_options", {"--partition=gpu"}},
    {"/cluster/agent_idle_s", 60},
    {"/cluster/job_margin_s", 60},
    {"/remote/path", "s3:other"},
    {"/remote/checkpoints", "all"},
    {"/remote/keep_local", 3},
    {"/remote/bytes_per_s", 2048},
    {"/remote/flush_s", 7},
    {"/max_log_bytes", "5MB"},
    {"/min_free_bytes", 5},
    {"/snapshot_period_s", 5},
    {"/launch_timeout_s", 5},
    {"/trial_timeout_s", 5},
    {"/stop_grace_s", 5},
    {"/last_result_grace_s", 5},
    {"/trainable/plain/metrics", {"acc"}},
    {"/trainable/plain/working_directory", "/"},
    {"/trainable/plain/checkpoints", "c-*"},
    {"/trainable/plain/complete", "done"},
    {"/trainable/plain/resume", Json{"--resume", "${checkpoint}"}},
    {"/trainable/plain/save_signal", "SIGUSR1"},
    {"/trainable/plain/checkpoint_exit_code", 85},
    {"/trainable/plain/saved", "before_result"},
    {"/trainable/plain/typed", Json{{"lr", {"1e-1"}}}},
    {"/resume_from_checkpoint", "/"},
};

/// The pointers of what is wrong with `changed`, in a line.
std::string refused(const ExperimentSpec& recorded, const ExperimentSpec& changed) {
  std::string pointers;
  for (const auto& problem : refuse_changes(recorded, changed, small_catalogue())) {
    pointers += problem.pointer + " ";
  }
  return pointers;
}

}  // namespace

TEST_CASE("Every field of a spec has a rule about changing it, and no rule is without a field",
          "[spec][resume]") {
  std::vector<std::string> fields;
  for (const auto& [level, names] : spec_fields()) {
    for (const auto& name : names) {
      const std::string pointer = level + "/" + name;
      // An object whose fields have rules of their own, or none of ours.
      if (!spec_fields().contains(pointer) && name != "$schema") fields.push_back(pointer);
    }
  }
  std::vector<std::string> with_rules;
  for (const auto& rule : change_rules()) with_rules.emplace_back(rule.pointer);
  CHECK_THAT(with_rules, Catch::Matchers::UnorderedEquals(fields));
}

TEST_CASE("A field may change if its rule says so, and is refused by name if not",
          "[spec][resume]") {
  const ExperimentSpec driven = good({{"metric", "loss"},
                                      {"mode", "min"},
                                      {"num_workers", 1},
                                      {"cluster", {{"hosts", "pine"}}},
                                      {"resources_per_trial", {{"cpu", 1}}}});
  ExperimentSpec plain = driven;
  plain.plain = PlainProgram{};
  plain.command.emplace_back("${checkpoint_dir}");
  for (const auto& [pointer, refusal, while_running] : change_rules()) {
    INFO(pointer);
    const std::string field(pointer);
    REQUIRE(other_values.contains(field));
    const ExperimentSpec& recorded = field.starts_with("/trainable/plain/") ? plain : driven;
    Json json = to_json(recorded);
    json[Json::json_pointer(field)] = other_values.at(field);
    if (field == "/cluster/agent_jobs" || field == "/cluster/time") {
      json["cluster"].update({{"hosts", nullptr}, {"agent_jobs", 4}, {"time", "1:00:00"}});
    }
    if (field == "/trainable/preload") json["trainable"]["command"] = {"python3", "train.py"};
    if (field == "/failure_config/retry_on") json["failure_config"]["max_failures"] = 1;
    std::vector<Problem> problems;
    const ExperimentSpec changed = parse_recorded_spec(json, small_catalogue(), problems);
    REQUIRE(problems.empty());
    REQUIRE(to_json(changed) != to_json(recorded));
    CHECK(refused(recorded, changed) == (refusal.empty() ? "" : field + " "));
  }
}

TEST_CASE(
    "A started experiment does not become one of a plain program, nor does it cease to be one",
    "[spec][resume]") {
  const ExperimentSpec driven = good();
  ExperimentSpec plain = driven;
  plain.plain = PlainProgram{};
  CHECK(refused(driven, plain) == "/trainable/plain ");
  CHECK(refused(plain, driven) == "/trainable/plain ");
  ExperimentSpec with_words = driven;
  with_words.command.emplace_back("${args}");
  CHECK(refused(driven, with_words) == "/trainable/command ");
  CHECK(refused(with_words, with_words) == "");
}

TEST_CASE("What may change while a driver runs may change at a resume, and the rest is refused",
          "[spec][resume]") {
  const ExperimentSpec spec = good({{"metric", "loss"}, {"mode", "min"}});
  for (const auto& [pointer, refusal, while_running] : change_rules()) {
    INFO(pointer);
    const Json::json_pointer field{std::string(pointer)};
    const std::string top = field.parent_pointer().empty() ? field.back() : "";
    if (top.empty()) {
      CHECK_FALSE(while_running);
      continue;
    }
    std::vector<Problem> problems;
    const ExperimentSpec changed = change_while_running(
        spec, {{top, other_values.at(std::string(pointer))}}, small_catalogue(), problems);
    CHECK(problems.empty() == while_running);
    if (!while_running) continue;
    CHECK(refusal.empty());
    CHECK(to_json(changed).at(top) != to_json(spec).at(top));
  }
}

TEST_CASE("A change of a running experiment is refused by what is wrong with it",
          "[spec][resume]") {
  const auto sentence = [](const Json& fields) {
    std::vector<Problem> problems;
    (void)change_while_running(good(), fields, small_catalogue(), problems);
    std::string all;
    for (const auto& problem : problems) all += problem.pointer + ": " + problem.sentence + "; ";
    return all;
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(sentence({{"num_sampels", 3}}), Contains("did you mean 'num_samples'"));
  CHECK_THAT(sentence({{"num_samples", "many"}}), Contains("/num_samples: "));
  CHECK_THAT(sentence({{"stop", {{"time_total", 3}}}}), Contains("did you mean 'time_total_s'"));
  CHECK_THAT(sentence({{"seed", 3}}), Contains("the seed of a started experiment cannot change"));
  CHECK_THAT(sentence({{"resources", Json::object()}}), Contains("tune pause"));
  CHECK_THAT(sentence({{"checkpoint_config", Json::object()}}), Contains("tune pause"));
}

TEST_CASE("How long a policy's program has for an answer may change", "[spec][resume]") {
  ExperimentSpec recorded = good();
  recorded.scheduler = {{"type", "program"}, {"command", {"true"}}, {"timeout_s", 5}};
  ExperimentSpec changed = recorded;
  const auto may_not_change = [&] {
    const auto problems = refuse_changes(recorded, changed, small_catalogue());
    return std::any_of(problems.begin(), problems.end(), [](const Problem& problem) {
      return problem.sentence.find("cannot change") != std::string::npos;
    });
  };
  changed.scheduler["timeout_s"] = 60;
  CHECK_FALSE(may_not_change());
  changed.scheduler["command"] = {"false"};
  CHECK(may_not_change());
}

TEST_CASE("Checkpoints that were ranked by nothing may be ranked from now on", "[spec][resume]") {
  ExperimentSpec recorded = good({{"metric", "loss"}, {"mode", "min"}});
  const ExperimentSpec changed = recorded;
  recorded.checkpoint_config.checkpoint_score_attribute.reset();
  CHECK(refused(recorded, changed).empty());
  CHECK_FALSE(refused(changed, recorded).empty());
}

TEST_CASE("What auto has chosen stays, its options may not change", "[spec][resume]") {
  const ExperimentSpec recorded = good();
  REQUIRE(recorded.searcher["type"] == "random");
  ExperimentSpec given = recorded;
  given.searcher = {{"type", "tpe"}};
  given.searcher_reason.clear();  // asked for by its name
  keep_chosen_searcher(recorded, given);
  CHECK(refused(recorded, given) == "/searcher ");
  given.searcher_reason = "there are many trials to come";
  keep_chosen_searcher(recorded, given);
  CHECK(refused(recorded, given).empty());
  given.searcher["points_to_evaluate"] = Json::array({Json::object()});
  keep_chosen_searcher(recorded, given);
  CHECK(refused(recorded, given) == "/searcher ");
}

TEST_CASE("What has not changed is not refused", "[spec][resume]") {
  const ExperimentSpec recorded = good();
  CHECK(refused(recorded, recorded).empty());
}

TEST_CASE("The fields that differ are named", "[spec][resume]") {
  const ExperimentSpec recorded = good();
  CHECK(changed_fields(recorded, recorded).empty());
  ExperimentSpec changed = recorded;
  changed.num_samples = 5;
  changed.failure_config.max_failures = 1;
  CHECK(changed_fields(recorded, changed) == "failure_config, num_samples");
}

TEST_CASE("Changes are told with what was there before, and without values of the environment",
          "[spec][resume]") {
  const ExperimentSpec recorded = good();
  CHECK(sentence_of_changes(recorded, recorded).empty());
  ExperimentSpec changed = recorded;
  changed.num_samples = 5;
  changed.failure_config.max_failures = 1;
  changed.env["TOKEN"] = "secret";
  CHECK(sentence_of_changes(recorded, changed) ==
        "failure_config/max_failures is 1 now, was 0, num_samples is 5 now, was 1, "
        "trainable/env is another one now");
  ExperimentSpec plain = recorded;
  plain.plain.emplace();
  CHECK_THAT(sentence_of_changes(recorded, plain),
             Catch::Matchers::Contains("trainable/plain is ") &&
                 Catch::Matchers::Contains(" now, was null"));
}

TEST_CASE("A change is held against the rules of a spec", "[spec][resume]") {
  const ExperimentSpec recorded = good();
  ExperimentSpec changed = recorded;
  changed.num_samples = 0;
  CHECK(refused(recorded, changed) == "/num_samples ");
  changed = recorded;
  changed.resume_from_checkpoint = "/does/not/exist";
  CHECK(refused(recorded, changed) == "/resume_from_checkpoint ");
}

TEST_CASE("A recorded spec is taken as it is, whatever has become of its paths", "[spec][resume]") {
  Json json = to_json(good());
  json["resume_from_checkpoint"] = "/gone/checkpoint_000001";
  json["trainable"]["command"] = {"/gone/train", "spec_support.h"};
  std::vector<Problem> problems;
  const ExperimentSpec spec = parse_recorded_spec(json, small_catalogue(), problems);
  CHECK(problems.empty());
  CHECK(to_json(spec) == json);
  CHECK(refused(spec, spec).empty());
}
