// A plugin with a callback, a stopper, and a scheduler and a searcher that do what they may not, as
// somebody else would write one. Links nothing of tune.
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "tuner/plugin.h"
#include "tuner/policy/options.h"

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

/// Does what no scheduler may, at the second result of the first trial.
class Rogue final : public tune::Scheduler {
 public:
  explicit Rogue(std::string fault) : fault_(std::move(fault)) {}
  tune::Decision on_result(const tune::Trial& trial, const tune::Result&) override {
    if (trial.id != tune::TrialId{0} || trial.iteration < 1) return {};
    if (fault_ == "throws") throw std::runtime_error("no idea what to do");
    if (fault_ == "hangs") {
      std::ofstream("it_hangs").put('!');
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
    tune::Exploit exploit{trial.id, "{}", ""};
    if (fault_ == "unknown donor") exploit.donor = tune::TrialId{4711};
    if (fault_ == "no config") exploit = {tune::TrialId{1}, "not JSON", ""};
    if (fault_ == "unknown order") {
      orders_ = true;
      return {};
    }
    return {.action = tune::Action::exploit, .exploit = std::move(exploit)};
  }
  std::optional<tune::Order> order() const override {
    if (!orders_) return std::nullopt;
    return tune::Order{tune::TrialId{4711}, std::nullopt, "it is not wanted"};
  }

 private:
  std::string fault_;
  bool orders_ = false;
};

/// Throws when the second trial has ended, in the loop's thread or in one of its own.
class Failing final : public tune::Searcher {
 public:
  explicit Failing(bool is_slow) : is_slow_(is_slow) {}
  tune::Answer suggest(tune::TrialId) override {
    return tune::Suggestion{{{"iterations", 3}, {"lr", 0.1}}, "one more"};
  }
  void on_trial_end(tune::TrialId, const tune::Observation&, tune::Ended) override {
    if (++ended_ == 2) throw std::runtime_error("the model does not converge");
  }
  bool may_take_long() const override { return is_slow_; }
  tune::Json save() const override { return ended_; }
  void load(const tune::Json& state) override { ended_ = state; }

 private:
  const bool is_slow_;
  int ended_ = 0;
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
  catalogue.schedulers["rogue"] = [](const tune::Json& json, const tune::PolicyContext&) {
    tune::OptionReader reader(json);
    auto fault = reader.get_required<std::string>("fault");
    reader.finish();
    return std::make_unique<Rogue>(std::move(fault));
  };
  catalogue.searchers["failing"] = [](const tune::Json& json, const auto&) {
    tune::OptionReader reader(json);
    const bool is_slow = reader.get_required<bool>("slow");
    reader.finish();
    return std::make_unique<Failing>(is_slow);
  };
  catalogue.callbacks["diary"] = [](const tune::Json& json, const tune::PolicyContext&) {
    tune::OptionReader reader(json);
    const auto file = reader.get_required<std::string>("file");
    reader.finish();
    return std::make_unique<Diary>(file);
  };
}
