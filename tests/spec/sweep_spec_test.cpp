#include "tuner/spec/sweep_spec.h"

#include <string>

#include "tests/support/catch.h"
#include "trainable/values.h"
#include "tuner/base/error.h"

namespace tune {
namespace {

using Ordered = OrderedJson;

Json spec_of(const std::string& text) {
  return Json::parse(spec_of_sweep(Ordered::parse(text), "sweep.yaml").text, nullptr, true,
                     /*ignore_comments=*/true);
}

std::string refusal_of(const std::string& text) {
  try {
    spec_of_sweep(Ordered::parse(text), "sweep.yaml");
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

constexpr const char* sweep = R"x({
  "program": "fit.py", "method": "bayes", "run_cap": 12,
  "metric": {"name": "val/f1", "goal": "maximize"},
  "command": ["${env}", "${interpreter}", "${program}", "--data", "/d", "${args_no_boolean_flags}"],
  "parameters": {
    "rate": {"distribution": "log_uniform_values", "min": 0.001, "max": 0.5},
    "depth": {"min": 2, "max": 6}, "kind": {"values": ["a", "b"]}, "epochs": {"value": 7},
    "wide": {"distribution": "log_normal", "mu": 1, "sigma": 2},
    "odd": {"distribution": "beta", "a": 1, "b": 2},
    "table": {"value": {"choice": [1]}},
    "optimizer": {"parameters": {"name": {"values": ["sgd"]}, "momentum": {"min": 0.1, "max": 0.9}}}},
  "early_terminate": {"type": "hyperband", "min_iter": 3}})x";

TEST_CASE("A sweep of W&B is a spec that draws the same", "[spec][foreign]") {
  const Json spec = spec_of(sweep);
  CHECK(spec["trainable"]["command"] ==
        Json({"python3", "fit.py", "--data", "/d", "${args_no_boolean_flags}"}));
  CHECK(spec["param_space"] ==
        R"x({"rate": {"loguniform": [0.001, 0.5]}, "depth": {"randint": [2, 7]},
             "kind": {"choice": ["a", "b"]}, "epochs": 7,
             "wide_drawn": {"randn": [1, 2]}, "wide": {"expr": "exp(wide_drawn)"},
             "table": {"value": {"choice": [1]}},
             "optimizer": {"name": {"choice": ["sgd"]}, "momentum": {"uniform": [0.1, 0.9]}}})x"_json);
  CHECK(spec["metric"] == "val/f1");
  CHECK(spec["mode"] == "max");
  CHECK(spec["num_samples"] == 12);
  CHECK(spec["searcher"] == "gp");
  CHECK(
      spec["scheduler"] ==
      R"({"type": "asha", "reduction_factor": 3, "grace_period": 3, "stop_last_trials": false})"_json);
}

TEST_CASE("What a sweep loses on its way is said", "[spec][foreign]") {
  const auto losses = spec_of_sweep(Ordered::parse(sweep), "sweep.yaml").losses;
  REQUIRE(losses.size() == 2);
  CHECK(losses[0].find("odd is left out") == 0);
  CHECK(losses[0].find("there is no beta distribution") != std::string::npos);
  CHECK(losses[1].find("early_terminate: ") == 0);
}

TEST_CASE("A hyperparameter of a sweep may be called like a distribution", "[spec][foreign]") {
  const auto made = spec_of_sweep(
      Ordered::parse(R"x({"program": "fit.py", "method": "random", "metric": {"name": "loss"},
        "parameters": {"beta": {"min": 0.1, "max": 0.9}, "normal": {"min": 1, "max": 3},
          "uniform": {"values": [1, 2]}, "choice": {"min": 0.5, "max": 2},
          "vae": {"parameters": {"beta": {"min": 0.1, "max": 0.9}}}}})x"),
      "sweep.yaml");
  const Json spec = Json::parse(made.text, nullptr, true, /*ignore_comments=*/true);
  CHECK(spec["param_space"] ==
        R"x({"beta": {"uniform": [0.1, 0.9]}, "normal": {"randint": [1, 4]},
             "uniform": {"choice": [1, 2]}, "choice": {"uniform": [0.5, 2]},
             "vae": {"beta": {"uniform": [0.1, 0.9]}}})x"_json);
  CHECK(made.losses.empty());
}

TEST_CASE("The name of a sweep is the experiment's, what has no place here is said",
          "[spec][foreign]") {
  const auto named = [](const std::string& fields) {
    return spec_of_sweep(Ordered::parse(R"x({"program": "f.py", "method": "random", )x" + fields +
                                        R"x(, "parameters": {"a": {"values": [1]}}})x"),
                         "sweep.yaml");
  };
  const auto name_of = [&](const std::string& text) {
    return spec_of(R"x({"program": "f.py", "method": "random", "name": )x" + Json(text).dump() +
                   R"x(, "parameters": {"a": {"values": [1]}}})x")
        .value("name", "none");
  };
  CHECK(name_of("beta-run") == "beta-run");
  CHECK(name_of("my sweep (2)") == "my-sweep-2-");
  CHECK(name_of("../x") == "x");
  CHECK(name_of("\u00fc") == "none");
  const auto made = named(R"x("project": "vision", "entity": "us")x");
  CHECK(made.losses == std::vector<std::string>{"project is left out: \"vision\".",
                                                "entity is left out: \"us\"."});
}

TEST_CASE("A grid of W&B tries each value of its lists once", "[spec][foreign]") {
  const Json spec = spec_of(R"({"program": "./fit", "method": "grid", "run_cap": 3,
      "parameters": {"a": {"values": [1, 2]}, "b": {"value": "x"}}})");
  CHECK(spec["trainable"]["command"] == Json({"./fit", "${args}"}));
  CHECK(spec["param_space"] == R"({"a": {"grid_search": [1, 2]}, "b": "x"})"_json);
  CHECK(spec["num_samples"] == 1);
  CHECK_FALSE(spec.contains("searcher"));
}

TEST_CASE("An experiment of Katib is a spec that draws the same", "[spec][foreign]") {
  const Json spec = spec_of(R"x({"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment",
    "spec": {"objective": {"type": "minimize", "goal": 0.05, "objectiveMetricName": "error"},
      "algorithm": {"algorithmName": "multivariate-tpe"},
      "earlyStopping": {"algorithmName": "medianstop", "algorithmSettings": [
        {"name": "min_trials_required", "value": "5"}, {"name": "start_step", "value": "2"}]},
      "parallelTrialCount": 3, "maxTrialCount": 40,
      "parameters": [
        {"name": "eta", "parameterType": "double",
         "feasibleSpace": {"min": "0.01", "max": "0.2", "distribution": "logUniform"}},
        {"name": "layers", "parameterType": "int", "feasibleSpace": {"min": "1", "max": "4"}},
        {"name": "kind", "parameterType": "categorical", "feasibleSpace": {"list": ["p", "q"]}}],
      "trialTemplate": {
        "trialParameters": [{"name": "rate", "reference": "eta"}, {"name": "n", "reference": "layers"}],
        "trialSpec": {"kind": "Job", "spec": {"template": {"spec": {"containers": [
          {"name": "main", "command": ["python3", "m.py", "--lr=${trialParameters.rate}"],
           "args": ["--n", "${trialParameters.n}"]}]}}}}}}})x");
  CHECK(spec["trainable"]["command"] ==
        Json({"python3", "m.py", "--lr=${config.eta}", "--n", "${config.layers}"}));
  CHECK(spec["param_space"] ==
        R"({"eta": {"loguniform": [0.01, 0.2]}, "layers": {"randint": [1, 5]},
                                   "kind": {"choice": ["p", "q"]}})"_json);
  CHECK(spec["mode"] == "min");
  CHECK(spec["stop"] == R"({"metric": "error", "<=": 0.05})"_json);
  CHECK(spec["num_samples"] == 40);
  CHECK(spec["max_concurrent_trials"] == 3);
  CHECK(spec["searcher"] == "tpe");
  CHECK(spec["scheduler"] ==
        R"({"type": "median_stopping", "grace_period": 2, "min_samples_required": 5})"_json);
}

TEST_CASE("A file of neither tool is refused with what each has", "[spec][foreign]") {
  CHECK(refusal_of("[1]").find("neither a sweep of W&B") != std::string::npos);
  CHECK(refusal_of(R"({"parameters": {"a": {"value": 1}}})") == "sweep.yaml: it names no program");
  CHECK(refusal_of(R"({"program": "a.py", "parameters": {}})") ==
        "sweep.yaml: it has no hyperparameters");
}

}  // namespace
}  // namespace tune
