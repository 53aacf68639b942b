// A plugin with a callback and a stopper, as somebody else would write one. Links nothing of tune.
#include <fstream>
#include <memory>

#include "tuner/core/options.h"
#include "tuner/plugin.h"

namespace {

/// Ends each trial after `results` results.
class AfterResults final : public tune::Stopper {
 public:
  explicit AfterResults(int results) : results_(results) {}
  bool should_stop(const tune::Trial& trial, const tune::Result&) override {
    return trial.iteration + 1 >= results_;
  }

 private:
  int results_;
};

/// Appends a line to `file` for each trial that ends well, and for how many there were before.
class Diary final : public tune::Callback {
 public:
  explicit Diary(const std::string& file) : out_(file, std::ios::app) {}
  std::string name() const override { return "diary"; }
  void on_trial_complete(const tune::Trial& trial) override {
    out_ << tune::to_string(trial.id) << " ended at " << trial.iteration << std::endl;
    ++ended_;
  }
  tune::Json save() const override { return {{"ended", ended_}}; }
  void load(const tune::Json& state) override {
    ended_ = state.at("ended");
    out_ << ended_ << " ended before" << std::endl;
  }

 private:
  int ended_ = 0;
  std::ofstream out_;
};

}  // namespace

int tune_plugin_abi() { return PLUGIN_ABI; }

void tune_plugin_register(tune::Catalogue& catalogue) {
  catalogue.stoppers["after_results"] = [](const tune::Json& json, const tune::PolicyContext&) {
    tune::OptionReader reader(json);
    const int results = reader.get_required<int>("results");
    reader.require(results >= 1, "results", "at least 1");
    reader.finish();
    return std::make_unique<AfterResults>(results);
  };
  catalogue.callbacks["diary"] = [](const tune::Json& json, const tune::PolicyContext&) {
    tune::OptionReader reader(json);
    const auto file = reader.get_required<std::string>("file");
    reader.finish();
    return std::make_unique<Diary>(file);
  };
}
