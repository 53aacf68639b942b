// Param spaces of eight other tools, written as their documentation writes them.
#include "tuner/spec/foreign_forms.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tuner/space/domain.h"

namespace tune {
namespace {

constexpr const char* share =
    " a bound is rounded to from one side alone, here it has a whole step's share";

/// "W&B: {...}; note"; "none" if it looks like no form.
std::string meant(const Json& json) {
  const auto form = foreign_form(json);
  if (!form) return "none";
  const std::string what = !form->domain ? "nothing, " + form->note : form->text();
  const bool has_note = form->domain && !form->note.empty();
  return form->tool + ": " + what + (has_note ? "; " + form->note : "");
}

/// That each of these, by key, is answered with a domain of ours that parses, and with which.
void check(const Json& theirs, const std::map<std::string, std::string>& ours) {
  for (const auto& [key, json] : theirs.items()) {
    INFO(key << " " << json.dump());
    REQUIRE(ours.contains(key));
    CHECK(meant(json) == ours.at(key));
  }
  CHECK(theirs.size() == ours.size());
}

TEST_CASE("What looks like a call is read without regard to how deep its values are",
          "[spec][foreign]") {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  for (const char* const call : {"hp.choice('x', ", "trial.suggest_categorical('x', ", "tag("}) {
    CHECK_NOTHROW(meant(call + deep + ")"));
  }
}

TEST_CASE("Sweeps of W&B are answered with ours", "[spec][foreign]") {
  check(R"x({
    "batch": {"distribution": "q_log_uniform_values", "q": 8, "min": 32, "max": 256},
    "epochs": {"values": [5, 10]}, "fixed": {"distribution": "constant", "value": 3},
    "lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 0.1},
    "old": {"distribution": "log_uniform", "min": 0, "max": 1},
    "inverse": {"distribution": "inv_log_uniform", "min": 0, "max": 1},
    "int": {"min": 1, "max": 8}, "float": {"min": 0.1, "max": 0.5},
    "noise": {"distribution": "normal", "mu": 0, "sigma": 1}, "bell": {"mu": 0, "sigma": 1},
    "wide": {"distribution": "log_normal", "mu": 0, "sigma": 1},
    "steps": {"distribution": "q_normal", "mu": 0, "sigma": 1, "q": 0.5},
    "beta": {"distribution": "beta", "a": 1, "b": 2},
    "odd": {"values": ["a", "b"], "probabilities": [0.9, 0.1]}})x"_json,
        {{"batch", R"x(W&B: {"qloguniform":[32,256,8]}; in W&B)x" + std::string(share)},
         {"epochs", R"x(W&B: {"choice":[5,10]})x"},
         {"fixed", "W&B: 3"},
         {"lr", R"x(W&B: {"loguniform":[1e-05,0.1]})x"},
         {"old", R"x(W&B: {"loguniform":[1.0,2.718281828459045]})x"},
         {"inverse", R"x(W&B: {"loguniform":[0.36787944117144233,1.0]})x"},
         {"int", R"x(W&B: {"randint":[1,9]})x"},
         {"float", R"x(W&B: {"uniform":[0.1,0.5]})x"},
         {"noise", R"x(W&B: {"randn":[0,1]})x"},
         {"bell", R"x(W&B: {"randn":[0,1]})x"},
         {"wide", R"x(W&B: {"expr":"exp(z)"} beside "z": {"randn":[0,1]})x"},
         {"steps", R"x(W&B: {"qrandn":[0,1,0.5]})x"},
         {"beta", "W&B: nothing, there is no beta distribution"},
         {"odd",
          R"x(W&B: {"choice":["a","b"]}; there are no probabilities here: each value is equally )x"
          "likely without a prior, and one that is listed twice comes twice as often where nothing "
          "is learnt"}});
}

TEST_CASE("Names of other tools in our form are answered with ours", "[spec][foreign]") {
  const std::vector<std::pair<Json, std::string>> cases = {
      {{{"log_uniform_values", {1e-4, 0.1}}}, R"x(W&B: {"loguniform":[0.0001,0.1]})x"},
      {{{"int_uniform", {1, 8}}}, R"x(W&B: {"randint":[1,9]})x"},
      {{{"normal", {0, 1}}}, R"x(W&B: {"randn":[0,1]})x"},
      {{{"categorical", {"a", "b"}}}, R"x(W&B: {"choice":["a","b"]})x"},
      {{{"finrange", {0.1, 1, 10}}},
       R"x(Syne Tune: {"choice":[0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9,1.0]})x"},
      {{{"reverseloguniform", {0.9, 0.999}}},
       R"x(Syne Tune: {"expr":"1 - z"} beside "z": {"loguniform":[0.0010000000000000009,0.09999999999999998]})x"},
      {{{"suggest_float", {1e-5, 0.1}}}, R"x(Optuna: {"uniform":[1e-05,0.1]})x"},
      {{{"suggest_int", {{"low", 3}, {"high", 7}, {"step", 2}}}},
       R"x(Optuna: {"choice":[3,5,7]})x"},
      {{{"pchoice", {{0.1, "a"}, {0.9, "b"}}}},
       "hyperopt: nothing, here all values of a choice are equally likely"}};
  for (const auto& [json, expected] : cases) {
    INFO(json.dump());
    CHECK(meant(json) == expected);
  }
  for (const Json& plain : {R"x({"range": [0, 1]})x"_json, R"x({"normal": true})x"_json,
                            R"x({"sizes": [1, 2]})x"_json, R"x({"beta": 0.9})x"_json}) {
    INFO(plain.dump());
    CHECK(meant(plain) == "none");
  }
}

TEST_CASE("Search spaces of NNI are answered with ours", "[spec][foreign]") {
  check(R"x({
    "features": {"_type": "choice", "_value": [128, 256]},
    "lr": {"_type": "loguniform", "_value": [0.0001, 0.1]},
    "layers": {"_type": "quniform", "_value": [2, 16, 1]},
    "units": {"_type": "randint", "_value": [4, 8]},
    "momentum": {"_type": "uniform", "_value": [0, 1]},
    "scale": {"_type": "qnormal", "_value": [0, 1, 0.1]},
    "size": {"_type": "qlognormal", "_value": [2, 1, 4]}})x"_json,
        {{"features", R"x(NNI: {"choice":[128,256]})x"},
         {"lr", R"x(NNI: {"loguniform":[0.0001,0.1]})x"},
         {"layers", R"x(NNI: {"quniform":[2,16,1]}; in NNI)x" + std::string(share)},
         {"units", R"x(NNI: {"randint":[4,8]})x"},
         {"momentum", R"x(NNI: {"uniform":[0,1]})x"},
         {"scale", R"x(NNI: {"qrandn":[0,1,0.1]})x"},
         {"size", R"x(NNI: {"expr":"4 * round(exp(z) / 4)"} beside "z": {"randn":[2,1]})x"}});
}

TEST_CASE("Parameters of Katib are answered with ours", "[spec][foreign]") {
  check(R"x({
    "lr": {"name": "lr", "parameterType": "double", "feasibleSpace": {"min": "0.01", "max": "0.05"}},
    "log": {"parameterType": "double", "feasibleSpace": {"min": "1e-4", "max": "0.1", "distribution": "logUniform"}},
    "step": {"parameterType": "double", "feasibleSpace": {"min": "0", "max": "1", "step": "0.25"}},
    "layers": {"parameterType": "int", "feasibleSpace": {"min": "2", "max": "5"}},
    "even": {"parameterType": "int", "feasibleSpace": {"min": "2", "max": "8", "step": "2"}},
    "size": {"parameterType": "discrete", "feasibleSpace": {"list": ["16", "32"]}},
    "optimizer": {"parameterType": "categorical", "feasibleSpace": {"list": ["sgd", "adam"]}},
    "bell": {"parameterType": "double", "feasibleSpace": {"min": "0", "max": "1", "distribution": "normal"}}})x"_json,
        {{"lr", R"x(Katib: {"uniform":[0.01,0.05]})x"},
         {"log", R"x(Katib: {"loguniform":[0.0001,0.1]})x"},
         {"step", R"x(Katib: {"quniform":[0,1,0.25]})x"},
         {"layers", R"x(Katib: {"randint":[2,6]})x"},
         {"even", R"x(Katib: {"qrandint":[2,8,2]})x"},
         {"size", R"x(Katib: {"choice":[16,32]})x"},
         {"optimizer", R"x(Katib: {"choice":["sgd","adam"]})x"},
         {"bell",
          "Katib: nothing, a normal distribution has no bounds here: randn draws one without"}});
}

TEST_CASE("Distributions and calls of Optuna are answered with ours", "[spec][foreign]") {
  check(R"x({
    "lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true},
    "drop": {"type": "float", "low": 0.0, "high": 0.5, "step": 0.1},
    "off": {"type": "float", "low": 0.05, "high": 0.35, "step": 0.1},
    "units": {"type": "int", "low": 16, "high": 64}, "logs": {"type": "int", "low": 1, "high": 64, "log": true},
    "odd": {"type": "int", "low": 3, "high": 8, "step": 2},
    "opt": {"type": "categorical", "choices": ["sgd", "adam"]},
    "json": {"name": "FloatDistribution", "attributes": {"step": null, "low": 0.0, "high": 1.0, "log": false}},
    "call": "trial.suggest_float('lr', 1e-5, 0.1, log=True)",
    "int": "trial.suggest_int(\"n\", 0, 30, step=10)",
    "cat": "trial.suggest_categorical('o', ['a', 'b'])"})x"_json,
        {{"lr", R"x(Optuna: {"loguniform":[1e-05,0.1]})x"},
         {"drop", R"x(Optuna: {"quniform":[0.0,0.5,0.1]})x"},
         {"off", R"x(Optuna: {"choice":[0.05,0.15,0.25,0.35]})x"},
         {"units", R"x(Optuna: {"randint":[16,65]})x"},
         {"logs", R"x(Optuna: {"lograndint":[1,65]})x"},
         {"odd", R"x(Optuna: {"choice":[3,5,7]})x"},
         {"opt", R"x(Optuna: {"choice":["sgd","adam"]})x"},
         {"json", R"x(Optuna: {"uniform":[0.0,1.0]})x"},
         {"call", R"x(Optuna: {"loguniform":[1e-05,0.1]})x"},
         {"int", R"x(Optuna: {"qrandint":[0,30,10]})x"},
         {"cat", R"x(Optuna: {"choice":["a","b"]})x"}});
}

TEST_CASE("Hyperparameters of Keras Tuner and of Ax are answered with ours", "[spec][foreign]") {
  check(R"x({
    "lr": {"class_name": "Float", "config": {"name": "lr", "default": 0.01, "min_value": 1e-4, "max_value": 0.1, "step": null, "sampling": "log"}},
    "units": {"class_name": "Int", "config": {"name": "units", "min_value": 32, "max_value": 512, "step": 32, "sampling": "linear"}},
    "flat": {"min_value": 1, "max_value": 5}, "powers": {"min_value": 1, "max_value": 16, "step": 2, "sampling": "log"},
    "flag": {"class_name": "Boolean", "config": {"name": "flag"}},
    "act": {"class_name": "Choice", "config": {"values": ["relu", "tanh"], "ordered": false}}})x"_json,
        {{"lr", R"x(Keras Tuner: {"loguniform":[0.0001,0.1]})x"},
         {"units", R"x(Keras Tuner: {"qrandint":[32,512,32]})x"},
         {"flat", R"x(Keras Tuner: {"randint":[1,6]})x"},
         {"powers", R"x(Keras Tuner: {"choice":[1,2,4,8,16]})x"},
         {"flag", R"x(Keras Tuner: {"choice":[true,false]})x"},
         {"act", R"x(Keras Tuner: {"choice":["relu","tanh"]})x"}});
  check(R"x({
    "lr": {"name": "lr", "type": "range", "bounds": [1e-6, 0.4], "value_type": "float", "log_scale": true},
    "n": {"name": "n", "type": "range", "bounds": [1, 8]},
    "o": {"name": "o", "type": "choice", "values": ["a", "b"], "is_ordered": true},
    "f": {"name": "f", "type": "fixed", "value": 0.9}})x"_json,
        {{"lr", R"x(Ax: {"loguniform":[1e-06,0.4]})x"},
         {"n", R"x(Ax: {"randint":[1,9]})x"},
         {"o", R"x(Ax: {"choice":["a","b"]})x"},
         {"f", R"x(Ax: 0.9)x"}});
}

TEST_CASE("Bounds with names, as of ConfigSpace and NePS, are answered with ours",
          "[spec][foreign]") {
  check(R"x({
    "a": {"type": "uniform_float", "name": "a", "lower": 1e-4, "upper": 0.1, "default_value": 0.01, "log": true},
    "b": {"type": "uniform_int", "lower": 1, "upper": 8, "log": false},
    "c": {"type": "categorical", "choices": ["relu", "tanh"], "default_value": "relu", "weights": null},
    "d": {"type": "ordinal", "sequence": [8, 16, 64]},
    "e": {"type": "float", "lower": 0.1, "upper": 1},
    "f": {"type": "integer", "lower": 2, "upper": 9},
    "g": {"lower": 0, "upper": 1.5},
    "h": {"type": "loguniform", "lower": 1e-4, "upper": 0.1},
    "i": {"type": "quniform", "lower": 0, "upper": 1, "q": 0.1},
    "j": {"type": "loguniform", "lower": 1e-4, "upper": 0.1, "prior": 0.01},
    "k": {"lower": 0.1, "upper": 1, "prior": 0.5, "prior_confidence": "high"},
    "l": {"lower": 0.1, "upper": 1, "prior": 5}})x"_json,
        {{"a", R"x(ConfigSpace: {"loguniform":[0.0001,0.1]})x"},
         {"b", R"x(ConfigSpace: {"randint":[1,9]})x"},
         {"c", R"x(ConfigSpace: {"choice":["relu","tanh"]})x"},
         {"d", R"x(ConfigSpace: {"choice":[8,16,64]}; the order of the values is not used)x"},
         {"e", R"x(NePS: {"uniform":[0.1,1]})x"},
         {"f", R"x(NePS: {"randint":[2,10]})x"},
         {"g", R"x(NePS: {"uniform":[0,1.5]})x"},
         {"h", R"x(: {"loguniform":[0.0001,0.1]})x"},
         {"i", R"x(: {"quniform":[0,1,0.1]})x"},
         {"j", R"x(: {"loguniform":[0.0001,0.1],"prior":0.01})x"},
         {"k", R"x(NePS: {"prior":{"confidence":"high","value":0.5},"uniform":[0.1,1]})x"},
         {"l", R"x(NePS: {"uniform":[0.1,1]})x"}});
  check(R"x({
    "a": {"type": "loguniform", "low": 1e-4, "high": 0.1},
    "b": {"type": "loguniform", "min": 1e-4, "max": 0.1},
    "c": {"type": "float", "bounds": [0, 1]},
    "d": {"type": "float", "min": 0, "max": 1},
    "e": {"lower": 1, "upper": 81, "is_fidelity": true}})x"_json,
        {{"a", R"x(: {"loguniform":[0.0001,0.1]})x"},
         {"b", R"x(: {"loguniform":[0.0001,0.1]})x"},
         {"c", R"x(Ax: {"uniform":[0,1]})x"},
         {"d", R"x(W&B: {"uniform":[0,1]})x"},
         {"e",
          "NePS: nothing, how long a trial trains is no hyperparameter: a scheduler's max_t "
          "says it"}});
  CHECK_FALSE(foreign_form(R"x({"type": "box", "lower": 0, "upper": 1})x"_json));
  CHECK_FALSE(foreign_form(R"x({"lower": 0, "upper": 1, "colour": "red"})x"_json));
}

TEST_CASE("Texts of Hydra and of hyperopt are answered with ours", "[spec][foreign]") {
  check(R"x({
    "a": "interval(0, 1)", "b": "tag(log, interval(1e-5, 0.1))", "c": "int(interval(1, 8))",
    "d": "hp.loguniform('lr', 0, 1)", "e": "hp.uniformint('n', 1, 8)", "f": "hp.choice('o', ['a', 'b'])",
    "g": "hp.qnormal('x', 0, 1, 0.5)"})x"_json,
        {{"a", R"x(Hydra: {"uniform":[0,1]})x"},
         {"b", R"x(Hydra: {"loguniform":[1e-05,0.1]})x"},
         {"c", R"x(Hydra: {"randint":[1,9]})x"},
         {"d", R"x(hyperopt: {"loguniform":[1.0,2.718281828459045]})x"},
         {"e", R"x(hyperopt: {"randint":[1,9]})x"},
         {"f", R"x(hyperopt: {"choice":["a","b"]})x"},
         {"g", R"x(hyperopt: {"qrandn":[0,1,0.5]})x"}});
}

}  // namespace
}  // namespace tune
