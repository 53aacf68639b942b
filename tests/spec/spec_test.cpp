// The parser of the experiment spec: defaults, meanings, every problem with its place, and back to
// JSON. Knows no file but the examples.
#include "tuner/spec/spec.h"

#include <csignal>
#include <filesystem>
#include <set>

#include "tests/spec/spec_support.h"
#include "tests/support/catch.h"
#include "tuner/math/random.h"

using namespace tune;
using namespace tune::test;
using Catch::Matchers::Contains;

namespace fs = std::filesystem;

namespace {

const fs::path base = "/specs";

std::vector<Problem> problems_of(const Json& json, const fs::path& directory = base) {
  std::vector<Problem> problems;
  parse_spec(json, directory, small_catalogue(), problems);
  return problems;
}

std::string as_text(const std::vector<Problem>& problems) {
  std::string text;
  for (const Problem& problem : problems) text += problem.pointer + ": " + problem.sentence + "\n";
  return text;
}

ExperimentSpec good(const Json& json, const fs::path& directory = base) {
  std::vector<Problem> problems;
  ExperimentSpec spec = parse_spec(json, directory, small_catalogue(), problems);
  INFO(json.dump(2));
  CHECK(as_text(problems) == "");
  return spec;
}

}  // namespace

TEST_CASE("A spec of a command alone gets the documented defaults", "[spec][defaults]") {
  const ExperimentSpec spec = good(with(Json::object()));
  CHECK(spec.name == "experiment");
  CHECK(spec.storage_path == "results");
  CHECK(spec.command == std::vector<std::string>{"/specs/train"});
  CHECK(spec.env.empty());
  CHECK_FALSE(spec.merge_output);
  CHECK(spec.param_space == Json::object());
  CHECK(spec.objectives.empty());
  CHECK(spec.num_samples == 1);
  CHECK_FALSE(spec.max_concurrent_trials);
  CHECK(spec.resources_per_trial == Resources{{"cpu", 1}});
  CHECK(spec.resources.empty());
  CHECK_FALSE(spec.time_budget_s);
  CHECK(spec.stop.is_null());
  CHECK(spec.seed == 0);
  CHECK(spec.searcher == Json{{"type", "random"}});
  CHECK(spec.scheduler == Json{{"type", "fifo"}});
  CHECK_FALSE(spec.checkpoint_config.num_to_keep);
  CHECK_FALSE(spec.checkpoint_config.checkpoint_score_attribute);
  CHECK_FALSE(spec.checkpoint_config.checkpoint_score_order);
  CHECK(spec.checkpoint_config.checkpoint_frequency == 0);
  CHECK_FALSE(spec.checkpoint_config.checkpoint_at_end);
  CHECK(spec.failure_config.max_failures == 0);
  CHECK(spec.failure_config.fail_fast == FailFast::no);
  CHECK_FALSE(spec.failure_config.retry_on);
  CHECK(spec.failure_config.never_retry_on == std::vector<FailureRule>{{.name = "out_of_memory"}});
  CHECK(spec.callbacks.empty());
  CHECK_FALSE(spec.reuse_processes);
  CHECK(spec.min_free_bytes == 256u << 20);
  CHECK_FALSE(spec.checkpoint_config.max_checkpoint_bytes);
  CHECK_FALSE(spec.snapshot_period_s);
  CHECK(spec.launch_timeout_s == 60);
  CHECK_FALSE(spec.trial_timeout_s);
  CHECK(spec.stop_grace_s == 10);
  CHECK(spec.last_result_grace_s == 300);
  CHECK(spec.failure_config.max_failures_in_a_row == 8);
  CHECK(spec.resume_from_checkpoint.empty());
}

TEST_CASE("A spec with every field means what it says", "[spec][fields]") {
  const fs::path directory = source_directory() / "tests/spec/specs";
  const ExperimentSpec spec = good(read_json_file(directory / "complete.json"), directory);
  CHECK(spec.name == "digits-asha_1.0");
  CHECK(spec.storage_path == "runs");
  CHECK(spec.command == std::vector<std::string>{directory / "bin/digits", "--data", "mnist", ""});
  CHECK(spec.env == std::map<std::string, std::string>{{"EMPTY", ""}, {"OMP_NUM_THREADS", "1"}});
  CHECK(spec.merge_output);
  CHECK(spec.param_space.at("batch") == 64);
  CHECK(spec.objectives == std::vector{Objective{"accuracy", Mode::max}});
  CHECK(spec.constraints ==
        std::vector<std::string>{"batch * layers <= 200", "val.memory >= 10 - lr"});
  CHECK(spec.num_samples == 100);
  CHECK(spec.max_concurrent_trials == 4);
  CHECK(spec.resources_per_trial == Resources{{"cpu", 2}, {"gpu", 0.5}, {"license", 1}});
  CHECK(spec.resources == Resources{{"cpu", 8}, {"gpu", 2}, {"license", 4}});
  CHECK(spec.time_budget_s == 3600.0);
  CHECK(spec.stop.size() == 3);
  CHECK(spec.seed == 9007199254740993U);
  CHECK(spec.searcher.at("type") == "random");
  CHECK(spec.scheduler.at("max_t") == 50);
  CHECK(spec.checkpoint_config.num_to_keep == 2);
  CHECK(spec.checkpoint_config.checkpoint_score_attribute == "accuracy");
  CHECK(spec.checkpoint_config.checkpoint_score_order == Mode::min);
  CHECK(spec.checkpoint_config.checkpoint_frequency == 5);
  CHECK(spec.checkpoint_config.checkpoint_at_end);
  CHECK(spec.failure_config.max_failures == 3);
  CHECK(spec.failure_config.fail_fast == FailFast::no);
  CHECK(spec.failure_config.retry_on ==
        std::vector<FailureRule>{{.name = "lost_device"},
                                 {.exit_code = 75},
                                 {.signal = SIGBUS, .stderr_pattern = "^Bus"},
                                 {.signal = 34}});
  CHECK(spec.failure_config.never_retry_on ==
        std::vector<FailureRule>{{.stderr_pattern = "out of \\w+"}});
  CHECK(spec.callbacks ==
        std::vector<Json>{{{"type", "csv"}}, {{"type", "tensorboard"}, {"flush_s", 10}}});
  CHECK(spec.reuse_processes);
  CHECK(spec.max_log_bytes == 50'000'000u);
  CHECK(spec.remote.path == "s3:bucket/sweeps");
  CHECK(spec.remote.checkpoints == RemoteConfig::Checkpoints::best);
  CHECK(spec.remote.bytes_per_s == 10'000'000u);
  CHECK(spec.remote.flush_s == 60);
  CHECK(spec.min_free_bytes == std::uint64_t{3} << 29);
  CHECK(spec.checkpoint_config.max_checkpoint_bytes == 50'000'000'000u);
  CHECK(spec.snapshot_period_s == 30.0);
  CHECK(spec.launch_timeout_s == 120);
  CHECK(spec.trial_timeout_s == 600.0);
  CHECK(spec.stop_grace_s == 2.5);
  CHECK(spec.resume_from_checkpoint == directory);
}

TEST_CASE("A program with a slash starts at the spec's directory, a bare name stays",
          "[spec][fields]") {
  const auto program = [](const std::string& word) {
    return good({{"trainable", {{"command", Json::array({word})}}}}).command.at(0);
  };
  CHECK(program("./train") == "/specs/train");
  CHECK(program("bin/train") == "/specs/bin/train");
  CHECK(program("../train") == "/specs/../train");
  CHECK(program("/bin/train") == "/bin/train");
  CHECK(program("python3") == "python3");
}

TEST_CASE("Paths are absolute even if the spec's directory is not", "[spec][fields]") {
  const Json json = {{"trainable", {{"command", Json::array({"./train"})}}},
                     {"resume_from_checkpoint", "."}};
  const ExperimentSpec here = good(json, "");
  CHECK(here.command.at(0) == fs::current_path() / "train");
  CHECK(here.resume_from_checkpoint == fs::current_path());
}

TEST_CASE("A number of seconds may have units", "[spec]") {
  const auto budget_s = [](const std::string& text) {
    return good(with({{"time_budget_s", text}})).time_budget_s;
  };
  CHECK(budget_s("3d") == 259'200);
  CHECK(budget_s("72h") == 259'200);
  CHECK(budget_s("1d12h") == 129'600);
  CHECK(budget_s(" 1 h 30 min ") == 5'400);
  CHECK(budget_s("2m") == 120);
  CHECK(budget_s("0.5s") == 0.5);
  CHECK(budget_s("1w") == 604'800);
  for (const std::string none : {"", " ", "0s", "-1h", "1 year", "h", "72", "1h 30", "20000d"}) {
    CAPTURE(none);
    CHECK_THAT(as_text(problems_of(with({{"time_budget_s", none}}))),
               Contains("time_budget_s must be a positive number of seconds up to 1e9"));
  }
}

TEST_CASE("The whole range of seeds is kept exactly", "[spec][fields]") {
  CHECK(good(with(Json::parse(R"({"seed": 18446744073709551615})"))).seed == 18446744073709551615U);
  CHECK(good(with(Json::parse(R"({"seed": 1e3})"))).seed == 1000);
}

TEST_CASE("fail_fast is false, true or raise", "[spec][fields]") {
  const auto fail_fast = [](const Json& value) {
    return good(with({{"failure_config", {{"fail_fast", value}}}})).failure_config.fail_fast;
  };
  CHECK(fail_fast(false) == FailFast::no);
  CHECK(fail_fast(true) == FailFast::yes);
  CHECK(fail_fast("raise") == FailFast::raise);
}

TEST_CASE("Each bad spec gives its one problem with the exact place and sentence",
          "[spec][problems]") {
  const std::vector<BadSpec> table = bad_specs();
  CHECK(table.size() >= 60);
  for (const BadSpec& bad : table) {
    INFO(bad.spec.dump());
    CHECK(as_text(problems_of(bad.spec)) == as_text({{bad.pointer, bad.sentence}}));
  }
}

TEST_CASE("What is no object is no spec", "[spec][problems]") {
  CHECK(problems_of(Json::array()) ==
        std::vector<Problem>{{"", "the spec must be an object, got a list"}});
  CHECK(problems_of(nullptr) == std::vector<Problem>{{"", "the spec must be an object, got null"}});
}

TEST_CASE("A spec without a trainable says how one looks", "[spec][problems]") {
  CHECK(problems_of(Json::object()) ==
        std::vector<Problem>{{"/trainable",
                              "trainable must be an object like {\"command\": [\"./train\"]}, got "
                              "nothing"}});
}

TEST_CASE("All problems are found in one go", "[spec][problems]") {
  const Json json = {
      {"trainable", {{"command", "run it"}, {"env", {{"A", 1}}}}},
      {"nmae", "x"},
      {"name", "a b"},
      {"param_space", {{"lr", {{"uniform", {1, 0}}}}}},
      {"metric", "loss"},
      {"num_samples", 0},
      {"time_budget_s", -1},
      {"resources", {{"cpu", -1}}},
      {"resources_per_trial", {{"gpu", "all"}}},
      {"checkpoint_config", {{"num_to_keep", 0.5}, {"checkpoint_frequency", "often"}}},
      {"failure_config", {{"max_failures", 1}, {"fail_fast", true}}},
      {"searcher", "rnadom"},
      {"scheduler", {{"kind", "asha"}}},
      {"callbacks", Json::array({"csw"})},
  };
  std::set<std::string> pointers;
  for (const Problem& problem : problems_of(json)) pointers.insert(problem.pointer);
  CHECK(pointers ==
        std::set<std::string>{
            "/trainable/command", "/trainable/env/A", "/nmae", "/name", "/param_space/lr/uniform",
            "/mode", "/num_samples", "/time_budget_s", "/resources/cpu", "/resources_per_trial/gpu",
            "/checkpoint_config/num_to_keep", "/checkpoint_config/checkpoint_frequency",
            "/failure_config/fail_fast", "/searcher/type", "/scheduler/type", "/callbacks/0/type"});
}

TEST_CASE("A policy is not blamed for a broken param space", "[spec][problems]") {
  const Json json = with({{"param_space", {{"lr", {{"uniform", {1, 0}}}}}},
                          {"searcher", {{"type", "random"}, {"points_to_evaluate", {{{"lr", 1}}}}}},
                          {"scheduler", "asha"}});
  const auto problems = problems_of(json);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].pointer == "/param_space/lr/uniform");
}

TEST_CASE("A searcher's complaint about one of its points gets the whole pointer",
          "[spec][problems]") {
  const Json points = {{{"lr", 0.5}}, {{"lr", 2}}};
  const auto problems =
      problems_of(with({{"param_space", {{"lr", {{"uniform", {0, 1}}}}}},
                        {"searcher", {{"type", "random"}, {"points_to_evaluate", points}}}}));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].pointer == "/searcher/points_to_evaluate/1/lr");
}

TEST_CASE("Names of the user's are escaped in pointers and cut short in sentences",
          "[spec][problems]") {
  const std::string long_name(5000, 'x');
  const auto problems = problems_of(with({{"a/b~c\n", 1}, {long_name, 2}}));
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].pointer == "/a~1b~0c\n");
  CHECK(problems[0].sentence.rfind("unknown field 'a/b~c\\n', expected one of '$schema', ", 0) ==
        0);
  CHECK(problems[1].pointer == "/" + long_name);
  CHECK(problems[1].sentence.size() < 600);
}

TEST_CASE("A spec survives the way to JSON and back", "[spec][property]") {
  for (const fs::path& file : good_files()) {
    INFO(file);
    const Json json = to_json(good(read_json_file(file), file.parent_path()));
    CHECK(to_json(good(json, "/elsewhere")) == json);
  }
}

namespace {

/// A good spec with every field drawn, in the form that to_json gives.
Json draw_spec(Random& random) {
  const auto flip = [&random] { return random.below(2) == 0; };
  const auto maybe = [&flip](const Json& value) { return flip() ? value : Json(); };
  const auto pick = [&random](const std::vector<Json>& list) {
    return list[random.below(list.size())];
  };
  const auto seconds = [&random] { return 0.001 + random.uniform(0, 1000); };
  const Json metric = pick({nullptr, "loss", {"loss", "latency"}});
  const bool retries = flip();
  const auto rules = [&pick] {
    return pick({Json::array(), {"out_of_memory"}, {"lost_device", {{"stderr", "a|b"}}}});
  };
  const auto some = [&random] { return static_cast<std::int64_t>(random.below(1000)) + 1; };
  const bool is_ranked = flip();
  return {
      {"name", pick({"a", "A-1_2.3", std::string(100, 'z')})},
      {"storage_path", pick({"r", "/tmp/r", "a/b c"})},
      {"trainable",
       {{"command", pick({{"/x/train"}, {"python3", "-c", "print(1)", ""}})},
        {"env", pick({Json::object(), {{"A", "1"}, {"B", ""}}})},
        {"merge_output", flip()}}},
      {"param_space", pick({Json::object(), {{"a", {{"uniform", {0, 1}}}}, {"b", 3}}})},
      {"metric", metric},
      {"mode", metric.is_array()    ? pick({{"min", "max"}, {"max", "max"}})
               : metric.is_string() ? pick({"min", "max"})
                                    : Json()},
      {"constraints", pick({Json::array(), {"ms <= 3", "val.kb - b >= 2"}})},
      {"num_samples", flip() ? Json(-1) : Json(some())},
      {"max_concurrent_trials", maybe(some())},
      {"resources_per_trial", pick({{{"cpu", 0.5}}, {{"cpu", 2.0}, {"gpu", 3.0}, {"x", 0.25}}})},
      {"num_workers", is_ranked ? Json(2) : Json()},
      {"resources_per_worker", Json()},
      {"placement", pick({"pack", "spread"})},
      {"resources", pick({Json::object(), {{"cpu", 2.0}, {"gpu", 4.0}, {"x", 1.0}}})},
      {"time_budget_s", maybe(seconds())},
      {"stop", pick({nullptr,
                     Json::object(),
                     {{"a", 1}},
                     {{"metric", "b"}, {">", 2}},
                     Json::array({{{"a", 1}}, {{"type", "trial_plateau"}, {"metric", "c"}}})})},
      {"seed", flip() ? random.bits() : random.below(3)},
      {"searcher", {{"type", "random"}}},
      {"scheduler", {{"type", metric.is_null() ? "fifo" : "asha"}}},
      {"checkpoint_config",
       {{"num_to_keep", maybe(some() - 1)},
        {"checkpoint_score_attribute", metric.is_null() ? maybe("val/acc") : Json("val/acc")},
        {"checkpoint_score_order", pick({"min", "max"})},
        {"checkpoint_frequency", some() - 1},
        {"checkpoint_at_end", flip()},
        {"checkpoint_at_start", flip()},
        {"max_checkpoint_bytes", maybe(some() << 32)}}},
      {"max_log_bytes", maybe(some() << 20)},
      {"min_free_bytes", some() - 1},
      {"failure_config",
       {{"max_failures", retries ? some() : 0},
        {"max_failures_in_a_row", some()},
        {"fail_fast", retries ? Json(false) : pick({false, true, "raise"})},
        {"retry_on", retries ? maybe(rules()) : Json()},
        {"never_retry_on", rules()}}},
      {"cluster",
       {{"type", pick({Json(), "none", "slurm"})},
        {"hosts", pick({Json(), {"a", "ada@b"}})},
        {"launcher", {"env"}},
        {"bind", maybe("10.0.0.1")},
        {"agent_lease_s", 5.0},
        {"agent_jobs", nullptr},
        {"time", nullptr},
        {"sbatch_options", pick({Json(), {"--exclusive", "-pgpu"}})},
        {"agent_idle_s", seconds()},
        {"job_margin_s", seconds()}}},
      {"remote",
       {{"path", maybe("s3:bucket/sweeps")},
        {"checkpoints", "kept"},
        {"keep_local", Json()},
        {"bytes_per_s", Json()},
        {"flush_s", 300.0}}},
      {"callbacks", pick({Json::array(), Json::array({{{"type", "csv"}, {"flush_s", 2}}})})},
      {"plugins", pick({Json::array(), Json::array({"/lib/liba.so", "/b.so"})})},
      {"reuse_processes", flip()},
      {"keep_paused", pick({Json(), 0, 5, "8000B"})},
      {"snapshot_period_s", maybe(seconds())},
      {"launch_timeout_s", seconds()},
      {"trial_timeout_s", maybe(seconds())},
      {"stop_grace_s", seconds()},
      {"last_result_grace_s", seconds()},
      {"resume_from_checkpoint", maybe(fs::current_path().string())},
  };
}

}  // namespace

TEST_CASE(
    "Checkpoints are ranked by the metric that counts and by its mode, unless others are named",
    "[spec][checkpoints]") {
  const auto score = [](const Json& fields) {
    const CheckpointConfig config = good(with(fields)).checkpoint_config;
    return std::pair(config.checkpoint_score_attribute.value_or("none"),
                     config.checkpoint_score_order);
  };
  const Json metric = {{"metric", "val/loss"}, {"mode", "min"}};
  const auto with_metric = [&](const Json& config) {
    Json json = metric;
    json["checkpoint_config"] = config;
    return score(json);
  };
  CHECK(score(metric) == std::pair(std::string("val/loss"), std::optional(Mode::min)));
  CHECK(with_metric({{"num_to_keep", 1}, {"checkpoint_score_attribute", nullptr}}) ==
        score(metric));
  CHECK(with_metric({{"checkpoint_score_order", "max"}}) ==
        std::pair(std::string("val/loss"), std::optional(Mode::max)));
  CHECK(with_metric({{"checkpoint_score_attribute", "training_iteration"}}) ==
        std::pair(std::string("training_iteration"), std::optional(Mode::max)));
  CHECK(score({{"metric", {"a", "b"}}, {"mode", {"min", "max"}}}) ==
        std::pair(std::string("a"), std::optional(Mode::min)));
  CHECK(score(Json::object()) == std::pair(std::string("none"), std::optional<Mode>()));
  // An experiment from before has ranked by age, and goes on so.
  Json recorded = to_json(good(with(metric)));
  recorded["checkpoint_config"]["checkpoint_score_attribute"] = nullptr;
  std::vector<Problem> problems;
  CHECK_FALSE(parse_recorded_spec(recorded, small_catalogue(), problems)
                  .checkpoint_config.checkpoint_score_attribute);
}

TEST_CASE("Several metrics have a mode each, and a list of one is like its element",
          "[spec][unit]") {
  const ExperimentSpec two = good(with({{"metric", {"acc", "ms"}}, {"mode", {"max", "min"}}}));
  CHECK(two.objectives == std::vector<Objective>{{"acc", Mode::max}, {"ms", Mode::min}});
  const ExperimentSpec one = good(with({{"metric", Json::array({"acc"})}, {"mode", "max"}}));
  CHECK(to_json(one)["metric"] == "acc");
  CHECK(to_json(one)["mode"] == "max");
}

TEST_CASE("A constraint may stand in an object, and none at all is an empty list", "[spec][unit]") {
  const ExperimentSpec spec =
      good(with({{"param_space", {{"batch", 3}}},
                 {"constraints", {"batch <= 4", {{"constraint", "batch + ms >= 1"}}}}}));
  CHECK(spec.constraints == std::vector<std::string>{"batch <= 4", "batch + ms >= 1"});
  const auto constraints = constraints_of(spec);
  CHECK_FALSE(constraints[0].needs_metrics());
  CHECK(constraints[1].metrics() == std::vector<std::string>{"ms"});
  CHECK(good(with({{"constraints", nullptr}})).constraints.empty());
  CHECK(to_json(good(with(Json::object())))["constraints"] == Json::array());
}

TEST_CASE("to_json gives back every field that was given, for any spec", "[spec][property]") {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const Json json = draw_spec(random);
    CHECK(to_json(good(json)) == json);
  }
}
