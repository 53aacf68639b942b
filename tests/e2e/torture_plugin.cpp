// What the crash torture puts into the driver: a scheduler that pauses trials as population based
// training does, and a callback that notes which checkpoints the driver has called committed.
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <sstream>

#include "tuner/base/error.h"
#include "tuner/plugin.h"
#include "tuner/policy/options.h"

namespace {

/// Pauses a trial at every `interval`-th iteration or lets it run, by the toss of a coin whose
/// state is the scheduler's own.
class CoinPauses final : public tune::Scheduler {
 public:
  CoinPauses(int interval, std::uint64_t seed) : interval_(interval), coin_(seed) {}

  tune::Decision on_result(const tune::Trial&, const tune::Result& result) override {
    if (result.training_iteration % interval_ != 0 || coin_() % 2 == 0) return {};
    return {.action = tune::Action::pause};
  }

  tune::Json save() const override {
    std::ostringstream state;
    state << coin_;
    return {{"coin", state.str()}};
  }
  void load(const tune::Json& state) override {
    std::istringstream(state.at("coin").get<std::string>()) >> coin_;
  }

 private:
  int interval_;
  std::minstd_rand coin_;
};

/// Appends `committed INDEX ITERATION` to the trial's file in `directory`, from the driver itself.
class CheckpointRecorder final : public tune::Callback {
 public:
  explicit CheckpointRecorder(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::string name() const override { return "checkpoint_recorder"; }

  void on_checkpoint(const tune::Trial& trial, const tune::Checkpoint& checkpoint) override {
    const std::string fact = "committed " + std::to_string(checkpoint.index) + " " +
                             std::to_string(checkpoint.iteration) + "\n";
    const auto file = directory_ / tune::to_string(trial.id);
    const int out = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    const bool whole =
        out >= 0 && ::write(out, fact.data(), fact.size()) == static_cast<ssize_t>(fact.size());
    if (out >= 0) ::close(out);
    if (!whole) throw tune::machine_error("cannot append to " + file.native());
  }

 private:
  std::filesystem::path directory_;
};

}  // namespace

int tune_plugin_abi() { return tune::plugin_abi; }

void tune_plugin_register(tune::Catalogue& catalogue) {
  catalogue.schedulers["coin_pauses"] = [](const tune::Json& json,
                                           const tune::PolicyContext& context) {
    tune::OptionReader reader(json);
    const int interval = reader.get_required<int>("interval");
    reader.require(interval >= 1, "interval", "at least 1");
    reader.finish();
    return std::make_unique<CoinPauses>(interval, context.seed);
  };
  catalogue.callbacks["checkpoint_recorder"] = [](const tune::Json& json,
                                                  const tune::PolicyContext&) {
    tune::OptionReader reader(json);
    const auto directory = reader.get_required<std::string>("directory");
    reader.finish();
    return std::make_unique<CheckpointRecorder>(directory);
  };
}
