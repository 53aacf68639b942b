// What a process is started with, and told first.
#include "tuner/run/trials/launch.h"

#include <algorithm>
#include <optional>

#include "tests/support/catch.h"

using namespace tune;

namespace {

using Names = std::vector<std::string>;

/// What the variable is set to; nothing: it stays as it is.
std::optional<std::string> variable(const LaunchSpec& launch, const std::string& name) {
  std::optional<std::string> value;
  for (const auto* variables : {&launch.environment, &launch.own_environment}) {
    for (const std::string& each : *variables) {
      if (each.starts_with(name + "=")) value = each.substr(name.size() + 1);
    }
  }
  return value;
}

struct Launching {
  ExperimentSpec spec;
  LaunchContext context{.experiment_dir = "/runs/exp", .session_mark = "mark"};
  Allocation allocation{.amounts = {{"cpu", 2.5}}, .nodes = {NodeAllocation{}}};
  LaunchSpec launch() const {
    return launch_spec(spec, context, TrialId{7}, 3, allocation, "/runs/exp/trial_00007/work");
  }
};

}  // namespace

TEST_CASE("A process is started where its trial works, and knows whose it is", "[launch]") {
  Launching of;
  of.spec.name = "exp";
  of.spec.command = {"python3", "train.py"};
  of.spec.env = {{"MINE", "a=b"}};
  const LaunchSpec launch = of.launch();
  CHECK(launch.argv == of.spec.command);
  CHECK(launch.directory == "/runs/exp/trial_00007/work");
  CHECK(variable(launch, "MINE") == "a=b");
  CHECK(variable(launch, "TUNE_EXPERIMENT") == "exp");
  CHECK(variable(launch, "TUNE_EXPERIMENT_DIR") == "/runs/exp");
  CHECK(variable(launch, "TUNE_TRIAL_ID") == "trial_00007");
  CHECK(variable(launch, "TUNE_TRIAL_DIR") == "/runs/exp/trial_00007/work");
  CHECK(variable(launch, "TUNE_ATTEMPT") == "3");
  CHECK(variable(launch, "TUNE_SESSION") == "mark");
  CHECK(variable(launch, "TUNE_RESOURCES") == R"({"cpu":2.5})");
}

TEST_CASE("Output goes into one log, or two", "[launch]") {
  Launching of;
  const LaunchSpec apart = of.launch();
  CHECK(apart.stdout_path.parent_path() == "/runs/exp/trial_00007");
  CHECK(apart.stdout_path != apart.stderr_path);
  of.spec.merge_output = true;
  CHECK(of.launch().stdout_path == apart.stdout_path);
  CHECK(of.launch().stderr_path == apart.stdout_path);
}

TEST_CASE("A trial is told as many threads as it has cpus, unless the user has said how many",
          "[launch]") {
  Launching of;
  CHECK_FALSE(variable(of.launch(), "OMP_NUM_THREADS"));
  of.context.sets_threads = true;
  CHECK(variable(of.launch(), "OMP_NUM_THREADS") == "2");
  of.allocation.amounts["cpu"] = 0.5;
  CHECK(variable(of.launch(), "OMP_NUM_THREADS") == "1");
  of.allocation.amounts.clear();
  CHECK_FALSE(variable(of.launch(), "OMP_NUM_THREADS"));
  of.allocation.amounts["cpu"] = 4;
  of.spec.env = {{"OMP_NUM_THREADS", "8"}};
  CHECK(variable(of.launch(), "OMP_NUM_THREADS") == "8");
}

TEST_CASE("A trial sees its own gpus alone, by the names that the machine has for them",
          "[launch]") {
  Launching of;
  of.allocation.nodes.front().gpus = {0, 2};
  // Of a machine without any, the variable stays as the user has it.
  CHECK_FALSE(variable(of.launch(), "CUDA_VISIBLE_DEVICES"));
  of.context.gpu_names = {"4", "5", "GPU-6"};
  CHECK(variable(of.launch(), "CUDA_VISIBLE_DEVICES") == "4,GPU-6");
  CHECK(start_message(of.context, {}, of.allocation, of.launch(), "").devices ==
        Names{"4", "GPU-6"});
  of.allocation.nodes.front().gpus = {};
  CHECK(variable(of.launch(), "CUDA_VISIBLE_DEVICES") == "");
}

TEST_CASE("Launches differ in what each has alone, and in what the user lets differ", "[launch]") {
  Launching of;
  of.context.gpu_names = {"0", "1"};
  of.context.sets_threads = true;
  of.spec.workers = TrialWorkers{.count = 2, .each = {}};
  const auto launched = [&](TrialId trial, int attempt, int gpu) {
    of.allocation.nodes.front() = {.workers = 2, .amounts = {}, .gpus = {gpu}};
    return launch_specs(of.spec, of.context, trial, attempt, of.allocation,
                        "/runs/exp/" + to_string(trial));
  };
  auto all = launched(TrialId{7}, 3, 0);
  for (LaunchSpec& launch : launched(TrialId{8}, 1, 1)) all.push_back(std::move(launch));
  REQUIRE(all.size() == 4);
  for (const LaunchSpec& launch : all) CHECK(launch.environment == all.front().environment);
  CHECK(variable(all[1], "RANK") == "1");
  CHECK(variable(all[2], "CUDA_VISIBLE_DEVICES") == "1");
  // What the user has said is read by whatever is loaded, and is not the rank's.
  of.spec.env = {{"RANK", "5"}};
  for (const LaunchSpec& launch : launched(TrialId{7}, 3, 0)) {
    CHECK(variable(launch, "RANK") == "5");
    CHECK(std::count(launch.environment.begin(), launch.environment.end(), "RANK=5") == 1);
  }
  of.spec.env = {};
  of.allocation.amounts["cpu"] = 8;
  CHECK(launched(TrialId{9}, 1, 0).front().environment != all.front().environment);
}

TEST_CASE("Workers on several nodes are told where they are among them, and where rank 0 is",
          "[launch]") {
  Launching of;
  of.context.add_node({"oak", {{"gpu", 2}}, {"GPU-a", "GPU-b"}, "10.0.0.1"});
  of.context.add_node({"elm", {{"gpu", 1}}, {"GPU-c"}, "10.0.0.2"});
  of.spec.workers = TrialWorkers{.count = 3, .each = {}};
  of.allocation = {.amounts = {{"gpu", 3}},
                   .nodes = {{1, 1, {{"gpu", 1}}, {2}}, {0, 2, {{"gpu", 2}}, {0, 1}}}};
  const auto all = launch_specs(of.spec, of.context, TrialId{7}, 1, of.allocation, "/work");
  REQUIRE(all.size() == 3);
  const auto told = [&](const std::string& name) {
    return Names{*variable(all[0], name), *variable(all[1], name), *variable(all[2], name)};
  };
  CHECK(told("RANK") == Names{"0", "1", "2"});
  CHECK(told("WORLD_SIZE") == Names{"3", "3", "3"});
  CHECK(told("LOCAL_RANK") == Names{"0", "0", "1"});
  CHECK(told("LOCAL_WORLD_SIZE") == Names{"1", "2", "2"});
  CHECK(told("NODE_RANK") == Names{"0", "1", "1"});
  CHECK(told("MASTER_ADDR") == Names{"10.0.0.2", "10.0.0.2", "10.0.0.2"});
  CHECK(told("CUDA_VISIBLE_DEVICES") == Names{"GPU-c", "GPU-a,GPU-b", "GPU-a,GPU-b"});
  CHECK(all[2].rank->devices == Names{"GPU-b"});
  CHECK(all[2].node == 0);
  CHECK(of.context.node_names(of.allocation) == "elm,oak");
}

TEST_CASE("A plain program's env wins over what a launch has alone", "[launch]") {
  Launching of;
  of.spec.command = {"train"};
  of.spec.env = {{"CUDA_VISIBLE_DEVICES", "9"}};
  of.spec.plain = PlainProgram{};
  of.spec.objectives = {{"loss", Mode::min}};
  of.context.gpu_names = {"0"};
  of.allocation.nodes.front().gpus = {0};
  LaunchSpec launch = of.launch();
  Trial trial;
  trial.config = InternedJson("{}");
  make_plain(launch, of.spec, trial);
  CHECK(variable(launch, "CUDA_VISIBLE_DEVICES") == "9");
}

TEST_CASE("A process is told its trial's config and what it goes on from", "[launch]") {
  Launching of;
  Trial trial;
  trial.id = TrialId{7};
  trial.attempt = 3;
  trial.iteration = 12;
  trial.config = R"({"x":1})";
  const LaunchSpec launch = of.launch();
  auto start = start_message(of.context, trial, of.allocation, launch, "");
  CHECK_FALSE(start.reset);
  CHECK(start.trial_id == "trial_00007");
  CHECK(start.trial_dir == launch.directory);
  CHECK(start.attempt == 3);
  CHECK(start.iteration == 12);
  CHECK(start.config == Json{{"x", 1}});
  CHECK(start.resources == Json{{"cpu", 2.5}});
  CHECK(start.stdout_log == launch.stdout_path);
  CHECK(start.stderr_log == launch.stderr_path);
  CHECK_FALSE(start.checkpoint);
  trial.start_checkpoint = std::string("/elsewhere");
  start = start_message(of.context, trial, of.allocation, launch, "");
  CHECK(start.checkpoint == "/elsewhere");
  start = start_message(of.context, trial, of.allocation, launch, "/own");
  CHECK(start.checkpoint == "/own");
}

TEST_CASE("A plain program gets its config by words, and what is printed is read", "[launch]") {
  Launching of;
  of.spec.command = {"python3", "train.py", "${args}", "--out=${trial_dir}"};
  of.spec.env = {{"LR", "${config.lr}"}, {"GONE", "${config.nothing}"}};
  of.spec.plain = PlainProgram{.metrics = {{"acc", "A (.*)"}}, .directory = "/home/ada"};
  of.spec.objectives = {{"loss", Mode::min}};
  of.spec.stop = {{"acc", 1}, {"speed", 2}, {"training_iteration", 3}};
  of.spec.constraints = {"ms <= 20", "ms >= loss"};
  LaunchSpec launch = of.launch();
  Trial trial;
  trial.id = TrialId{7};
  trial.config = InternedJson(R"({"lr":0.5})");
  make_plain(launch, of.spec, trial);
  CHECK_FALSE(launch.plain->checkpoints);
  CHECK(launch.argv ==
        Names{"python3", "train.py", "--lr=0.5", "--out=/runs/exp/trial_00007/work"});
  CHECK(variable(launch, "LR") == "0.5");
  CHECK_FALSE(variable(launch, "GONE"));
  CHECK(variable(launch, "PYTHONUNBUFFERED") == "1");
  CHECK_FALSE(variable(launch, protocol::env_socket_fd));
  CHECK(variable(launch, protocol::env_trial_id) == "trial_00007");
  CHECK(launch.directory == "/home/ada");
  REQUIRE(launch.plain);
  CHECK(launch.plain->closing == Names{"loss", "ms"});
  CHECK(launch.plain->metrics ==
        std::vector<PlainMetric>{{"acc", "A (.*)"}, {"loss", ""}, {"ms", ""}, {"speed", ""}});
}

TEST_CASE("A plain program is told where it saves, and what it goes on from", "[launch]") {
  Launching of;
  of.spec.command = {"train", "--out=${checkpoint_dir}", "${checkpoint}"};
  of.spec.plain = PlainProgram{
      .metrics = {{"acc", ""}},
      .checkpoints = PlainCheckpoints{.pattern = "c-*", .resume = {"--resume", "${checkpoint}"}}};
  Trial trial;
  trial.config = InternedJson("{}");
  PlainSource source{.root = "/work/checkpoints"};
  LaunchSpec launch = of.launch();
  make_plain(launch, of.spec, trial, source);
  CHECK(launch.argv == Names{"train", "--out=/work/checkpoints"});
  REQUIRE(launch.plain->checkpoints);
  CHECK(launch.plain->checkpoints->root == "/work/checkpoints");
  CHECK(launch.plain->checkpoints->pattern == "c-*");
  source.checkpoint = "/work/checkpoints/c-7";
  launch = of.launch();
  make_plain(launch, of.spec, trial, source);
  CHECK(launch.argv == Names{"train", "--out=/work/checkpoints", "/work/checkpoints/c-7",
                             "--resume", "/work/checkpoints/c-7"});
}
