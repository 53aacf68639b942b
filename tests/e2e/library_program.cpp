// A user's program of the library: library_program SCENARIO DIRECTORY runs one experiment in
// DIRECTORY and prints what the library says of it as JSON. Knows no expectations: library_test.py
// has them.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>

#include "tuner/tuner.h"

namespace {

using tune::Json;

/// Reports `scores` of its config, one a step. Told so, it fails before the given iteration: in its
/// first attempt only, or always.
class Scripted : public tune::Trainable {
 public:
  void setup(const Json& config) override { config_ = config.at("case"); }

  Json step() override {
    const bool is_first_attempt = std::string(std::getenv("TUNE_ATTEMPT")) == "1";
    if (done_ + 1 == config_.value("fail_at", 0u) &&
        (is_first_attempt || config_.value("fail_always", false))) {
      throw std::runtime_error("told to fail at " + std::to_string(done_ + 1));
    }
    const Json& scores = config_.at("scores");
    Json result = {{"score", scores.at(done_++)}, {"pid", ::getpid()}, {"resets", resets_}};
    result["done"] = done_ == scores.size();
    if (const char* devices = std::getenv("CUDA_VISIBLE_DEVICES")) result["devices"] = devices;
    return result;
  }

  void save_checkpoint(const std::filesystem::path& directory) override {
    std::ofstream(directory / "done") << done_;
  }
  void load_checkpoint(const std::filesystem::path& directory) override {
    std::ifstream(directory / "done") >> done_;
  }
  bool reset_config(const Json& config) override {
    config_ = config.at("case");
    done_ = 0;
    ++resets_;
    return true;
  }

 private:
  Json config_;
  std::size_t done_ = 0;
  int resets_ = 0;
};

/// Hands over a checkpoint with every report, and fails once after the third.
void scripted_function(const Json& config, tune::Session& session) {
  int done = 0;
  if (session.checkpoint()) std::ifstream(*session.checkpoint() / "done") >> done;
  const int started_at = done;
  while (done < config.at("iterations")) {
    const auto directory = session.new_checkpoint_dir();
    std::ofstream(directory / "done") << ++done;
    session.report({{"score", done}, {"started_at", started_at}}, directory);
    if (done == 3 && started_at == 0) throw std::runtime_error("told to fail after 3");
  }
}

/// Writes down every hook that it is called through, in order, and for which trial.
class Witness : public tune::Callback {
 public:
  Witness(Json& seen, int interrupt_after) : seen_(seen), interrupt_after_(interrupt_after) {}

  std::string name() const override { return "witness"; }
  void setup(const tune::RunInfo& info, const tune::Experiment& experiment) override {
    seen_.push_back({"setup", info.name, info.resumed, experiment.trials().size()});
  }
  void on_step_begin(const tune::Experiment&) override { see("on_step_begin"); }
  void on_step_end(const tune::Experiment&) override { see("on_step_end"); }
  void on_trial_start(const tune::Trial& trial) override { see("on_trial_start", trial); }
  void on_trial_restore(const tune::Trial& trial, const tune::Checkpoint* from) override {
    see("on_trial_restore", trial, from ? from->iteration : 0);
  }
  void on_trial_result(const tune::Trial& trial, tune::Result& result) override {
    see("on_trial_result", trial, result.training_iteration);
    if (++results_ == interrupt_after_) std::raise(SIGINT);
  }
  void on_trial_replay(const tune::Trial& trial, const tune::Result& result) override {
    see("on_trial_replay", trial, result.training_iteration);
  }
  void on_trial_save(const tune::Trial& trial) override { see("on_trial_save", trial); }
  void on_checkpoint(const tune::Trial& trial, const tune::Checkpoint& checkpoint) override {
    see("on_checkpoint", trial, checkpoint.iteration);
  }
  void on_trial_complete(const tune::Trial& trial) override { see("on_trial_complete", trial); }
  void on_trial_recover(const tune::Trial& trial) override { see("on_trial_recover", trial); }
  void on_trial_error(const tune::Trial& trial) override { see("on_trial_error", trial); }
  void on_experiment_end(const tune::Experiment&) override { see("on_experiment_end"); }
  void on_notice(const std::string& sentence) override { seen_.push_back({"on_notice", sentence}); }

 private:
  void see(const char* hook) { seen_.push_back({hook}); }
  void see(const char* hook, const tune::Trial& trial, Json more = {}) {
    seen_.push_back({hook, tune::index_of(trial.id), std::move(more)});
  }

  Json& seen_;
  const int interrupt_after_;
  int results_ = 0;
};

Json to_json(const tune::TrialResult& trial) {
  Json best = Json::array();
  for (const auto& checkpoint : trial.best_checkpoints) {
    best.push_back({checkpoint.path.string(), checkpoint.iteration, checkpoint.score});
  }
  return {{"trial_id", trial.trial_id},
          {"state", to_string(trial.state)},
          {"config", trial.config},
          {"metrics", trial.metrics},
          {"checkpoint", trial.checkpoint ? Json(trial.checkpoint->string()) : Json()},
          {"best_checkpoints", best},
          {"error", trial.error},
          {"path", trial.path.string()}};
}

Json to_json(const tune::ResultGrid& results) {
  Json json = {{"trials", Json::array()}, {"errors", Json::array()}, {"best", Json::object()}};
  for (std::size_t i = 0; i < results.size(); ++i) json["trials"].push_back(to_json(results[i]));
  for (const auto& trial : results.errors()) json["errors"].push_back(trial.trial_id);
  if (!results[0].metrics.contains("score")) return json;
  for (const char* const name : {"last", "all", "avg", "last-5-avg", "last-10-avg"}) {
    for (const auto mode : {tune::Mode::min, tune::Mode::max}) {
      const auto best = results.best_result("score", mode, tune::parse_scope(name).value());
      json["best"][to_string(mode)][name] = best.trial_id;
    }
  }
  return json;
}

/// What a scenario is about, as fields of a spec.
tune::TuneConfig config_of(const std::string& scenario, const std::string& directory) {
  tune::TuneConfig config{.name = "library", .storage_path = directory};
  config.objectives = {{"score", tune::Mode::max}};
  config.max_concurrent_trials = 2;
  if (scenario == "hooks") {
    config.max_concurrent_trials = 1;
    config.failure_config.max_failures = 1;
    config.checkpoint_config.checkpoint_frequency = 2;
  } else if (scenario == "checkpoints") {
    config.checkpoint_config = {
        .num_to_keep = 2, .checkpoint_score_attribute = "score", .checkpoint_frequency = 1};
  } else if (scenario == "function") {
    config.failure_config.max_failures = 1;
  } else if (scenario == "function_frequency") {
    config.checkpoint_config.checkpoint_frequency = 1;
  } else if (scenario == "reuse") {
    config.max_concurrent_trials = 1;
    config.reuse_processes = true;
  } else if (scenario == "interrupted") {
    config.checkpoint_config.checkpoint_frequency = 1;
  } else if (scenario == "gpus") {
    config.max_concurrent_trials = {};
    config.resources = {{"gpu", 2}};
    config.resources_per_trial = {{"gpu", 0.5}};
  } else if (scenario == "program") {
    config.objectives.clear();
    config.stop = {{"training_iteration", 3}};
  } else if (scenario == "broken") {
    config.num_samples = 0;
    config.searcher = "randon";
  }
  return config;
}

tune::Tuner tuner_of(const std::string& scenario, const std::string& directory) {
  if (scenario == "errored") {
    return tune::Tuner::restore(directory + "/library", tune::trainable<Scripted>(),
                                {.errored = tune::ErroredTrials::go_on});
  }
  if (scenario == "reseeded") {
    return tune::Tuner::restore(directory + "/library", tune::trainable<Scripted>(),
                                {.change = [](tune::ExperimentSpec& spec) { spec.seed = 77; }});
  }
  if (scenario == "restored") {
    return tune::Tuner::restore(directory + "/library", tune::trainable<Scripted>());
  }
  Json space = Json::parse(std::getenv("SPACE"));
  tune::TuneConfig config = config_of(scenario, directory);
  if (scenario == "program") {
    return {tune::Command{std::getenv("PROGRAM")}, std::move(space), std::move(config)};
  }
  if (scenario.starts_with("function")) {
    return {tune::TrainFunction(scripted_function), std::move(space), std::move(config)};
  }
  return {tune::trainable<Scripted>(), std::move(space), std::move(config)};
}

}  // namespace

int main(int, char** argv) {
  const std::string scenario = argv[1];
  Json seen = Json::array();
  try {
    tune::Tuner tuner = tuner_of(scenario, argv[2]);
    tuner.show_progress(false);
    tuner.add_callback(std::make_unique<Witness>(seen, scenario == "interrupted" ? 4 : 0));
    Json outcome = to_json(tuner.fit());
    outcome["seen"] = seen;
    std::cout << outcome << "\n";
  } catch (const tune::Error& error) {
    std::cout << Json{{"refused", error.what()}, {"seen", seen}} << "\n";
    return error.fault() == tune::Fault::user ? 2 : 3;
  }
}
