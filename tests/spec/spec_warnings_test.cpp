// What is said of specs that are right but hardly meant.
#include "tuner/spec/spec_warnings.h"

#include <cstdint>
#include <limits>

#include "tests/spec/spec_support.h"
#include "tests/support/catch.h"

using namespace tune;
using namespace tune::test;

namespace {

std::vector<Problem> warnings(const Json& fields) {
  std::vector<Problem> problems;
  const ExperimentSpec spec = parse_spec(with(fields), "/specs", small_catalogue(), problems);
  REQUIRE(problems.empty());
  return warnings_about(spec);
}

/// The pointers, in a line.
std::string places(const Json& fields) {
  std::string all;
  for (const auto& doubt : warnings(fields)) all += doubt.pointer + " ";
  return all;
}

/// What is to be written instead of the hyperparameter `x`; empty if there is no doubt.
std::string meant(const Json& x) {
  const auto said = warnings({{"param_space", {{"x", x}, {"y", {{"uniform", {0, 1}}}}}}});
  if (said.empty()) return "";
  CHECK(said[0].pointer == "/param_space/x");
  const std::string& sentence = said[0].sentence;
  return sentence.substr(sentence.find("write ") + 6);
}

}  // namespace

TEST_CASE(
    "A hyperparameter that no word gives to a plain program is said, and that none is an error",
    "[plain]") {
  const Json drawn = {{"uniform", {0, 1}}};
  const Json space = {{"lr", drawn}, {"opt", {{"wd", drawn}, {"name", "sgd"}}}, {"_base", drawn}};
  const auto spec = [&](const Json& words, const Json& params) {
    Json command = {"true"};
    command.insert(command.end(), words.begin(), words.end());
    return Json{{"trainable", {{"command", command}, {"plain", Json::object()}}},
                {"param_space", params},
                {"metric", "loss"},
                {"mode", "min"}};
  };
  const auto said = [&](const Json& words, const Json& params) {
    return places(spec(words, params));
  };
  CHECK(said({"${args}"}, space) == "");
  CHECK(said({"--file=${args_json_file}"}, space) == "");
  CHECK(said({"${config.lr}"}, space) == "/param_space/opt/name /param_space/opt/wd ");
  CHECK(said({"${config.lr}", "${config.opt}"}, space) == "");
  CHECK(said({"${config.lr}", "${config.opt.wd}"}, space) == "/param_space/opt/name ");
  // What an expression is calculated from reaches it, too.
  const Json formula = {{"lr", drawn}, {"half", {{"expr", "lr / 2"}}}, {"clr", drawn}};
  CHECK(said({"${config.half}"}, formula) == "/param_space/clr ");
  std::vector<Problem> problems;
  const Json fixed = {{"lr", drawn}, {"layers", 2}};
  (void)parse_spec(with(spec({"${config.layers}"}, fixed)), "/specs", small_catalogue(), problems);
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().pointer == "/trainable/command");
  CHECK(problems.front().sentence.find("${config.lr}") != std::string::npos);
}

TEST_CASE("Equal values of a grid, and numbers that only a program tells apart, are said",
          "[spec][warnings]") {
  const auto sentence = [](const Json& domain) {
    const auto said = warnings({{"param_space", {{"a", domain}}}});
    return said.empty() ? "" : said[0].pointer + ": " + said[0].sentence;
  };
  CHECK(sentence({{"grid_search", {0.1, 0.10, 1e-1, 2}}}) ==
        "/param_space/a: 0.1 is in the grid 3 times, and each time a trial of its own: write it "
        "once, or set num_samples to try each point several times");
  CHECK(sentence({{"grid_search", {0.0, -0.0}}}).find("0.0 is in the grid 2 times") !=
        std::string::npos);
  for (const char* const kind : {"choice", "grid_search"}) {
    CHECK(sentence({{kind, {1, 1.0, 3}}}) ==
          "/param_space/a: 1 and 1.0 are two values here, since a program may tell them apart: if "
          "they are one to yours, write one of them");
  }
  CHECK(sentence({{"choice", {"a", "a", "b", 1, 2.0}}}).empty());
  CHECK(sentence({{"grid_search", {"1", 1, true, 0.1}}}).empty());
}

TEST_CASE("Domains as other tools write them are answered with ours", "[spec][warnings]") {
  CHECK(meant({{"distribution", "uniform"}, {"min", 0}, {"max", 1}}) == R"({"uniform":[0,1]})");
  CHECK(meant({{"distribution", "int_uniform"}, {"min", 0}, {"max", 8}}) == R"({"randint":[0,9]})");
  CHECK(
      meant({{"distribution", "q_uniform"}, {"min", 0}, {"max", 1}, {"q", 0.1}}) ==
      R"({"quniform":[0,1,0.1]}; in W&B a bound is rounded to from one side alone, here it has a )"
      "whole step's share");
  CHECK(meant({{"distribution", "log_uniform"}, {"min", -2}, {"max", 0}}) ==
        R"({"loguniform":[0.1353352832366127,1.0]})");
  CHECK(meant({{"_type", "uniform"}, {"_value", {0, 1}}}) == R"({"uniform":[0,1]})");
  CHECK(meant({{"_type", "randint"}, {"_value", {0, 5}}}) == R"({"randint":[0,5]})");
  CHECK(meant({{"min", 0}, {"max", 1}, {"distribution", "log_uniform_values"}}) ==
        R"({"uniform":["LOWER","UPPER"]})");
  CHECK(meant({{"min", 0.5}, {"max", 2}}) == R"({"uniform":[0.5,2]})");
  CHECK(meant({{"min", 1}, {"max", 8}}) == R"({"randint":[1,9]})");
  CHECK(meant({{"min", 1e-4}, {"max", 0.1}, {"distribution", "log_uniform_values"}}) ==
        R"({"loguniform":[0.0001,0.1]})");
  CHECK(meant({{"type", "float"}, {"low", 1e-5}, {"high", 0.1}, {"log", true}}) ==
        R"({"loguniform":[1e-05,0.1]})");
  CHECK(warnings({{"param_space", {{"lr", {{"log_uniform_values", {{"min", 1}, {"max", 2}}}}}}}})[0]
            .sentence.find(R"({"loguniform":[1,2]})") != std::string::npos);
  CHECK(meant({{"low", 1}, {"high", 3}, {"log", false}}) == R"({"randint":[1,4]})");
  CHECK(meant({{"values", {1, 2}}}) == R"({"choice":[1,2]})");
  CHECK(meant({{"values", {"a", "b"}}, {"distribution", "categorical"}}) ==
        R"({"choice":["a","b"]})");
  CHECK(meant({{"_type", "choice"}, {"_value", {1, 2}}}) == R"({"choice":[1,2]})");
  CHECK(meant({{"_type", "loguniform"}, {"_value", {0.1, 2}}}) == R"({"loguniform":[0.1,2]})");
  CHECK(meant({{"_type", "uniform"}, {"_value", {"a", "b"}}}) == R"({"choice":["a","b"]})");
  CHECK(meant({{"min", 0}, {"max", std::numeric_limits<std::int64_t>::max()}}) ==
        R"({"uniform":[0,9223372036854775807]})");
}

TEST_CASE("A metric that is a hyperparameter is doubted", "[spec][warnings]") {
  const auto doubts_of = [](const Json& metric, const Json& space) {
    std::string all;
    const Json mode = metric.is_array() ? Json{"min", "min"} : Json("min");
    for (const auto& doubt :
         warnings({{"metric", metric}, {"mode", mode}, {"param_space", space}})) {
      all += doubt.pointer + ": " + doubt.sentence;
    }
    return all;
  };
  const Json rate = {{"loguniform", {1e-4, 0.1}}};
  const std::string doubt =
      "/metric: 'lr' is a hyperparameter, which the search itself sets: give a metric that comes "
      "of the training";
  CHECK(doubts_of("lr", {{"lr", rate}}) == doubt);
  CHECK(doubts_of({"loss", "lr"}, {{"lr", rate}}) == doubt);
  CHECK(doubts_of("loss", {{"lr", rate}}).empty());
  CHECK(doubts_of("lr", {{"optim", {{"lr", rate}}}}).empty());
  CHECK(doubts_of("lr", {{"lr", 0.1}, {"x", rate}}).empty());
}

TEST_CASE("A launcher of ranks under num_workers is doubted", "[spec][warnings]") {
  const auto found = warnings({{"param_space", {{"lr", {{"uniform", {0, 1}}}}}},
                               {"num_workers", 2},
                               {"trainable", {{"command", {"/bin/torchrun", "train.py"}}}}});
  REQUIRE(found.size() == 1);
  CHECK(found[0].sentence ==
        "each of the 2 workers would run torchrun, which starts several itself: give the command "
        "that torchrun is given, without torchrun");
}

TEST_CASE("Domains that are written as calls are answered with ours", "[spec][warnings]") {
  CHECK(meant("uniform(0, 1)") == R"({"uniform":[0,1]})");
  CHECK(meant("tune.loguniform(1e-4, 0.1)") == R"({"loguniform":[0.0001,0.1]})");
  CHECK(meant(R"(choice(["a", "b"]))") == R"({"choice":["a","b"]})");
  CHECK(meant("${lr}") == "the value, or a domain");
  for (const char* const text :
       {"adam", "relu()", "max(0, 1)", "uniform(0)", "$HOME/data", "f(x)"}) {
    INFO(text);
    CHECK(meant(text) == "");
  }
}

TEST_CASE("Plain values that look a little like domains are left alone", "[spec][warnings]") {
  CHECK(meant({{"min", 0}, {"max", 1}, {"unit", "s"}}) == "");
  CHECK(meant({{"min", "a"}, {"max", "b"}}) == "");
  CHECK(meant({{"low", 1}}) == "");
  CHECK(meant({{"value", {{"min", 0}, {"max", 1}}}}) == "");
  CHECK(meant({{"values", 3}}) == "");
  CHECK(meant({{"choice", {{{"min", 0}, {"max", 1}}, 2}}}) == "");
  CHECK(meant({1, 2}) == "");
}

TEST_CASE("Arguments that no program takes are doubted: a flag with a value, a name with hyphens",
          "[spec][warnings]") {
  const auto said = [](const Json& space, const char* word) {
    return places({{"param_space", space},
                   {"metric", "loss"},
                   {"mode", "min"},
                   {"trainable", {{"command", {"/bin/train", word}}, {"plain", Json::object()}}}});
  };
  const Json flag = {{"choice", {true, false}}};
  CHECK(said({{"amp", flag}}, "${args}") == "/param_space/amp ");
  CHECK(said({{"amp", {{"grid_search", {false, true}}}}}, "${args_no_equals}") ==
        "/param_space/amp ");
  CHECK(said({{"amp", true}, {"bn", flag}}, "${args}") == "/param_space/amp ");
  CHECK(said({{"amp", flag}}, "${args_no_boolean_flags}") == "");
  CHECK(said({{"amp", flag}}, "${args_boolean_optional}") == "");
  CHECK(said({{"amp", flag}}, "${args_no_hyphens}") == "");
  CHECK(said({{"amp", flag}}, "${args_json}") == "");
  CHECK(said({{"amp", {{"choice", {"true", "false"}}}}}, "${args}") == "");
  const Json words = {{"choice", {"True", "False"}}};
  CHECK(said({{"amp", words}}, "${args}") == "/param_space/amp ");
  CHECK(said({{"amp", words}}, "${args_no_boolean_flags}") == "/param_space/amp ");
  CHECK(said({{"amp", {{"choice", {"True", "auto"}}}}}, "${args}") == "");
  CHECK(said({{"--lr", {{"uniform", {0, 1}}}}}, "${args}") == "/param_space/--lr ");
  CHECK(said({{"--lr", {{"uniform", {0, 1}}}}}, "${args_no_hyphens}") == "");
  CHECK(places({{"param_space", {{"amp", flag}}}}) == "");
}

TEST_CASE("To go on from all of the directory is doubted, as most programs go on from a file",
          "[spec][warnings]") {
  const auto said = [](const Json& plain, const char* value) {
    return places({{"param_space", {{"lr", {{"uniform", {0, 1}}}}}},
                   {"metric", "loss"},
                   {"mode", "min"},
                   {"trainable",
                    {{"command", {"/bin/train", "--out=${checkpoint_dir}", "--resume", value}},
                     {"plain", plain}}}});
  };
  CHECK(said(Json::object(), "${checkpoint}") == "/trainable/command ");
  CHECK(said({{"resume", {"--from=${checkpoint}"}}}, "auto") == "/trainable/plain/resume ");
  CHECK(said({{"checkpoints", "last.pt"}}, "${checkpoint}") == "");
  CHECK(said(Json::object(), "${checkpoint_dir}/last.pt") == "");
}

TEST_CASE("A space that draws nothing is doubted where several trials are wanted",
          "[spec][warnings]") {
  const auto said = [](const Json& space, int samples) {
    return places({{"param_space", space}, {"num_samples", samples}});
  };
  CHECK(said({{"lr", 0.1}}, 10) == "/param_space ");
  CHECK(said({{"lr", 0.1}}, -1) == "/param_space ");
  CHECK(said({{"lr", 0.1}}, 1) == "");
  CHECK(said({{"lr", {{"grid_search", {1, 2}}}}}, 10) == "");
  CHECK(said({{"lr", {{"uniform", {0, 1}}}}}, 10) == "");
}

TEST_CASE("A bound that ends a trial when it is bad is doubted", "[spec][warnings]") {
  const auto said = [](const char* mode, const Json& stop) {
    return places({{"metric", "loss"}, {"mode", mode}, {"stop", stop}});
  };
  CHECK(said("min", {{"loss", 0.1}}) == "/stop/loss ");
  CHECK(said("min", Json::array({{{"training_iteration", 3}}, {{"loss", 0.1}}})) ==
        "/stop/1/loss ");
  CHECK(said("max", {{"loss", 0.1}}) == "");
  CHECK(said("min", {{"other", 0.1}, {"training_iteration", 3}}) == "");
  // Whoever writes a comparison means it: a loss that explodes.
  CHECK(said("min", {{"metric", "loss"}, {">", 100}}) == "");
  CHECK(said("min", {{"metric", "training_iteration"}, {"<=", 20}}) == "/stop ");
  CHECK(said("min", {{"metric", "time_total_s"}, {">=", 20}}) == "");
  CHECK(said("max", {{"training_iteration>", 3}}) == "/stop/training_iteration> ");
}

TEST_CASE("An order of checkpoints against the mode is doubted", "[spec][warnings]") {
  const auto said = [](const Json& checkpoints) {
    return places({{"metric", "loss"}, {"mode", "min"}, {"checkpoint_config", checkpoints}});
  };
  const std::string place = "/checkpoint_config/checkpoint_score_order ";
  CHECK(said({{"checkpoint_score_order", "max"}}) == place);
  CHECK(said({{"checkpoint_score_attribute", "loss"}, {"checkpoint_score_order", "max"}}) == place);
  CHECK(said({{"checkpoint_score_attribute", "acc"}, {"checkpoint_score_order", "max"}}) == "");
  CHECK(said({{"checkpoint_score_order", "min"}}) == "");
  CHECK(said({{"num_to_keep", 3}}) == "");
}

TEST_CASE("Names of hyperparameters are not taken for a domain of another tool",
          "[spec][warnings]") {
  CHECK(places({{"param_space", {{"mu", {{"uniform", {0, 1}}}}, {"sigma", 3}}}}) == "");
  CHECK(places({{"param_space", {{"min", 1}, {"max", {{"uniform", {0, 1}}}}}}}) == "");
  CHECK(places({{"param_space", {{"beta", {{"uniform", {0, 1}}}}}}}) == "");
}

TEST_CASE("A variable that the program is to get and that is not set is doubted",
          "[spec][warnings]") {
  const auto said = [](const char* word) {
    return places({{"trainable", {{"command", {"a", word}}, {"plain", Json::object()}}},
                   {"metric", "loss"},
                   {"mode", "min"}});
  };
  CHECK(said("--x=${envvar:TUNE_NO_SUCH}") == "/trainable/command/1 ");
  CHECK(said("$${envvar:TUNE_NO_SUCH}") == "");
  CHECK(said("${envvar:PATH}") == "");
}

TEST_CASE("A scheduler or a stopper against the mode of the metric is doubted",
          "[spec][warnings]") {
  const auto said = [](const Json& stop) {
    return places({{"metric", "loss"}, {"mode", "min"}, {"stop", stop}});
  };
  const Json plateau = {{"type", "experiment_plateau"}, {"mode", "max"}};
  const Json of_other = {{"type", "experiment_plateau"}, {"mode", "max"}, {"metric", "acc"}};
  CHECK(said(plateau) == "/stop/mode ");
  CHECK(said(Json::array({of_other, plateau})) == "/stop/1/mode ");
  CHECK(said({{"type", "experiment_plateau"}, {"mode", "min"}}) == "");
}

TEST_CASE("What stop rules and the score of checkpoints go by is awaited, what is there is not",
          "[spec][warnings]") {
  const auto awaited = [](const Json& fields) {
    std::vector<Problem> problems;
    std::vector<std::string> names;
    for (const AwaitedMetric& each :
         metrics_awaited(parse_spec(with(fields), "/specs", small_catalogue(), problems))) {
      names.push_back(each.name + " by " + each.by);
    }
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(awaited(Json::object()).empty());
  CHECK(awaited({{"stop", {{"training_iteration", 3}, {"time_total_s", 5}, {"acc", 1}}}}) ==
        Names{"acc by a stop rule"});
  CHECK(awaited({{"metric", "acc"},
                 {"mode", "max"},
                 {"stop", Json::array({{{"acc", 1}},
                                       {{"metric", "val/loss"}, {"<", 1}},
                                       {{"type", "trial_plateau"}, {"metric", "p"}}})},
                 {"checkpoint_config", {{"checkpoint_score_attribute", "score"}}}}) ==
        Names{"p by a stop rule", "score by the score of checkpoints", "val/loss by a stop rule"});
  CHECK(awaited({{"metric", "acc"},
                 {"mode", "max"},
                 {"stop", {{"n", 1}}},
                 {"checkpoint_config", {{"checkpoint_score_attribute", "n"}}}}) ==
        Names{"n by a stop rule and the score of checkpoints"});
  CHECK(
      awaited({{"metric", "acc"},
               {"mode", "max"},
               {"constraints", {"train_loss <= 1", "val.ms <= 20 * acc", "time_total_s <= 9"}}}) ==
      Names{"train_loss by a constraint", "val/ms by a constraint"});
}

TEST_CASE("A scheduler that counts in seconds unless it is told otherwise is named",
          "[spec][warnings]") {
  const auto of = [](const Json& scheduler) {
    ExperimentSpec spec;
    spec.num_samples = 1;
    spec.scheduler = scheduler;
    std::string all;
    for (const auto& doubt : warnings_about(spec)) all += doubt.pointer + " " + doubt.sentence;
    return all;
  };
  CHECK(of({{"type", "pbt"}}) ==
        "/scheduler pbt looks at a trial after each 60 s of its training: one that trains for less "
        "is never changed; give perturbation_interval, in seconds, or in iterations with "
        "\"time_attr\": \"training_iteration\"");
  CHECK(of({{"type", "median_stopping"}}).find("in the first 60 s") != std::string::npos);
  CHECK(of({{"type", "pb2"}}) != "");
  CHECK(of({{"type", "pb2"}, {"time_attr", "training_iteration"}}) == "");
  CHECK(of({{"type", "pbt"}, {"perturbation_interval", 60}}) == "");
  CHECK(of({{"type", "median_stopping"}, {"grace_period", 60}}) == "");
  CHECK(of({{"type", "asha"}}) == "");
}

TEST_CASE("An option that the command has, and each config gives once more, is doubted",
          "[plain]") {
  const auto said = [](const std::vector<std::string>& command) {
    ExperimentSpec spec;
    spec.command = command;
    spec.plain.emplace();
    spec.param_space = {{"layers", {{"choice", {1, 2}}}}};
    std::string all;
    for (const auto& doubt : warnings_about(spec)) all += doubt.pointer + " " + doubt.sentence;
    return all;
  };
  for (const char* const alone : {"--layers=3", "--layers"}) {
    CHECK(said({"./train", alone, "${args}"})
              .starts_with("/param_space/layers the command has '" + std::string(alone) +
                           "' itself"));
  }
  CHECK(said({"./train", "--layers", "3", "${args}"}) ==
        "/param_space/layers the command has '--layers 3' itself, and ${args} gives the program "
        "--layers once more, behind that. Most programs take the last one, so what the command has "
        "counts for nothing: leave one of both out");
  CHECK(said({"./train", "${args}", "--layers", "3"}).find("nothing is searched here") !=
        std::string::npos);
  CHECK(said({"./train", "layers=3", "${args_no_hyphens}"}) != "");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"./train", "--layers-most", "3", "${args}"},
                                             {"./train", "--layers", "${config.layers}", "${args}"},
                                             {"./train", "layers", "${args_no_hyphens}"},
                                             {"./train", "--layers", "3", "${config.layers}"}}) {
    CHECK(said(command) == "");
  }
}

TEST_CASE("Rungs that no trial reaches are doubted", "[spec][warnings]") {
  const auto said = [](const Json& stop, const Json& scheduler) {
    ExperimentSpec spec;
    spec.num_samples = 1;
    spec.stop = stop;
    spec.scheduler = scheduler;
    const auto all = warnings_about(spec);
    return all.empty() ? "" : all[0].pointer + " " + all[0].sentence;
  };
  const Json asha = {{"type", "asha"}, {"max_t", 100}};
  CHECK(said({{"training_iteration", 20}}, asha) ==
        "/scheduler/max_t stop ends each trial at training_iteration 20, so none gets to 100, "
        "which the scheduler goes by: give both the same number");
  CHECK(said(Json::array({{{"training_iteration", 200}}, {{"training_iteration", 99}}}), asha)
            .starts_with("/scheduler/max_t stop ends each trial at training_iteration 99"));
  CHECK(said({{"training_iteration", 100}}, asha) == "");
  CHECK(said({{"time_total_s", 20}}, asha) == "");
  CHECK(said({{"training_iteration", 20}},
             {{"type", "asha"}, {"max_t", 100}, {"time_attr", "time_total_s"}}) == "");
}

TEST_CASE("A prior without a domain is said to be none", "[spec]") {
  const Json drawn = {{"uniform", {0, 1}}};
  const auto said = warnings({{"param_space", {{"x", {{"prior", 0.5}}}, {"y", drawn}}}});
  REQUIRE(said.size() == 1);
  CHECK(said[0].pointer == "/param_space/x");
  CHECK_THAT(said[0].sentence, Catch::Matchers::StartsWith("a prior stands beside a domain"));
  // A hyperparameter may have that name.
  CHECK(warnings({{"param_space", {{"prior", 3}, {"y", drawn}}}}).empty());
}

TEST_CASE("Hydra's runs of one second, which would share a directory, are doubted",
          "[spec][warnings]") {
  const auto said = [](const std::vector<std::string>& more, const std::string& directory) {
    ExperimentSpec spec;
    spec.num_samples = 1;
    spec.command = {"python3", "train.py"};
    spec.command.insert(spec.command.end(), more.begin(), more.end());
    spec.plain = PlainProgram{};
    spec.plain->directory = directory;
    const auto all = warnings_about(spec);
    return all.empty() ? "" : all[0].pointer + " " + all[0].sentence;
  };
  CHECK(said({"${args_override_hydra}"}, "/here")
            .starts_with("/trainable/command trials that start in one second share Hydra's"));
  CHECK(said({"${args_append_hydra}", "hydra.run.dir=${trial_dir}/hydra"}, "/here") == "");
  CHECK(said({"${args_append_hydra}"}, "") == "");
  CHECK(said({"${args}"}, "/here") == "");
}
