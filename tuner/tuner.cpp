// Tuner::fit and restore: build a spec in memory, check it like a file's, and run it; or run as a
// trial if the driver has started this process.
#include "tuner/tuner.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "callbacks/callbacks.h"
#include "tuner/base/error.h"
#include "tuner/checkpoint_reference.h"

namespace tune {

namespace {

/// This process's own program and arguments, to be started again as a trial.
Command own_command() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Command command;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\0', at);
    command.push_back(text.substr(at, end - at));
    at = end == std::string::npos ? text.size() : end + 1;
  }
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || command.empty()) throw machine_error("cannot find out what program this is: /proc");
  command[0] = program.string();
  return command;
}

[[noreturn]] void run_as_trial(const TrainableKind& trainable) {
  std::string name = "trainable";
  char* arguments[] = {name.data(), nullptr};
  if (const auto* factory = std::get_if<TrainableFactory>(&trainable)) {
    std::exit(run_trainable(1, arguments, *factory));
  }
  if (const auto* function = std::get_if<TrainFunction>(&trainable)) {
    std::exit(run_function(1, arguments, *function));
  }
  throw user_error("a Tuner of another program was started as a trial: it would start itself");
}

ResultGrid results_of(RunOutcome outcome) {
  if (outcome.end.kind == LoopEnd::Kind::raised) throw TrialFailure(outcome.end.reason);
  return std::move(outcome.results);
}

}  // namespace

Tuner::Tuner(TrainableKind trainable, Json param_space, TuneConfig config)
    : trainable_(std::move(trainable)),
      config_(std::move(config)),
      catalogue_(built_in_catalogue()) {
  config_.param_space = std::move(param_space);
}

Tuner Tuner::restore(const std::filesystem::path& directory, TrainableKind trainable,
                     ResumeOptions options) {
  Tuner tuner(std::move(trainable), Json::object());
  tuner.restored_ = directory;
  tuner.resume_ = std::move(options);
  return tuner;
}

Tuner& Tuner::add_callback(std::unique_ptr<Callback> callback) {
  callbacks_.push_back(std::move(callback));
  return *this;
}

Tuner& Tuner::show_progress(bool show) {
  show_progress_ = show;
  return *this;
}

ResultGrid Tuner::fit() {
  if (launched_by_driver()) run_as_trial(trainable_);
  const auto* const given = std::get_if<Command>(&trainable_);
  const Command command = given != nullptr ? *given : own_command();
  RunOptions options;
  options.callbacks = std::move(callbacks_);
  callbacks_.clear();
  if (show_progress_) options.callbacks.push_back(make_console());
  if (!restored_.empty()) {
    ResumeOptions resume = resume_;
    resume.change = [&](ExperimentSpec& spec) {
      if (resume_.change) resume_.change(spec);
      spec.command = command;
    };
    return results_of(resume_experiment(restored_, catalogue_, std::move(options), resume));
  }
  config_.command = command;
  // The same checks, defaults and sentences as for a spec in a file.
  std::vector<Problem> problems;
  const auto here = std::filesystem::current_path();
  const ExperimentSpec spec = parse_spec(with_checkpoint_found(to_json(config_), here, problems),
                                         here, catalogue_, problems);
  if (!problems.empty()) {
    std::string text = "the experiment cannot be run:";
    for (const auto& [pointer, sentence] : problems) text += "\n  " + pointer + ": " + sentence;
    throw user_error(text);
  }
  return results_of(run_experiment(spec, catalogue_, std::move(options)));
}

}  // namespace tune
