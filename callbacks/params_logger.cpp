// params.json and error.txt: what a trial was started with, and why its attempts failed.
#include <ctime>
#include <utility>

#include "callbacks/callbacks.h"
#include "callbacks/file_writer.h"
#include "trainable/values.h"
#include "tuner/base/clean_text.h"

namespace tune {

namespace {

/// Longer than anything that can still wait for the writer when a driver is killed.
constexpr Seconds recent_s = 60;

std::string pretty(const std::string& config) {
  const auto parsed = nlohmann::ordered_json::parse(config, nullptr, /*allow_exceptions=*/false);
  return (parsed.is_discarded() ? config : parsed.dump(2)) + '\n';
}

std::string local_date() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  char buffer[64];
  return {buffer, std::strftime(buffer, sizeof buffer, "%Y-%m-%d_%H-%M-%S", &local)};
}

class ParamsLogger final : public Callback {
 public:
  explicit ParamsLogger(const FileLogOptions& options)
      : writer_({.format = RowFormat::text,
                 .notice = options.notice,
                 .memory_limit_bytes = options.memory_limit_bytes,
                 .flush_period_s = options.flush_period_s}) {}

  std::string name() const override { return "params"; }

  void setup(const RunInfo& info, const Experiment&) override {
    directory_ = info.directory.string() + '/';
    settled_ = !info.resumed;
  }

  /// What an earlier driver could not write any more.
  void on_step_begin(const Experiment& experiment) override {
    if (std::exchange(settled_, true)) return;
    for (const auto& trial : experiment.trials()) {
      const bool ended_just_before =
          is_final(trial.state) && trial.ended >= experiment.last_time() - recent_s;
      if (trial.attempt > 0 && ended_just_before) write_params(trial);
    }
  }

  void on_trial_start(const Trial& trial) override { write_params(trial); }
  void on_trial_recover(const Trial& trial) override { write_error(trial); }
  void on_trial_error(const Trial& trial) override { write_error(trial); }
  void on_experiment_end(const Experiment&) override { writer_.flush(); }

 private:
  void write_params(const Trial& trial) {
    writer_.replace(directory_ + to_string(trial.id) + "/params.json", pretty(trial.config.text()));
  }

  void write_error(const Trial& trial) {
    writer_.append(directory_ + to_string(trial.id) + "/error.txt", {},
                   local_date() + " attempt " + std::to_string(trial.attempt) + ": " +
                       clean_text(*trial.error) + '\n');
  }

  std::string directory_;
  bool settled_ = true;
  FileWriter writer_;
};

}  // namespace

std::unique_ptr<Callback> make_params_logger(FileLogOptions options) {
  return std::make_unique<ParamsLogger>(options);
}

}  // namespace tune
