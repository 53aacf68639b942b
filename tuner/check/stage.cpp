// Directories, launch specs and messages for a check's processes, and the keeping of what they
// save.
#include "tuner/check/stage.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <utility>

#include "tuner/base/error.h"
#include "tuner/checkpoints/checkpoint_tree.h"
#include "tuner/checkpoints/handed_over.h"
#include "tuner/model/paths.h"
#include "tuner/process/reserved_port.h"
#include "tuner/run/trials/launch.h"
#include "tuner/run/trials/make_result.h"

namespace tune {

Seconds steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::filesystem::path Stage::directory_of(TrialId trial) const {
  return paths::trial(directory_, trial);
}

LaunchSpec Stage::launch_of(TrialId trial, int attempt) {
  const auto work = paths::work(directory_of(trial));
  files_.make_directories(work);
  const LaunchContext context{.experiment_dir = directory_,
                              .session_mark = "check",
                              .gpu_names = {},
                              .sets_threads = false};
  const Allocation allocation{.amounts = spec_.resources_per_trial,
                              .nodes = {{.amounts = spec_.resources_per_trial, .gpus = {}}}};
  if (!spec_.workers) return launch_spec(spec_, context, trial, attempt, allocation, work);
  // One of a world of one: it meets nobody.
  ExperimentSpec alone = spec_;
  alone.workers->count = 1;
  LaunchSpec launch =
      std::move(launch_specs(alone, context, trial, attempt, allocation, work).front());
  if (!port_) port_ = reserve_port();
  launch.own_environment.push_back("MASTER_PORT=" + std::to_string(port_->number));
  return launch;
}

Kept Stage::keep(const std::filesystem::path& from, std::int64_t iteration) {
  try {
    (void)read_tree(files_, from, {files_.real_path(from)});
  } catch (const Error& error) {
    throw Trouble(std::string("it has saved what is no checkpoint: ") + error.what());
  }
  const Kept kept{directory_ / ("kept_" + std::to_string(++kept_)), iteration};
  files_.rename(from, kept.directory);
  return kept;
}

Actor::Actor(Stage& stage, std::optional<TrialId> trial)
    : stage_(stage),
      trial_(trial ? *trial : stage.new_trial()),
      attempt_(trial ? 2 : 1),
      launch_(stage.launch_of(trial_, attempt_)),
      peer_(std::make_unique<Peer>(stage.launcher(), launch_)) {
  const Seconds began = steady_s();
  peer_->expect("its hello");
  hello_ = peer_->hear_a<Greeted>("a hello", stage.spec().launch_timeout_s).hello;
  hello_s_ = steady_s() - began;
}

protocol::Start Actor::start_message(const Json& config, const std::optional<Kept>& from) const {
  protocol::Start start;
  start.trial_id = to_string(trial_);
  start.trial_dir = launch_.directory.string();
  start.attempt = attempt_;
  start.config = config;
  if (from) start.checkpoint = from->directory.string();
  start.iteration = from ? from->iteration : 0;
  start.resources = stage_.spec().resources_per_trial;
  start.stdout_log = launch_.stdout_path.string();
  start.stderr_log = launch_.stderr_path.string();
  return start;
}

void Actor::start(const Json& config, const std::optional<Kept>& from) {
  peer_->send(start_message(config, from), stage_.answer_s());
  iteration_ = from ? from->iteration : 0;
}

void Actor::reset(const Json& config, const std::optional<Kept>& from) {
  trial_ = stage_.new_trial();
  attempt_ = 1;
  launch_ = stage_.launch_of(trial_, attempt_);
  protocol::Start message = start_message(config, from);
  message.reset = true;
  peer_->send(message, stage_.answer_s());
  iteration_ = message.iteration;
  is_done_ = false;
}

void Actor::tell_step() { peer_->send(protocol::Step{iteration_ + 1}, stage_.answer_s()); }

std::optional<Metrics> Actor::hear_result() {
  peer_->expect("its result of step " + std::to_string(iteration_ + 1));
  Wakeup heard = peer_->next_wakeup(stage_.answer_s());
  is_refused_ = std::holds_alternative<Refused>(heard);
  if (is_refused_) return std::nullopt;
  auto* const reported = std::get_if<Reported>(&heard);
  if (reported == nullptr) {
    throw Trouble("it answered a step with something else than a result");
  }
  judge_echo(reported->iteration, iteration_ + 1);
  is_done_ = reported->done;
  can_save_ = reported->can_save;
  if (!reported->metrics) return std::nullopt;
  Metrics metrics = checked_metrics(std::move(*reported->metrics));
  if (reported->checkpoint) {
    try {
      const auto given =
          HandedOver::judge(stage_.files(), launch_.directory, *reported->checkpoint);
      handed_over_ = stage_.keep(given.directory(), iteration_);
    } catch (const Error& error) {
      throw Trouble(std::string("its checkpoint is refused: ") + error.what());
    }
  }
  return metrics;
}

/// As a driver does, which judges it by the trial so far.
Metrics Actor::checked_metrics(Metrics metrics) {
  Trial trial;
  trial.iteration = iteration_;
  try {
    Result result = make_result({stage_.spec().objectives, stage_.constraints()}, trial,
                                std::move(metrics), 0, 0);
    iteration_ = result.training_iteration;
    return std::move(result.metrics);
  } catch (const std::invalid_argument& error) {
    throw Trouble(error.what());
  }
}

std::optional<Metrics> Actor::step() {
  const Seconds began = steady_s();
  tell_step();
  auto metrics = hear_result();
  // The first one has the setup in it.
  if (std::exchange(has_stepped_, true)) step_s_ = std::max(step_s_, steady_s() - began);
  return metrics;
}

Results Actor::train_until(std::int64_t iteration) {
  Results results{.first = iteration_ + 1, .metrics = {}};
  while (iteration_ < iteration && !is_done_ && !is_refused_) {
    if (auto metrics = step()) results.metrics.push_back(std::move(*metrics));
  }
  return results;
}

void Actor::tell_save() {
  save_directory_ = stage_.directory_of(trial_) / ".checkpoint.tmp";
  stage_.files().remove_tree(save_directory_);
  stage_.files().make_directories(save_directory_);
  peer_->send(protocol::Save{save_directory_.string(), iteration_}, stage_.answer_s());
}

Kept Actor::save() {
  tell_save();
  peer_->expect("its answer to save, at iteration " + std::to_string(iteration_));
  const auto saved = peer_->hear_a<SaveAnswered>("that it has saved", stage_.answer_s());
  judge_echo(saved.iteration, iteration_);
  if (saved.error) throw Trouble("it cannot save: " + *saved.error);
  return stage_.keep(save_directory_, iteration_);
}

void Actor::judge_echo(std::optional<std::int64_t> named, std::int64_t asked) {
  echoes_ = echoes_ && named.has_value();
  if (!named || *named == asked) return;
  throw Trouble("it answered iteration " + std::to_string(*named) +
                ", and was asked for iteration " + std::to_string(asked) +
                ": does it answer twice?");
}

}  // namespace tune
